// What a tool is: a name, schemas, and a function of its arguments.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "protocol/json_rpc.h"

namespace ridgeline::assistant {

using protocol::Json;

struct ToolAnswer {
  std::string text;   ///< for the model: most important first
  Json structured{};  ///< by the tool's output schema; null with an error
  bool is_error = false;
};

/// Thrown by a tool that has no answer: what happened, and what to do next.
struct ToolFailure {
  std::string text;
};

/// What a tool may use. Lives on the loop, as long as the call.
class ToolContext {
 public:
  ToolContext() = default;
  ToolContext(const ToolContext&) = delete;
  ToolContext& operator=(const ToolContext&) = delete;
  virtual ~ToolContext() = default;

  /// A request to the language server. The call's progress is its progress. Throws ToolFailure where it answers with an
  /// error.
  virtual base::Task<Json> ask(std::string method, Json params) = 0;
  /// Opens a file of the project, or brings it up to date with the disk; its URI. Throws ToolFailure.
  virtual std::string open(const std::string& path) = 0;
  /// The absolute path of a file that the arguments name; it must be in the project. Throws ToolFailure.
  virtual std::string path_of(const std::string& name) const = 0;
  /// As the project names it, where it is in it.
  virtual std::string relative(const std::string& path_or_uri) const = 0;
  virtual std::string uri_of(const std::string& path) const = 0;
  /// The project's.
  virtual const std::string& folder() const = 0;
  /// Asks the person. False where they refuse, or cannot be asked.
  virtual base::Task<bool> allowed(std::string question) = 0;
  /// Whether the person has allowed edits of files when they started the server.
  virtual bool may_edit() const = 0;
  /// Waits a little, for what the server does in the background.
  virtual base::Task<void> pause() = 0;
  /// Runs this program with the arguments, and with the interpreter that the person named, in the project's folder.
  /// Exit code and what it wrote.
  virtual base::Task<std::pair<int, std::string>> run_program(std::vector<std::string> arguments) = 0;
};

struct Tool {
  const char* name;
  const char* title;
  const char* description;
  const char* input;   ///< JSON schema
  const char* output;  ///< JSON schema
  bool runs_code = false;
  base::Task<ToolAnswer> (*run)(ToolContext& context, Json arguments);
};

/// All, in the order in which they are listed.
const std::vector<Tool>& tools();

/// What is wrong with the arguments, as a sentence; empty: nothing. Knows the words that our schemas use: type,
/// properties, required, enum, items, minimum, maximum, maxLength, maxItems. Other members are refused.
std::string argument_problem(const Json& schema, const Json& arguments);

}  // namespace ridgeline::assistant
