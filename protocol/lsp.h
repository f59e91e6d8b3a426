// The part of the Language Server Protocol (3.17, and of 3.18 what a client announces) that Ridgeline speaks.
//
// Writing (to_json) makes inert whatever an editor shows of it: the texts of these structs may be anybody's
// (protocol/shown_text.h). Reading (from_json) throws InvalidValue on what the specification does not allow. What the
// specification leaves out when there is none is an optional here, or Json that is null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/json_rpc.h"
#include "protocol/shown_text.h"

namespace ridgeline::protocol {

/// Lines count from 0; characters are units of the encoding that client and server agreed on.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t character = 0;
  // clang-tidy 14 takes the 0 of the generated comparison for a pointer.
  friend auto operator<=>(const Position&, const Position&) = default;  // NOLINT(modernize-use-nullptr)
};

struct Range {
  Position start;
  Position end;  ///< behind the last
  friend bool operator==(const Range&, const Range&) = default;
};

/// Also where one ends and the other begins.
inline bool touch(const Range& one, const Range& other) { return one.start <= other.end && other.start <= one.end; }

struct Location {
  std::string uri;
  Range range;
};

// ---- documents and edits
// ---------------------------------------------------------------------------------------------

struct TextDocumentIdentifier {
  std::string uri;
};

struct VersionedTextDocumentIdentifier {
  std::string uri;
  int version = 0;
};

struct TextDocumentItem {
  std::string uri;
  std::string language_id;
  int version = 0;
  std::string text;
};

struct TextDocumentContentChange {
  std::optional<Range> range;  ///< nothing: the whole document
  std::string text;
};

struct TextDocumentPosition {
  TextDocumentIdentifier text_document;
  Position position;
};

struct TextEdit {
  Range range;
  std::string new_text;
};

/// Edits of one document; where a version is given, of that version and no other.
struct TextDocumentEdit {
  std::string uri;
  std::optional<int> version;
  std::vector<TextEdit> edits;
};

/// Written as documentChanges; see plain_changes() for clients that do not know these.
struct WorkspaceEdit {
  std::vector<TextDocumentEdit> document_changes;
};
/// The edit as `changes`, without versions.
Json plain_changes(const WorkspaceEdit& edit);

struct WorkspaceFolder {
  std::string uri;
  std::string name;
};

// ---- diagnostics
// -----------------------------------------------------------------------------------------------------

enum class DiagnosticSeverity : std::uint8_t { kError = 1, kWarning = 2, kInformation = 3, kHint = 4 };

struct DiagnosticRelatedInformation {
  Location location;
  std::string message;
};

struct Diagnostic {
  Range range;
  std::optional<DiagnosticSeverity> severity{};
  std::string code{};       ///< empty: none
  std::string code_href{};  ///< codeDescription; empty: none
  std::string source{};     ///< empty: none
  std::string message{};
  std::vector<int> tags{};  ///< 1: unnecessary, 2: deprecated
  std::vector<DiagnosticRelatedInformation> related_information{};
  Json data{};
};

struct PublishDiagnosticsParams {
  std::string uri;
  std::optional<int> version;
  std::vector<Diagnostic> diagnostics;
};

/// textDocument/diagnostic. `unchanged`: as the result with this id, and items are left out.
struct DocumentDiagnosticReport {
  std::string result_id{};  ///< empty: none; never empty when unchanged
  bool unchanged = false;
  std::vector<Diagnostic> items{};
};

// ---- what is shown beside code
// ---------------------------------------------------------------------------------------

struct MarkupContent {
  Markdown value;
  bool markdown = true;  ///< else the client shows it as it stands
};

struct Hover {
  MarkupContent contents;
  std::optional<Range> range{};
};

struct Command {
  std::string title;
  std::string command;
  Json arguments{};  ///< an array, or null
};

struct InlayHint {
  Position position;
  std::string label;
  std::optional<MarkupContent> tooltip{};
  bool padding_left = false;
  bool padding_right = false;
  Json data{};
};

