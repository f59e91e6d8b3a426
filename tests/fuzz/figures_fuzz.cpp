// What a server that has a profile is asked about it: lines of a method and its parameters. PROFILE stands for the
// profile's id and PROJECT for the project's URI; what is no JSON is left out. Every interval holds its value, every
// error is a documented one, and the profile is still there afterwards.
#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "analysis/prediction/answers.h"
#include "app/profiling/kept_profiles.h"
#include "report/read_report.h"
#include "tests/fuzz/client.h"

using namespace ridgeline;
using fuzz::Json;
namespace fs = std::filesystem;

namespace {

/// Every quantity of ours is {"value", "interval": {"low", "high"}, ...}; `high` is null where nothing bounds it, which
/// is so for figures that were not measured.
void check_intervals(const Json& value) {
  if (value.is_object() && value.contains("value") && value.contains("interval") && value["interval"].is_object()) {
    const Json& low = value["interval"].at("low");
    const Json& high = value["interval"].at("high");
    CLAIM(low <= value["value"]);
    CLAIM(high.is_null() ? value.at("certainty") != "known" : value["value"] <= high);
  }
  if (value.is_structured()) {
    for (const Json& each : value) {
      check_intervals(each);
    }
  }
}

void check_answer(const Json& message) {
  namespace code = protocol::error_code;
  // The codes of docs/dev/protocol.md, but for an internal one.
  static constexpr std::array<int, 9> kCodes{
      code::kParseError,      code::kInvalidRequest,       code::kMethodNotFound,
      code::kInvalidParams,   code::kServerNotInitialized, code::kRequestFailed,
      code::kServerCancelled, code::kContentModified,      code::kRequestCancelled};
  if (message.contains("error")) {
    CLAIM(std::ranges::find(kCodes, message["error"].at("code").get<int>()) != kCodes.end());
  } else {
    check_intervals(message.at("result"));
  }
}

/// The examples' ResNet-50 with a profile in the cache, and a server that has read it.
class World {
 public:
  World() {
    project_ = fuzz::make_cache() / "project";
    const fs::path source = RIDGELINE_SOURCE_DIR;
    entry_ = project_ / "examples" / "resnet50" / "entry.py";
    fs::create_directories(entry_.parent_path());
    fs::copy(source / "examples" / "resnet50", entry_.parent_path());
    fs::create_directories(project_ / ".venv" / "bin");
    fs::create_symlink("/bin/true", project_ / ".venv" / "bin" / "python");

    app::ProfileRequest request;
    request.entry = entry_;
    request.project_root = project_;
    const auto target = app::find_target(request);
    CLAIM(target.has_value());
    const std::string report =
        boost::replace_all_copy(testing::content_of(source / "tests" / "data" / "report" / "sample.json"),
                                "/home/user/project", project_.string());
    auto profile = report::read_report(report);
    CLAIM(profile.has_value());
    // The run is still to come, so that no file has changed since it began.
    store::Moment began;
    began.system += std::chrono::hours(1);
    began.steady += std::chrono::hours(1);
    analysis::fit_models(*profile);
    analysis::Outlook outlook = analysis::outlook_of(*profile);
    app::ProfileRun run{
        std::move(*profile), began, {entry_, entry_.parent_path() / "resnet.py"}, true, std::move(outlook)};
    CLAIM(app::keep_profile(run, request, *target, app::seconds_since_1970()).empty() && !run.profile.id.empty());
    profile_ = run.profile.id;

    // The first session that opens the file has the profile read; on a busy machine that takes seconds.
    bool loaded = false;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!loaded && std::chrono::steady_clock::now() < deadline) {
      loaded = holds("", [](const Json&) {});
      loop_.restart();
      loop_.run_for(std::chrono::milliseconds(100));
    }
    CLAIM(loaded);
  }

  /// A session that says these lines. Whether the profile is there after them.
  bool holds(std::string_view lines, const std::function<void(const Json&)>& on_answer) {
    bool answered = false;
    bool there = false;
    const auto client = std::make_shared<fuzz::Client>([&](const Json& message) {
      on_answer(message);
      if (message.at("id") == kThere) {
        answered = true;
        there = message.contains("result") && message["result"].is_object();
      }
    });
    auto session = fuzz::begin(loop_, service_, client);
    const auto say = [&](const Json& message) {
      client->say(message.dump(-1, ' ', false, Json::error_handler_t::replace));
      fuzz::poll(loop_);
    };
    const std::string uri = "file://" + project_.string();
    say({{"jsonrpc", "2.0"},
         {"id", 0},
         {"method", "initialize"},
         {"params",
          {{"processId", nullptr},
           {"rootUri", uri},
           {"capabilities", {{"workspace", {{"applyEdit", true}, {"workspaceEdit", {{"documentChanges", true}}}}}}}}}});
    say({{"jsonrpc", "2.0"}, {"method", "initialized"}, {"params", Json::object()}});
    say({{"jsonrpc", "2.0"},
         {"method", "textDocument/didOpen"},
         {"params",
          {{"textDocument",
            {{"uri", uri + "/examples/resnet50/entry.py"},
             {"languageId", "python"},
             {"version", 1},
             {"text", text_}}}}}});
    fuzz::Input input(reinterpret_cast<const std::uint8_t*>(lines.data()), lines.size());
    for (int id = 1; !input.empty() && id <= 20; ++id) {
      std::string line(input.until('\n'));
      boost::replace_all(line, "PROFILE", profile_);
      boost::replace_all(line, "PROJECT", uri);
      const std::size_t space = std::min(line.find(' '), line.size());
      const Json params = Json::parse(line.substr(space), nullptr, false);
      if (!params.is_discarded() && !line.starts_with("shutdown") && !line.starts_with("exit")) {
        Json message{{"jsonrpc", "2.0"}, {"method", line.substr(0, space)}, {"params", params}};
        if (line.find("/did") == std::string::npos) {
          message["id"] = id;
        }
        say(message);
      }
    }
    // The last answer is the one on whether the profile is there.
    say({{"jsonrpc", "2.0"}, {"id", kThere}, {"method", "ridgeline/summary"}, {"params", {{"profileId", profile_}}}});
    // It waits for the text to be parsed, which a thread of the pool does.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    const auto not_idle = boost::asio::make_work_guard(loop_);
    while (!answered && std::chrono::steady_clock::now() < deadline) {
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(5));
    }
    CLAIM(answered);
    session->end("the input is over");
    session.reset();
    fuzz::poll(loop_);
    return there;
  }

 private:
  static constexpr const char* kThere = "there";

  fs::path project_;
  fs::path entry_;
  std::string profile_;
  std::string text_ = testing::content_of(fs::path(RIDGELINE_SOURCE_DIR) / "examples" / "resnet50" / "entry.py");
  boost::asio::io_context loop_;
  editor::Server server_{loop_};
  lsp::Service service_ = fuzz::service_of(server_);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& world = *new World;  // never ended: its threads would outlive what they use
  CLAIM(world.holds({reinterpret_cast<const char*>(data), size}, check_answer));
  return 0;
}
