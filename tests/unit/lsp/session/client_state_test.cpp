#include <gmock/gmock.h>

#include "tests/unit/lsp/session/fake_client.h"

namespace ridgeline::lsp {
namespace {

using protocol::Json;
using ::testing::ElementsAre;
using testing::FakeClient;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json change(int version, const Json& changes, const std::string& uri = "file:///a.py") {
  return {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", changes}};
}

Json document(const std::string& uri = "file:///a.py") { return {{"textDocument", {{"uri", uri}}}}; }

/// One change of a part of a line.
Json part(int line, int begin, int end, const std::string& text) {
  return Json::array({Json{
      {"range", {{"start", {{"line", line}, {"character", begin}}}, {"end", {{"line", line}, {"character", end}}}}},
      {"text", text}}});
}

TEST(SessionDocuments, FollowTheClient) {
  FakeClient client;
  client.initialize();
  client.diary.take();
  client.open("file:///a.py", "one two");
  client.tell("textDocument/didChange", change(2, part(0, 4, 7, "2")));
  client.tell("textDocument/didSave", document());
  EXPECT_EQ(client.session->documents().find("file:///a.py")->version(), 2);
  client.tell("textDocument/didClose", document());
  EXPECT_THAT(client.diary.take(), ElementsAre("opened file:///a.py", "changed file:///a.py to one 2",
                                               "saved file:///a.py", "closed file:///a.py"));
  EXPECT_EQ(client.diary.last_edits, std::vector<ByteEdit>({{4, 7, 5, {0, 4}, {0, 7}, {0, 5}}}));
  EXPECT_EQ(client.session->documents().size(), 0U);
}

TEST(SessionDocuments, CountInTheAgreedEncoding) {
  for (const auto& [offered, character] : {std::pair("utf-8", 4), std::pair("utf-16", 2)}) {
    FakeClient client;
    client.initialize({{"general", {{"positionEncodings", {offered}}}}});
    client.open("file:///a.py", "😀x");
    client.tell("textDocument/didChange", change(2, part(0, character, character + 1, "y")));
    EXPECT_EQ(client.session->documents().find("file:///a.py")->bytes(), "😀y") << offered;
  }
}

TEST(SessionDocuments, IgnoreWhatIsNotOpen) {
  FakeClient client;
  client.initialize();
  client.diary.take();
  client.tell("textDocument/didChange", change(2, part(0, 0, 0, "x")));
  client.tell("textDocument/didSave", document());
  client.tell("textDocument/didClose", document());
  EXPECT_THAT(client.diary.take(), IsEmpty());
}

TEST(SessionDocuments, SurviveBadParams) {
  FakeClient client;
  client.initialize();
  client.open("file:///a.py", "x");
  client.diary.take();
  for (const Json& params : {Json(), Json::object(), change(2, "no list"), change(2, {{{"text", 7}}}),
                             change(2, part(-1, 0, 0, "x")), Json({{"textDocument", 7}})}) {
    for (const char* method : {"textDocument/didOpen", "textDocument/didChange"}) {
      client.tell(method, params);
    }
  }
  EXPECT_THAT(client.diary.take(), IsEmpty());
  EXPECT_EQ(client.session->documents().find("file:///a.py")->bytes(), "x");
}

TEST(SessionDocuments, WarnOfWhatIsOutOfSync) {
  FakeClient client;
  client.initialize();
  client.open("file:///a.py", "abc");
  client.tell("textDocument/didChange", change(2, part(0, 2, 1, "x")));
  const Json warning = *client.sent("window/logMessage");
  EXPECT_EQ(warning["params"]["type"], 2);
  EXPECT_THAT(warning["params"]["message"].get<std::string>(), HasSubstr("out of sync"));
  EXPECT_FALSE(client.session->documents().find("file:///a.py")->in_sync());
  client.tell("textDocument/didChange", change(3, Json::array({Json{{"text", "new"}}})));
  EXPECT_TRUE(client.session->documents().find("file:///a.py")->in_sync());
}

TEST(SessionDocuments, MayBeOpenedTwice) {
  FakeClient client;
  client.initialize();
  client.diary.take();
  client.open("file:///a.py", "x");
  client.open("file:///a.py", "y");
  EXPECT_THAT(client.diary.take(), ElementsAre("opened file:///a.py", "closed file:///a.py", "opened file:///a.py"));
}

TEST(SessionPaths, GoThroughTheMaps) {
  FakeClient client;
  client.options.path_maps.add({"/local", "/remote"});
  client.initialize(Json::object(), {{"initializationOptions",
                                      {{"pathMaps", Json::array({Json{{"local", "D:\\x"}, {"remote", "/x"}}})}}}});
  EXPECT_EQ(client.session->path_of("file:///local/a.py"), "/remote/a.py");
  EXPECT_EQ(client.session->path_of("file:///d%3A/x/a.py"), "/x/a.py");
  EXPECT_EQ(client.session->path_of("untitled:1"), std::nullopt);
  EXPECT_EQ(client.session->uri_of("/remote/a b.py"), "file:///local/a%20b.py");
  client.open("file:///d:/x/a.py", "");
  EXPECT_EQ(client.session->uri_of("/x/a.py"), "file:///d:/x/a.py") << "as the client writes it";
  EXPECT_EQ(client.session->documents().find("file:///d:/x/a.py")->path(), "/x/a.py");
  client.open("untitled:1", "");
  EXPECT_EQ(client.session->documents().find("untitled:1")->path(), "");
}

TEST(SessionPaths, RefuseMapsThatAreNone) {
  FakeClient client;
  client.connect();
  EXPECT_EQ(client.error_of("initialize", {{"capabilities", Json::object()},
                                           {"initializationOptions", {{"pathMaps", {{{"local", "/a"}}}}}}}),
            protocol::error_code::kInvalidParams);
}

TEST(Folders, AreTheClients) {
  FakeClient client;
  client.initialize(Json::object(), {{"workspaceFolders", Json::array({Json{{"uri", "file:///a"}, {"name", "a"}}})},
                                     {"rootUri", "file:///other"}});
  client.diary.take();
  client.tell(
      "workspace/didChangeWorkspaceFolders",
      {{"event",
        {{"added", Json::array({Json{{"uri", "file:///b"}, {"name", "b"}}, Json{{"uri", "file:///a"}, {"name", "a"}}})},
         {"removed", Json::array()}}}});
  client.tell(
      "workspace/didChangeWorkspaceFolders",
      {{"event", {{"added", Json::array()}, {"removed", Json::array({Json{{"uri", "file:///a"}, {"name", "a"}}})}}}});
  EXPECT_THAT(client.diary.take(), ElementsAre("folders file:///b file:///a", "folders file:///b"));
}

TEST(Folders, AreTheRootWhereThereAreNone) {
  FakeClient client;
  client.initialize(Json::object(), {{"rootUri", "file:///project"}});
  ASSERT_EQ(client.session->folders().size(), 1U);
  EXPECT_EQ(client.session->folders()[0].uri, "file:///project");
  EXPECT_EQ(client.session->folders()[0].name, "project");
}

TEST(Settings, ArePulledWhereTheClientAnswers) {
  FakeClient client;
  client.initialize({{"workspace", {{"configuration", true}}}});
  const Json request = *client.sent("workspace/configuration");
  EXPECT_EQ(request["params"], Json::parse(R"({"items":[{"section":"ridgeline"}]})"));
  client.answer(request, Json::array({Json{{"python", "/p"}}}));
  client.tell("workspace/didChangeConfiguration", {{"settings", nullptr}});
  client.answer(*client.sent("workspace/configuration"), Json::array({Json{{"python", "/q"}}}));
  client.tell("workspace/didChangeConfiguration", {{"settings", nullptr}});
  client.refuse(*client.sent("workspace/configuration"));
  EXPECT_THAT(client.diary.take(),
              ElementsAre("initialized", R"(settings {"python":"/p"})", R"(settings {"python":"/q"})"));
  EXPECT_EQ(client.session->settings()["python"], "/q");
}

TEST(Settings, AreTakenFromTheNotificationElsewhere) {
  FakeClient client;
  client.initialize();
  client.diary.take();
  client.tell("workspace/didChangeConfiguration", {{"settings", {{"ridgeline", {{"a", 1}}}, {"other", 2}}}});
  client.tell("workspace/didChangeConfiguration", {{"settings", {{"a", 2}}}});
  EXPECT_THAT(client.diary.take(), ElementsAre(R"(settings {"a":1})", R"(settings {"a":2})"));
}

TEST(Settings, AreRegisteredForWherePossible) {
  FakeClient client;
  client.initialize({{"workspace", {{"didChangeConfiguration", {{"dynamicRegistration", true}}}}}});
  const Json request = *client.sent("client/registerCapability");
  EXPECT_EQ(request["params"]["registrations"][0]["method"], "workspace/didChangeConfiguration");
  EXPECT_EQ(request["params"]["registrations"][0]["registerOptions"]["section"], "ridgeline");
  client.refuse(request);
}

TEST(Trace, CanBeSet) {
  FakeClient client;
  client.initialize();
  client.tell("$/setTrace", {{"value", "verbose"}});
  EXPECT_EQ(client.session->client().trace, "verbose");
}

TEST(Listener, MayThrow) {
  struct Thrower : SessionListener {
    void document_opened(Session& /*session*/, const Document& /*document*/) override {
      throw std::runtime_error("bad day");
    }
  } thrower;
  FakeClient client;
  client.service.listener = &thrower;
  client.initialize();
  client.open("file:///a.py", "x");
  EXPECT_THAT((*client.sent("window/logMessage"))["params"]["message"].get<std::string>(), HasSubstr("bad day"));
  EXPECT_NE(client.session->documents().find("file:///a.py"), nullptr);
  client.session->end("before the listener goes");
}

}  // namespace
}  // namespace ridgeline::lsp