struct CodeLens {
  Range range;
  std::optional<Command> command{};
  Json data{};
};

struct CodeActionContext {
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> only;  ///< kinds; empty: all
};

struct CodeAction {
  std::string title;
  std::string kind{};  ///< empty: none
  std::vector<Diagnostic> diagnostics{};
  bool is_preferred = false;
  std::string disabled_reason{};  ///< empty: it is not disabled
  std::optional<WorkspaceEdit> edit{};
  std::optional<Command> command{};
  Json data{};
};

// ---- the window
// ------------------------------------------------------------------------------------------------------

enum class MessageType : std::uint8_t { kError = 1, kWarning = 2, kInfo = 3, kLog = 4, kDebug = 5 };

/// window/showMessage and window/logMessage.
struct MessageParams {
  MessageType type = MessageType::kInfo;
  std::string message;
};

/// window/showMessageRequest.
struct MessageRequestParams {
  MessageType type = MessageType::kInfo;
  std::string message;
  std::vector<std::string> choices;
};

struct WorkDoneProgressBegin {
  std::string title;
  std::string message{};                      ///< empty: none
  std::optional<std::uint32_t> percentage{};  ///< nothing: the progress has none, now and later
  bool cancellable = false;
};

struct WorkDoneProgressReport {
  std::string message{};                      ///< empty: as it was
  std::optional<std::uint32_t> percentage{};  ///< 0 to 100, and no less than before
};

struct WorkDoneProgressEnd {
  std::string message{};  ///< empty: none
};

struct Registration {
  std::string id;
  std::string method;
  Json register_options{};  ///< null: none
};

void to_json(Json& json, const Position& value);
void to_json(Json& json, const Range& value);
void to_json(Json& json, const Location& value);
void to_json(Json& json, const TextDocumentIdentifier& value);
void to_json(Json& json, const VersionedTextDocumentIdentifier& value);
void to_json(Json& json, const TextEdit& value);
void to_json(Json& json, const TextDocumentEdit& value);
void to_json(Json& json, const WorkspaceEdit& value);
void to_json(Json& json, const WorkspaceFolder& value);
void to_json(Json& json, const DiagnosticRelatedInformation& value);
void to_json(Json& json, const Diagnostic& value);
void to_json(Json& json, const PublishDiagnosticsParams& value);
void to_json(Json& json, const DocumentDiagnosticReport& value);
void to_json(Json& json, const MarkupContent& value);
void to_json(Json& json, const Hover& value);
void to_json(Json& json, const Command& value);
void to_json(Json& json, const InlayHint& value);
void to_json(Json& json, const CodeLens& value);
void to_json(Json& json, const CodeAction& value);
void to_json(Json& json, const MessageParams& value);
void to_json(Json& json, const MessageRequestParams& value);
void to_json(Json& json, const WorkDoneProgressBegin& value);
void to_json(Json& json, const WorkDoneProgressReport& value);
void to_json(Json& json, const WorkDoneProgressEnd& value);
void to_json(Json& json, const Registration& value);

void from_json(const Json& json, Position& value);
void from_json(const Json& json, Range& value);
void from_json(const Json& json, Location& value);
void from_json(const Json& json, TextDocumentIdentifier& value);
void from_json(const Json& json, VersionedTextDocumentIdentifier& value);
void from_json(const Json& json, TextDocumentItem& value);
void from_json(const Json& json, TextDocumentContentChange& value);
void from_json(const Json& json, TextDocumentPosition& value);
void from_json(const Json& json, TextEdit& value);
void from_json(const Json& json, WorkspaceFolder& value);
void from_json(const Json& json, Diagnostic& value);
void from_json(const Json& json, Command& value);
void from_json(const Json& json, CodeActionContext& value);
/// Without its edit, which only we write: what codeAction/resolve gets.
void from_json(const Json& json, CodeAction& value);

}  // namespace ridgeline::protocol
