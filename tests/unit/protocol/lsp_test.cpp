#include "protocol/lsp.h"

#include <gmock/gmock.h>

#include "protocol/client_capabilities.h"
#include "protocol/json_fields.h"

namespace ridgeline::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
void expect_invalid(const char* text, const std::string& words) {
  try {
    value_as<T>(Json::parse(text));
    ADD_FAILURE() << text << " was read";
  } catch (const InvalidValue& problem) {
    EXPECT_THAT(problem.what(), HasSubstr(words)) << text;
  }
}

Json written(const auto& value) { return Json(value); }

const Range kRange{{1, 2}, {3, 4}};
const char* const kRangeText = R"({"start":{"line":1,"character":2},"end":{"line":3,"character":4}})";

TEST(Fields, TakeWholeNumbersInTheirRangeOnly) {
  EXPECT_EQ(value_as<int>(Json::parse("3.0")), 3);
  EXPECT_EQ(value_as<std::uint32_t>(Json::parse("4294967295")), 4294967295U);
  EXPECT_EQ(value_as<std::int64_t>(Json::parse("-9223372036854775808")), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"-1", "4294967296", "1.5", "1e300", "\"1\"", "null", "true", "[]"}) {
    expect_invalid<std::uint32_t>(text, "whole number");
  }
}

TEST(Lsp, NamesTheMemberThatIsWrong) {
  expect_invalid<Range>(R"({"start":{"line":1,"character":-2},"end":{"line":1,"character":2}})", "start: character:");
  expect_invalid<Range>(R"({"start":{"line":1,"character":2}})", "end is missing");
  expect_invalid<Range>("7", "start is missing");
  expect_invalid<TextDocumentPosition>(R"({"textDocument":{"uri":5},"position":{"line":0,"character":0}})",
                                       "textDocument: uri:");
  expect_invalid<std::vector<TextDocumentContentChange>>("{}", "wrong type");
}

TEST(Lsp, ReadsChanges) {
  const auto changes = value_as<std::vector<TextDocumentContentChange>>(
      Json::parse(std::string(R"([{"text":"all"},{"range":)") + kRangeText + R"(,"rangeLength":9,"text":"x"}])"));
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_FALSE(changes[0].range.has_value());
  EXPECT_EQ(changes[1].range, kRange);
}

TEST(Lsp, WritesDiagnostics) {
  Diagnostic diagnostic;
  diagnostic.range = kRange;
  diagnostic.message = "bad";
  EXPECT_EQ(written(diagnostic), Json({{"range", kRange}, {"message", "bad"}}));
  diagnostic.severity = DiagnosticSeverity::kWarning;
  diagnostic.code = "too-large";
  diagnostic.code_href = "https://example.org";
  diagnostic.source = "ridgeline";
  diagnostic.tags = {1};
  diagnostic.related_information = {{{"file:///a", kRange}, "here"}};
  diagnostic.data = {{"k", 1}};
  const Json json = written(diagnostic);
  EXPECT_EQ(json["severity"], 2);
  EXPECT_EQ(json["codeDescription"]["href"], "https://example.org");
  EXPECT_EQ(json["relatedInformation"][0]["location"]["uri"], "file:///a");
  EXPECT_EQ(written(value_as<Diagnostic>(json)), json);
}

TEST(Lsp, ReadsDiagnosticsOfOthers) {
  const auto diagnostic = value_as<Diagnostic>(Json::parse(
      std::string(R"({"range":)") + kRangeText +
      R"(,"code":12,"severity":9,"message":{"kind":"markdown","value":"*bad*"},"relatedInformation":null})"));
  EXPECT_EQ(diagnostic.code, "12");
  EXPECT_EQ(diagnostic.message, "*bad*");
  EXPECT_FALSE(diagnostic.severity.has_value());
}

TEST(Lsp, WritesReports) {
  EXPECT_EQ(written(DocumentDiagnosticReport{"7", true, {}}), Json({{"kind", "unchanged"}, {"resultId", "7"}}));
  EXPECT_EQ(written(DocumentDiagnosticReport{}), Json({{"kind", "full"}, {"items", Json::array()}}));
  EXPECT_EQ(written(PublishDiagnosticsParams{"u", 3, {}}),
            Json({{"uri", "u"}, {"version", 3}, {"diagnostics", Json::array()}}));
}

