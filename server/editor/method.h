// What a method of the language server has, and how one is made of a function of typed parameters.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "app/profiling/use_case_failure.h"
#include "base/result.h"
#include "base/task.h"
#include "editor/batch_size_writer.h"
#include "editor/entries.h"
#include "editor/profiling_flow.h"
#include "editor/what_if_flow.h"
#include "editor/workspace.h"
#include "lsp/session/cancel.h"
#include "lsp/session/method_table.h"
#include "lsp/session/reply.h"
#include "protocol/json_rpc.h"

namespace ridgeline::editor {

/// What a method has besides its parameters: the client's own state and what all clients share. Lives as long as the
/// client's session: a task must use workspace.while_open() for each wait.
struct Context {
  Workspace& workspace;
  BatchSizeWriter& writer;
  Entries& entries;
  ProfilingFlow& flow;
  WhatIfFlow& what_if;
  lsp::CancelToken cancel{};

  lsp::Session& session() const { return workspace.session(); }
};

/// The context of a session, still without the cancel token.
using ContextOf = std::function<Context(lsp::Session&)>;

/// Answers with the task's result or exception.
base::Task<void> respond_with(lsp::Reply reply, base::Task<lsp::Outcome> task);

/// What `make` returns of the document of `question`, called once that has been parsed; null: it is not open.
base::Task<lsp::Outcome> when_parsed(Workspace& workspace, Workspace::Question question,
                                     std::function<lsp::Outcome(const Snapshot*)> make);

/// The profile that a method is about, by its id.
using FoundEntry = base::Result<std::shared_ptr<const Entry>, protocol::ResponseError>;
FoundEntry entry_with(const Entries& entries, const std::string& profile_id);

/// Why there is no answer, as a client is told it.
protocol::ResponseError error_of_run(const app::RunFailure& failure);
protocol::ResponseError error_of(const app::UseCaseFailure& failure);

/// A request: its name, and a function of typed parameters.
template <typename Params, typename Function>
struct Method {
  const char* name;
  Function run;

  lsp::RequestHandler handler(const ContextOf& context_of) const {
    return [context_of, run = run](lsp::Session& session, const protocol::Json& json, lsp::Reply reply,
                                   lsp::CancelToken cancel) {
      Params params;
      from_json(json, params);
      Context context = context_of(session);
      context.cancel = std::move(cancel);
      base::start(session.loop(), respond_with(std::move(reply), run(std::move(context), std::move(params))));
    };
  }
};

/// A method that waits for something.
template <typename Params>
auto task(const char* name, base::Task<lsp::Outcome> (*run)(Context, Params)) {
  return Method<Params, decltype(run)>{name, run};
}

/// A method about a profile that is there.
template <typename Params>
auto on_profile(const char* name, protocol::Json (*make)(const Context&, const Entry&, const Params&)) {
  const auto run = [make](Context context, Params params) -> base::Task<lsp::Outcome> {
    const FoundEntry entry = entry_with(context.entries, params.profile_id);
    if (!entry) {
      co_return entry.error();
    }
    co_return make(context, **entry, params);
  };
  return Method<Params, decltype(run)>{name, run};
}

template <typename Value>
protocol::Json json_of(const Value& value) {
  return value;
}
template <typename Value>
protocol::Json json_of(const std::optional<Value>& value) {
  return value.has_value() ? protocol::Json(*value) : protocol::Json();
}

/// A method about an open document, once it is parsed: `make(snapshot, params)` or `make(context, snapshot, params)`.
/// The result is empty for a document that is not open.
template <typename Params, typename Make>
auto on_document(const char* name, Make make) {
  const auto run = [make](Context context, Params params) -> base::Task<lsp::Outcome> {
    Workspace::Question question{params.uri};
    if constexpr (requires { params.position; }) {
      question.position = params.position;
    }
    return when_parsed(context.workspace, std::move(question), [=](const Snapshot* snapshot) -> lsp::Outcome {
      if constexpr (std::is_invocable_v<Make, const Snapshot&, const Params&>) {
        using Result = std::invoke_result_t<Make, const Snapshot&, const Params&>;
        return json_of(snapshot != nullptr ? make(*snapshot, params) : Result());
      } else {
        using Result = std::invoke_result_t<Make, const Context&, const Snapshot&, const Params&>;
        return json_of(snapshot != nullptr ? make(context, *snapshot, params) : Result());
      }
    });
  };
  return Method<Params, decltype(run)>{name, run};
}

}  // namespace ridgeline::editor
