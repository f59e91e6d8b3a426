#include "editor/method.h"

#include <exception>
#include <variant>

#include "editor/answers_json.h"
#include "editor/setting_names.h"

namespace ridgeline::editor {

using protocol::Json;
using protocol::ResponseError;
namespace code = protocol::error_code;

base::Task<void> respond_with(lsp::Reply reply, base::Task<lsp::Outcome> task) {
  std::exception_ptr thrown;
  try {
    lsp::Outcome outcome = co_await std::move(task);
    reply.answer(std::move(outcome));
  } catch (const base::OwnerGone&) {
    throw;  // nobody waits for an answer
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown != nullptr) {
    reply.answer(lsp::error_of(thrown));
  }
}

base::Task<lsp::Outcome> when_parsed(Workspace& workspace, Workspace::Question question,
                                     std::function<lsp::Outcome(const Snapshot*)> make) {
  const auto begin = [&](std::function<void(lsp::Outcome)> done) {
    const auto answer = [done, make = std::move(make)](const Snapshot* snapshot) {
      lsp::Outcome made = Json();
      try {
        made = make(snapshot);
      } catch (...) {
        made = lsp::error_of(std::current_exception());
      }
      done(std::move(made));
    };
    const auto give_up = [done] {
      done(ResponseError{
          code::kContentModified, "The text kept changing before it could be parsed.", {{"reason", "changing"}}});
    };
    workspace.when_ready(std::move(question), answer, give_up);
  };
  auto outcome = base::callback<lsp::Outcome>(begin);
  co_return co_await std::move(outcome);
}

FoundEntry entry_with(const Entries& entries, const std::string& profile_id) {
  auto entry = entries.by_profile(profile_id);
  if (entry == nullptr) {
    return ResponseError{
        code::kContentModified, "There is no profile " + profile_id.substr(0, 40) + " any more.", {{"reason", "gone"}}};
  }
  return entry;
}

ResponseError error_of_run(const app::RunFailure& failure) {
  app::RunFailure shown = failure;
  shown.message = with_setting_names(std::move(shown.message));
  return {protocol::info_of(shown.kind).lsp_code, shown.message, failure_json(shown)};
}

ResponseError error_of(const app::UseCaseFailure& failure) {
  if (const auto* run = std::get_if<app::FailedProjectRun>(&failure)) {
    return error_of_run(run->failure);
  }
  return {code::kRequestFailed, std::get<app::Refusal>(failure).message, {}};
}

}  // namespace ridgeline::editor