TEST(Lsp, WritesEditsForBothKindsOfClients) {
  const WorkspaceEdit edit{{{"file:///a", 4, {{kRange, "x"}}}, {"file:///b", std::nullopt, {{kRange, "y"}}}}};
  const Json json = written(edit);
  EXPECT_EQ(json["documentChanges"][0]["textDocument"], Json({{"uri", "file:///a"}, {"version", 4}}));
  EXPECT_TRUE(json["documentChanges"][1]["textDocument"]["version"].is_null());
  EXPECT_EQ(json["documentChanges"][0]["edits"][0]["newText"], "x");
  EXPECT_EQ(plain_changes(edit)["changes"]["file:///b"][0]["range"], Json(kRange));
  EXPECT_EQ(plain_changes({}), Json({{"changes", Json::object()}}));
}

TEST(Lsp, WritesWhatIsShownBesideCode) {
  EXPECT_EQ(written(Hover{{Markdown("**a**")}, kRange}),
            Json({{"contents", {{"kind", "markdown"}, {"value", "**a**"}}}, {"range", kRange}}));
  EXPECT_EQ(written(Hover{{Markdown("**a**"), false}}), Json({{"contents", {{"kind", "plaintext"}, {"value", "a"}}}}));
  InlayHint hint{{1, 2}, "3 ms"};
  EXPECT_EQ(written(hint), Json({{"position", Position{1, 2}}, {"label", "3 ms"}}));
  hint.padding_left = true;
  hint.tooltip = MarkupContent{Markdown::text("t")};
  EXPECT_EQ(written(hint)["paddingLeft"], true);
  EXPECT_EQ(written(hint)["tooltip"]["value"], "t");
  EXPECT_EQ(written(CodeLens{kRange, Command{"Profile", "ridgeline.profile", Json::array({1})}}),
            Json({{"range", kRange},
                  {"command", {{"title", "Profile"}, {"command", "ridgeline.profile"}, {"arguments", {1}}}}}));
}

TEST(Lsp, WritesAndReadsCodeActions) {
  CodeAction action;
  action.title = "Batch size 64";
  action.kind = "quickfix";
  action.is_preferred = true;
  action.disabled_reason = "too large";
  action.edit = WorkspaceEdit{};
  action.data = {{"n", 64}};
  const Json json = written(action);
  EXPECT_EQ(json["disabled"]["reason"], "too large");
  EXPECT_TRUE(json["edit"].contains("documentChanges"));
  const auto read = value_as<CodeAction>(json);
  EXPECT_EQ(read.title, action.title);
  EXPECT_EQ(read.disabled_reason, action.disabled_reason);
  EXPECT_EQ(read.data, action.data);
  EXPECT_FALSE(read.edit.has_value());
  expect_invalid<CodeAction>(R"({"kind":"quickfix"})", "title is missing");
}

TEST(Lsp, WritesProgress) {
  EXPECT_EQ(written(WorkDoneProgressBegin{"Profiling", "", 0, true}),
            Json({{"kind", "begin"}, {"title", "Profiling"}, {"percentage", 0}, {"cancellable", true}}));
  EXPECT_EQ(written(WorkDoneProgressReport{"half", {}}), Json({{"kind", "report"}, {"message", "half"}}));
}

TEST(Capabilities, AreNoneWhereNothingIsSaid) {
  for (const char* text : {"{}", "[]", "null", "7", R"({"workspace":7,"textDocument":[],"window":null})",
                           R"({"workspace":{"applyEdit":"yes"},"general":{"positionEncodings":"utf-8"}})"}) {
    const ClientCapabilities read = read_client_capabilities(Json::parse(text));
    EXPECT_TRUE(read.position_encodings.empty()) << text;
    EXPECT_FALSE(read.workspace.apply_edit) << text;
    EXPECT_FALSE(read.diagnostics.pull) << text;
  }
}

