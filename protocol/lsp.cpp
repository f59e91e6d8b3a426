#include "protocol/lsp.h"

#include "protocol/json_fields.h"

namespace ridgeline::protocol {

namespace {

/// On one line, inert; written only when there is some.
void put_label(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) {
    json[name] = label_text(text);
  }
}

/// Written only when there is some.
void put_text(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) {
    json[name] = text;
  }
}

void put_flag(Json& json, const char* name, bool flag) {
  if (flag) {
    json[name] = true;
  }
}

void put_json(Json& json, const char* name, const Json& value) {
  if (!value.is_null()) {
    json[name] = value;
  }
}

template <typename T>
void put_list(Json& json, const char* name, const std::vector<T>& values) {
  if (!values.empty()) {
    json[name] = values;
  }
}

std::string text_or(const Json& json, const char* name) {
  return optional_member<std::string>(json, name).value_or("");
}

/// As it came; null when it is not there.
Json any_member(const Json& json, const char* name) { return json.is_object() ? json.value(name, Json()) : Json(); }

const Json::object_t& object_of(const Json& json) {
  if (!json.is_object()) {
    throw InvalidValue(std::string("must be an object, not ") + json.type_name());
  }
  return json.get_ref<const Json::object_t&>();
}

/// A diagnostic's code may be a number, and, since 3.18, its message a MarkupContent.
std::string text_of(const Json& value) {
  if (value.is_object()) {
    return text_or(value, "value");
  }
  return value.is_number_integer() ? std::to_string(value.get<std::int64_t>()) : value_as<std::string>(value);
}

}  // namespace

// ---- writing
// ---------------------------------------------------------------------------------------------------------

void to_json(Json& json, const Position& value) { json = {{"line", value.line}, {"character", value.character}}; }
void to_json(Json& json, const Range& value) { json = {{"start", value.start}, {"end", value.end}}; }
void to_json(Json& json, const Location& value) { json = {{"uri", value.uri}, {"range", value.range}}; }
void to_json(Json& json, const TextDocumentIdentifier& value) { json = {{"uri", value.uri}}; }

void to_json(Json& json, const VersionedTextDocumentIdentifier& value) {
  json = {{"uri", value.uri}, {"version", value.version}};
}

void to_json(Json& json, const TextEdit& value) { json = {{"range", value.range}, {"newText", value.new_text}}; }

void to_json(Json& json, const TextDocumentEdit& value) {
  json = {{"textDocument", {{"uri", value.uri}, {"version", nullptr}}}, {"edits", value.edits}};
  put(json["textDocument"], "version", value.version);
}

void to_json(Json& json, const WorkspaceEdit& value) { json = {{"documentChanges", value.document_changes}}; }

Json plain_changes(const WorkspaceEdit& edit) {
  Json changes = Json::object();
  for (const TextDocumentEdit& document : edit.document_changes) {
    for (const TextEdit& change : document.edits) {
      changes[document.uri].push_back(change);
    }
  }
  return {{"changes", std::move(changes)}};
}

void to_json(Json& json, const WorkspaceFolder& value) { json = {{"uri", value.uri}, {"name", value.name}}; }

void to_json(Json& json, const DiagnosticRelatedInformation& value) {
  json = {{"location", value.location}, {"message", message_text(value.message)}};
}

void to_json(Json& json, const Diagnostic& value) {
  json = {{"range", value.range}, {"message", message_text(value.message)}};
  if (value.severity.has_value()) {
    json["severity"] = static_cast<int>(*value.severity);
  }
  put_label(json, "code", value.code);
  if (!value.code_href.empty()) {
    json["codeDescription"] = {{"href", value.code_href}};
  }
  put_label(json, "source", value.source);
  put_list(json, "tags", value.tags);
  put_list(json, "relatedInformation", value.related_information);
  put_json(json, "data", value.data);
}

void to_json(Json& json, const PublishDiagnosticsParams& value) {
  json = {{"uri", value.uri}, {"diagnostics", value.diagnostics}};
  put(json, "version", value.version);
}

void to_json(Json& json, const DocumentDiagnosticReport& value) {
  json = {{"kind", value.unchanged ? "unchanged" : "full"}};
  put_text(json, "resultId", value.result_id);
  if (!value.unchanged) {
    json["items"] = value.items;
  }
}

void to_json(Json& json, const MarkupContent& value) {
  json = {{"kind", value.markdown ? "markdown" : "plaintext"},
          {"value", value.markdown ? value.value.markup() : value.value.plain()}};
}

void to_json(Json& json, const Hover& value) {
  json = {{"contents", value.contents}};
  put(json, "range", value.range);
}

void to_json(Json& json, const Command& value) {
  json = {{"title", label_text(value.title)}, {"command", value.command}};
  put_json(json, "arguments", value.arguments);
}

void to_json(Json& json, const InlayHint& value) {
  json = {{"position", value.position}, {"label", label_text(value.label)}};
  put(json, "tooltip", value.tooltip);
  put_flag(json, "paddingLeft", value.padding_left);
  put_flag(json, "paddingRight", value.padding_right);
  put_json(json, "data", value.data);
}

void to_json(Json& json, const CodeLens& value) {
  json = {{"range", value.range}};
  put(json, "command", value.command);
  put_json(json, "data", value.data);
}

