// The methods of the language server: one line each, a name and a function of typed parameters.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "editor/batch_size_writer.h"
#include "editor/entries.h"
#include "editor/profiling_flow.h"
#include "editor/what_if_flow.h"
#include "editor/workspace.h"
#include "lsp/session/cancel.h"
#include "lsp/session/method_table.h"
#include "lsp/session/reply.h"

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

/// Every request that a client may send, by its name.
std::map<std::string, lsp::RequestHandler, std::less<>> requests(const ContextOf& context_of);

/// Names of our own methods, and of the commands, as the server announces them.
std::vector<std::string> own_methods();
std::vector<std::string> command_names();

}  // namespace ridgeline::editor
