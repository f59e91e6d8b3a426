#include "assistant/mcp_messages.h"

#include <algorithm>

#include <fmt/format.h>

#include "assistant/answer_text.h"
#include "assistant/tool.h"

namespace ridgeline::assistant {

using protocol::Request;
using protocol::ResponseError;

const char* const kMoreInput =
    R"({"type": "object", "additionalProperties": false, "required": ["cursor"], "properties": {
         "cursor": {"type": "string", "maxLength": 64, "description": "As an answer ends with it"}}})";

namespace {

bool has(const Json& object, const char* name, const Json& value) {
  return object.is_object() && object.contains(name) && object[name] == value;
}

}  // namespace

Json supported_versions() { return {kModernVersion, kLegacyVersions[0], kLegacyVersions[1]}; }

bool can_ask(const Json& capabilities) {
  const Json elicitation = capabilities.is_object() ? capabilities.value("elicitation", Json()) : Json();
  return elicitation.is_object() && (elicitation.empty() || elicitation.contains("form"));
}

int severity(std::string_view level) {
  static constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                              "error", "critical", "alert",  "emergency"};
  return static_cast<int>(std::ranges::find(kLevels, level) - kLevels.begin());
}

Json server_info() { return {{"name", "ridgeline"}, {"title", "Ridgeline"}, {"version", RIDGELINE_VERSION}}; }

Json server_capabilities() {
  return {{"tools", Json::object()},
          {"resources", Json::object()},
          {"prompts", Json::object()},
          {"logging", Json::object()}};
}

const char* level_of(protocol::MessageType type) {
  switch (type) {
    case protocol::MessageType::kError:
      return "error";
    case protocol::MessageType::kWarning:
      return "warning";
    case protocol::MessageType::kInfo:
      return "info";
    default:
      return "debug";
  }
}

Json tool_list() {
  Json list = Json::array();
  for (const Tool& tool : tools()) {
    list.push_back({{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", Json::parse(tool.input)},
                    {"outputSchema", Json::parse(tool.output)},
                    {"annotations",
                     {{"readOnlyHint", std::string_view(tool.name) != "change_edit" && !tool.runs_code},
                      {"destructiveHint", false},
                      {"idempotentHint", !tool.runs_code},
                      {"openWorldHint", false}}}});
  }
  list.push_back({{"name", "more"},
                  {"title", "Go on"},
                  {"description", "The rest of an answer that was too long."},
                  {"inputSchema", Json::parse(kMoreInput)},
                  {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
  return list;
}

bool is_consent(const Json& answer) {
  return has(answer, "action", "accept") && answer.contains("content") && has(answer["content"], "allow", true);
}

std::optional<Json> progress_token_of(const Request& request) {
  const Json meta = request.params.value("_meta", Json::object());
  const Json token = meta.is_object() ? meta.value("progressToken", Json()) : Json();
  return token.is_null() ? std::nullopt : std::optional(token);
}

std::string failure_text(const ResponseError& error) {
  std::string text = "Error: " + in_quotes(error.message, 600) + "\n";
  if (error.data.is_object()) {
    if (const auto kind = error.data.find("kind"); kind != error.data.end() && kind->is_string()) {
      text = "Error [" + kind->get<std::string>() + "]: " + in_quotes(error.message, 600) + "\n";
    }
    for (const Json& frame : error.data.value("frames", Json::array())) {
      text += fmt::format("at {}:{} in {}: {}\n", in_quotes(frame.value("file", "")), frame.value("line", 0),
                          in_quotes(frame.value("function", ""), 80), in_quotes(frame.value("text", ""), 120));
    }
    if (const std::string output = error.data.value("output", ""); !output.empty()) {
      text += "Last output:\n" + quoted_lines(output);
    }
  }
  return text;
}

}  // namespace ridgeline::assistant