void to_json(Json& json, const CodeAction& value) {
  json = {{"title", label_text(value.title)}};
  put_text(json, "kind", value.kind);
  put_list(json, "diagnostics", value.diagnostics);
  put_flag(json, "isPreferred", value.is_preferred);
  if (!value.disabled_reason.empty()) {
    json["disabled"] = {{"reason", label_text(value.disabled_reason)}};
  }
  put(json, "edit", value.edit);
  put(json, "command", value.command);
  put_json(json, "data", value.data);
}

void to_json(Json& json, const MessageParams& value) {
  json = {{"type", static_cast<int>(value.type)}, {"message", message_text(value.message)}};
}

void to_json(Json& json, const MessageRequestParams& value) {
  json = MessageParams{value.type, value.message};
  Json& actions = json["actions"] = Json::array();
  for (const std::string& choice : value.choices) {
    actions.push_back({{"title", label_text(choice)}});
  }
}

void to_json(Json& json, const WorkDoneProgressBegin& value) {
  json = {{"kind", "begin"}, {"title", label_text(value.title)}};
  put_label(json, "message", value.message);
  put(json, "percentage", value.percentage);
  put_flag(json, "cancellable", value.cancellable);
}

void to_json(Json& json, const WorkDoneProgressReport& value) {
  json = {{"kind", "report"}};
  put_label(json, "message", value.message);
  put(json, "percentage", value.percentage);
}

void to_json(Json& json, const WorkDoneProgressEnd& value) {
  json = {{"kind", "end"}};
  put_label(json, "message", value.message);
}

void to_json(Json& json, const Registration& value) {
  json = {{"id", value.id}, {"method", value.method}};
  put_json(json, "registerOptions", value.register_options);
}

// ---- reading
// ---------------------------------------------------------------------------------------------------------

void from_json(const Json& json, Position& value) {
  value = {member<std::uint32_t>(json, "line"), member<std::uint32_t>(json, "character")};
}

void from_json(const Json& json, Range& value) {
  value = {member<Position>(json, "start"), member<Position>(json, "end")};
}

void from_json(const Json& json, Location& value) {
  value = {member<std::string>(json, "uri"), member<Range>(json, "range")};
}

void from_json(const Json& json, TextDocumentIdentifier& value) { value = {member<std::string>(json, "uri")}; }

void from_json(const Json& json, VersionedTextDocumentIdentifier& value) {
  value = {member<std::string>(json, "uri"), member<int>(json, "version")};
}

void from_json(const Json& json, TextDocumentItem& value) {
  value = {member<std::string>(json, "uri"), member<std::string>(json, "languageId"), member<int>(json, "version"),
           member<std::string>(json, "text")};
}

void from_json(const Json& json, TextDocumentContentChange& value) {
  value = {optional_member<Range>(json, "range"), member<std::string>(json, "text")};
}

void from_json(const Json& json, TextDocumentPosition& value) {
  value = {member<TextDocumentIdentifier>(json, "textDocument"), member<Position>(json, "position")};
}

void from_json(const Json& json, TextEdit& value) {
  value = {member<Range>(json, "range"), member<std::string>(json, "newText")};
}

void from_json(const Json& json, WorkspaceFolder& value) {
  value = {member<std::string>(json, "uri"), text_or(json, "name")};
}

void from_json(const Json& json, Diagnostic& value) {
  value = {};
  value.range = member<Range>(json, "range");
  if (const auto severity = optional_member<int>(json, "severity"); severity >= 1 && severity <= 4) {
    value.severity = static_cast<DiagnosticSeverity>(*severity);
  }
  const Json code = any_member(json, "code");
  value.code = code.is_null() ? "" : text_of(code);
  value.code_href = text_or(any_member(json, "codeDescription"), "href");
  value.source = text_or(json, "source");
  value.message = text_of(member<Json>(json, "message"));
  value.tags = optional_member<std::vector<int>>(json, "tags").value_or(std::vector<int>());
  for (const Json& related : any_member(json, "relatedInformation")) {
    value.related_information.push_back({member<Location>(related, "location"), text_or(related, "message")});
  }
  value.data = any_member(json, "data");
}

void from_json(const Json& json, Command& value) {
  value = {text_or(json, "title"), member<std::string>(json, "command"), any_member(json, "arguments")};
  if (!value.arguments.is_array() && !value.arguments.is_null()) {
    throw InvalidValue("arguments: must be an array");
  }
}

void from_json(const Json& json, CodeActionContext& value) {
  object_of(json);
  value.diagnostics = member<std::vector<Diagnostic>>(json, "diagnostics");
  value.only = optional_member<std::vector<std::string>>(json, "only").value_or(std::vector<std::string>());
}

void from_json(const Json& json, CodeAction& value) {
  value = {};
  value.title = member<std::string>(json, "title");
  value.kind = text_or(json, "kind");
  value.diagnostics = optional_member<std::vector<Diagnostic>>(json, "diagnostics").value_or(std::vector<Diagnostic>());
  value.is_preferred = optional_member<bool>(json, "isPreferred").value_or(false);
  value.disabled_reason = text_or(any_member(json, "disabled"), "reason");
  value.command = optional_member<Command>(json, "command");
  value.data = any_member(json, "data");
}

}  // namespace ridgeline::protocol