TEST(Capabilities, AreReadWhereTheyStand) {
  const ClientCapabilities read = read_client_capabilities(Json::parse(R"({
    "general": {"positionEncodings": ["utf-8", 7, "utf-16"]},
    "workspace": {"applyEdit": true, "configuration": true, "workspaceFolders": true,
      "workspaceEdit": {"documentChanges": true}, "codeLens": {"refreshSupport": true},
      "inlayHint": {"refreshSupport": true}, "diagnostics": {"refreshSupport": true},
      "didChangeConfiguration": {"dynamicRegistration": true},
      "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true}},
    "textDocument": {"hover": {"contentFormat": ["plaintext", "markdown"], "dynamicRegistration": true},
      "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}, "dataSupport": true,
        "isPreferredSupport": true, "disabledSupport": true, "resolveSupport": {"properties": ["edit"]}},
      "inlayHint": {"resolveSupport": {"properties": ["tooltip"]}},
      "publishDiagnostics": {"relatedInformation": true, "versionSupport": true},
      "diagnostic": {"dynamicRegistration": true}},
    "window": {"workDoneProgress": true, "showMessage": {}, "showDocument": {"support": true}},
    "experimental": {"x": 1}})"));
  EXPECT_THAT(read.position_encodings, ElementsAre("utf-8", "utf-16"));
  EXPECT_TRUE(read.workspace.apply_edit && read.workspace.configuration && read.workspace.folders);
  EXPECT_TRUE(read.workspace.document_changes && read.workspace.code_lens_refresh);
  EXPECT_TRUE(read.workspace.inlay_hint_refresh && read.workspace.diagnostics_refresh);
  EXPECT_TRUE(read.workspace.watches_files && read.workspace.relative_patterns);
  EXPECT_TRUE(read.registrable.configuration && read.registrable.hover && read.registrable.diagnostic);
  EXPECT_FALSE(read.registrable.code_lens || read.registrable.inlay_hint || read.registrable.code_action);
  EXPECT_TRUE(read.hover.markdown);
  EXPECT_TRUE(read.code_action.literals && read.code_action.data && read.code_action.resolve_edit);
  EXPECT_TRUE(read.code_action.is_preferred && read.code_action.disabled);
  EXPECT_TRUE(read.inlay_hint.shown && read.inlay_hint.resolve_tooltip);
  EXPECT_TRUE(read.diagnostics.pull && read.diagnostics.related_information && read.diagnostics.version);
  EXPECT_FALSE(read.diagnostics.data || read.diagnostics.code_description);
  EXPECT_TRUE(read.window.work_done_progress && read.window.show_document);
  EXPECT_EQ(read.experimental["x"], 1);
}

TEST(Initialize, IsRead) {
  const auto params = value_as<InitializeParams>(Json::parse(R"({"processId":12,"capabilities":{},
    "clientInfo":{"name":"Neovim","version":"0.10"},"rootUri":"file:///p","workspaceFolders":null,
    "initializationOptions":{"a":1},"trace":"verbose"})"));
  EXPECT_EQ(params.process_id, 12);
  EXPECT_EQ(params.client_name, "Neovim");
  EXPECT_EQ(params.root_uri, "file:///p");
  EXPECT_TRUE(params.folders.empty());
  EXPECT_EQ(params.options["a"], 1);
  EXPECT_EQ(params.trace, "verbose");
}

TEST(Initialize, NeedsLittle) {
  const auto params = value_as<InitializeParams>(Json::parse(R"({"processId":null,"rootUri":null,"capabilities":{}})"));
  EXPECT_FALSE(params.process_id.has_value());
  expect_invalid<InitializeParams>("{}", "capabilities is missing");
  expect_invalid<InitializeParams>("null", "capabilities is missing");
  expect_invalid<InitializeParams>(R"({"capabilities":{},"processId":"x"})", "processId:");
  expect_invalid<InitializeParams>(R"({"capabilities":{},"workspaceFolders":[{"name":"x"}]})", "uri is missing");
}

}  // namespace
}  // namespace ridgeline::protocol
