// The methods of the language server: one line each, a name and a function of typed parameters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "editor/method.h"
#include "lsp/session/method_table.h"

namespace ridgeline::editor {

/// Every request that a client may send, by its name.
std::map<std::string, lsp::RequestHandler, std::less<>> requests(const ContextOf& context_of);

/// Names of our own methods, and of the commands, as the server announces them.
std::vector<std::string> own_methods();
std::vector<std::string> command_names();

}  // namespace ridgeline::editor
