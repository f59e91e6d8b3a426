#include "protocol/worker_messages.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/rounds.h"

namespace ridgeline::protocol {
namespace {

using nlohmann::json;

const json kEnvironment = {{"python", "3.11.9"},
                           {"pythonMinor", 11},
                           {"implementation", "CPython"},
                           {"executable", "/env/bin/python"},
                           {"torch", "2.5.1+cpu"},
                           {"cxx11Abi", false},
                           {"pythonTag", "cpython-311-x86_64-linux-gnu"},
                           {"includeDirs", {"/env/include"}},
                           {"libraryDirs", {"/env/lib"}},
                           {"environmentRoots", {"/env", "/usr/lib/python3.11"}}};

const json kFailure = {{"type", "failure"},
                       {"kind", "exception"},
                       {"stage", "warmup"},
                       {"message", "ZeroDivisionError: division by zero"},
                       {"frames", {{{"file", "a.py"}, {"line", 3}, {"function", "f"}, {"text", "1 / 0"}}}},
                       {"batchSize", 64}};

const json kResult = {{"type", "result"},
                      {"final", true},
                      {"batchSize", 32},
                      {"threads", 2},
                      {"threadSettings", {"OMP_WAIT_POLICY=passive"}},
                      {"inPlaceOf", "cuda"},
                      {"device",
                       {{"kind", "cuda"},
                        {"name", "H100"},
                        {"memoryBytes", 80'000'000'000},
                        {"availableBytes", 79'000'000'000},
                        {"allocatorConf", "expandable_segments:True"},
                        {"memoryFraction", 0.5}}},
                      {"lowMHz", 2000.5},
                      {"highMHz", 3500},
                      {"warnings", {"slow"}},
                      {"unusedGradients", {{{"parameter", "Net.head.weight"}, {"bytes", 4096}}}},
                      {"importedFiles", {"/project/entry.py", "/project/model.py"}},
                      {"code",
                       {{{"name", "nets"}, {"imported", true}, {"places", {"/env/nets"}}, {"similar", ""}},
                        {{"name", "nest"}, {"imported", false}, {"places", json::array()}, {"similar", "nets"}}}},
                      {"importedFilesComplete", true}};

/// One valid message of each kind.
const std::vector<json> kAll = {
    {{"type", "ready"}, {"environment", kEnvironment}},
    {{"type", "unusable"}, {"message", "no torch"}, {"python", "3.11.9"}, {"executable", "/bin/python3"}},
    {{"type", "agentLoaded"}},
    {{"type", "agentRefused"}, {"message", "undefined symbol"}},
    {{"type", "started"}, {"id", 7}, {"pid", 4321}, {"parent", 4320}},
    {{"type", "exited"}, {"id", 7}, {"status", 9}},
    {{"type", "progress"}, {"stage", "sample"}, {"fraction", 0.5}, {"message", "batch 8"}},
    {{"type", "recording"}, {"batchSize", 32}, {"bytes", 1ULL << 33U}, {"check", true}, {"warmupNs", {2.5e6, 2}}},
    kFailure,
    kResult,
    {{"type", "timed"}, {"batchSize", 32}, {"timesNs", {1.5e6, 2}}},
    {{"type", "skipped"},
     {"kind", "out-of-memory"},
     {"stage", "sample"},
     {"message", "it did not fit"},
     {"frames", json::array()},
     {"batchSize", 64}},
    {{"type", "warmed"}, {"batchSize", 8}, {"warmupNs", {2e6, 1e6}}},
    {{"type", "choose"},
     {"secondsLeft", 7.5},
     {"roundSeconds", 0.03},
     {"largestAffordable", 512},
     {"first", {16, 32, 64}},
     {"excluded", {128}},
     {"samples", {{{"batchSize", 16}, {"roundMediansNs", {1e6, 1.1e6}}}}}}};

template <typename T>
T parse_as(const json& message) {
  const auto parsed = parse_worker_message(message.dump());
  if (!parsed || !std::holds_alternative<T>(*parsed)) {
    ADD_FAILURE() << message.dump() << ": " << parsed.error().message();
    return {};
  }
  return std::get<T>(*parsed);
}

void expect_refused(std::string_view text) {
  const auto parsed = parse_worker_message(text);
  EXPECT_FALSE(parsed.has_value()) << text.substr(0, 200);
  EXPECT_NE(parsed.error().message(), "") << text.substr(0, 200);
}

TEST(WorkerMessages, ReadReady) {
  const WorkerEnvironment environment = parse_as<Ready>(kAll[0]).environment;
  EXPECT_EQ(environment.python, "3.11.9");
  EXPECT_EQ(environment.python_minor, 11);
  EXPECT_EQ(environment.torch, "2.5.1+cpu");
  EXPECT_FALSE(environment.cxx11_abi);
  EXPECT_EQ(environment.environment_roots.size(), 2U);
}

TEST(WorkerMessages, ReadWhatTheForkServerSays) {
  EXPECT_EQ(parse_as<Unusable>(kAll[1]).executable, "/bin/python3");
  EXPECT_EQ(parse_as<Unusable>(kAll[1]).python, "3.11.9");
  parse_as<AgentLoaded>(kAll[2]);
  EXPECT_EQ(parse_as<AgentRefused>(kAll[3]).message, "undefined symbol");
  EXPECT_EQ(parse_as<Started>(kAll[4]).run, 7);
  EXPECT_EQ(parse_as<Started>(kAll[4]).pid, 4321);
  EXPECT_EQ(parse_as<Started>(kAll[4]).parent, 4320);
  EXPECT_EQ(parse_as<Exited>(kAll[5]).status, 9);
}

TEST(WorkerMessages, ReadWhatIsAskedToChooseSizesFrom) {
  const json& message = kAll.back();
  const SizesAsked asked = parse_as<SizesAsked>(message);
  EXPECT_EQ(asked.seconds_left, 7.5);
  EXPECT_EQ(asked.largest_affordable, 512);
  EXPECT_EQ(asked.first, (std::vector<int>{16, 32, 64}));
  EXPECT_EQ(asked.excluded, (std::vector<int>{128}));
  ASSERT_EQ(asked.samples.size(), 1U);
  EXPECT_EQ(asked.samples[0].round_medians_ns, (std::vector<double>{1e6, 1.1e6}));
  const auto refuse = [&](const char* pointer, const json& value) {
    json changed = message;
    changed[json::json_pointer(pointer)] = value;
    expect_refused(changed.dump());
  };
  refuse("/secondsLeft", 0);
  refuse("/first/0", 0);
  refuse("/excluded/0", 1.5);
  refuse("/samples/0/batchSize", -1);
  refuse("/samples/0/roundMediansNs", json::array());
  refuse("/samples/0/roundMediansNs/0", -1e6);
  refuse("/samples/0/roundMediansNs", std::vector<double>(kMaxRounds + 1, 1e6));
  EXPECT_EQ(chosen_message({8, 128}), R"({"batchSizes":[8,128],"type":"chosen"})");
}

TEST(WorkerMessages, ReadTheEnergyOfAStep) {
  json message = kResult;
  EXPECT_FALSE(parse_as<RunResult>(message).energy.has_value());
  message["energy"] = {{"counters", {{{"name", "dram"}, {"of", "memory"}, {"joules", 2.5}, {"idleWatts", 1}}}},
                       {"joules", 2.5},
                       {"low", 2},
                       {"high", 3},
                       {"iterations", 12},
                       {"rounds", 6},
                       {"iterationMs", 80}};
  const std::optional<StepEnergy> energy = parse_as<RunResult>(message).energy;
  ASSERT_TRUE(energy.has_value());
  EXPECT_EQ(energy->counters[0].of, EnergyOf::kMemory);
  EXPECT_EQ(energy->counters[0].idle_watts, 1);
  EXPECT_EQ(energy->high, 3);
  const auto refuse = [&](const char* pointer, const json& value) {
    json changed = message;
    changed["energy"][json::json_pointer(pointer)] = value;
    expect_refused(changed.dump());
  };
  refuse("/counters", json::array());
  refuse("/counters/0/of", "fan");
  refuse("/counters/0/joules", -1);
  refuse("/iterations", 0);
  refuse("/iterationMs", 0);
}

TEST(WorkerMessages, ReadTheLengthOfABatch) {
  json message = kResult;
  EXPECT_FALSE(parse_as<RunResult>(message).length.has_value());
  message["length"] = {{"total", 1200}, {"unit", "tokens"}};
  const std::optional<BatchLength> length = parse_as<RunResult>(message).length;
  ASSERT_TRUE(length.has_value());
  EXPECT_EQ(length->total, 1200);
  EXPECT_EQ(length->unit, "tokens");
  for (const json& bad : {json{{"total", 0}, {"unit", "tokens"}}, json{{"total", 1}, {"unit", ""}}, json(1200),
                          json{{"total", 1}, {"unit", std::string(kMaxUnitBytes + 1, 'x')}}}) {
    message["length"] = bad;
    expect_refused(message.dump());
  }
}

TEST(WorkerMessages, ReadProgressAndRecording) {
  EXPECT_EQ(parse_as<Progress>(kAll[6]).fraction, 0.5);
  const auto announced = parse_as<RecordingAnnounced>(kAll[7]);
  EXPECT_EQ(announced.bytes, std::uint64_t{1} << 33U);
  EXPECT_TRUE(announced.check);
  EXPECT_EQ(announced.warmup_ns, (std::vector<double>{2.5e6, 2}));
}

TEST(WorkerMessages, ReadARoundAndASkippedBatchSize) {
  EXPECT_EQ(parse_as<Timed>(kAll[10]).batch_size, 32);
  EXPECT_EQ(parse_as<Timed>(kAll[10]).times_ns, (std::vector<double>{1.5e6, 2}));
  EXPECT_EQ(parse_as<SkippedBatch>(kAll[11]).failure.batch_size, 64);
}

TEST(WorkerMessages, BoundDurations) {
  json round = kAll[10];
  for (const json& times :
       {json::array(), json::array({0}), json::array({1, -1}), json(std::vector<int>(kMaxRound + 1, 1))}) {
    round["timesNs"] = times;
    expect_refused(round.dump());
  }
  round["timesNs"] = std::vector<int>(kMaxRound, 1);
  EXPECT_EQ(parse_as<Timed>(round).times_ns.size(), kMaxRound);
  round["batchSize"] = 0;
  expect_refused(round.dump());
}

TEST(WorkerMessages, ReadAFailureWithItsFrames) {
  const Failure failure = parse_as<Failure>(kFailure);
  EXPECT_EQ(failure.kind, FailureKind::kException);
  EXPECT_EQ(failure.batch_size, 64);
  ASSERT_EQ(failure.frames.size(), 1U);
  EXPECT_EQ(failure.frames[0].file, "a.py");
  EXPECT_EQ(failure.frames[0].line, 3);
  EXPECT_EQ(failure.frames[0].text, "1 / 0");
}

TEST(WorkerMessages, ReadThatAScriptRanOutOfMemoryAfterItsRecording) {
  const json sent = {{"type", "lateOutOfMemory"},
                     {"pid", 12},
                     {"batchSize", 8},
                     {"bytes", 0},
                     {"askedBytes", 100},
                     {"allocatedBytes", 2000},
                     {"reservedBytes", 3000},
                     {"failure", kFailure}};
  const auto late = parse_as<LateOutOfMemory>(sent);
  EXPECT_EQ(late.pid, 12);
  EXPECT_EQ(late.error.asked_bytes, 100U);
  EXPECT_FALSE(late.error.free_bytes.has_value());
  EXPECT_EQ(late.error.allocated_bytes, 2000U);
  EXPECT_EQ(late.failure.frames.at(0).line, 3);
  json without = sent;
  without.erase("failure");
  EXPECT_FALSE(parse_worker_message(without.dump()).has_value());
}

TEST(WorkerMessages, ReadAFailureWithoutABatchSize) {
  json failure = kFailure;
  failure.erase("batchSize");
  EXPECT_FALSE(parse_as<Failure>(failure).batch_size.has_value());
}

TEST(WorkerMessages, ReadAResult) {
  const RunResult result = parse_as<RunResult>(kResult);
  EXPECT_EQ(result.batch_size, 32);
  EXPECT_EQ(result.in_place_of, "cuda");
  EXPECT_EQ(result.thread_settings, std::vector<std::string>{"OMP_WAIT_POLICY=passive"});
  EXPECT_EQ(result.device.kind, "cuda");
  EXPECT_EQ(result.device.name, "H100");
  EXPECT_EQ(result.device.memory_bytes, 80'000'000'000U);
  EXPECT_EQ(result.warnings, std::vector<std::string>{"slow"});
  EXPECT_TRUE(result.is_final);
  EXPECT_EQ(result.imported_files, (std::vector<std::string>{"/project/entry.py", "/project/model.py"}));
  EXPECT_TRUE(result.imported_files_complete);
}

TEST(WorkerMessages, BoundTheImportedFiles) {
  json result = kResult;
  result["importedFiles"] = std::vector<std::string>(4096, "/a.py");
  EXPECT_EQ(parse_as<RunResult>(result).imported_files.size(), 4096U);
  result["importedFiles"].push_back("/b.py");
  expect_refused(result.dump());
}

TEST(WorkerMessages, WarningsAreBounded) {
  json many = kResult;
  many["warnings"] = std::vector<std::string>(100, std::string(10'000, 'x'));
  const RunResult result = parse_as<RunResult>(many);
  EXPECT_EQ(result.warnings.size(), kMaxWarnings);
  EXPECT_EQ(result.warnings[0].size(), kMaxWarningBytes);
}

TEST(WorkerMessages, IgnoreFieldsTheyDoNotKnow) {
  json message = kAll[4];
  message["newer"] = {1, 2, 3};
  EXPECT_EQ(parse_as<Started>(message).pid, 4321);
}

TEST(WorkerMessages, AreRefusedWithoutAField) {
  for (const json& message : kAll) {
    for (const auto& [name, value] : message.items()) {
      json damaged = message;
      damaged.erase(name);
      if (name != "batchSize" || message.at("type") != "failure") {
        expect_refused(damaged.dump());
      }
    }
  }
  for (const auto& [name, value] : kEnvironment.items()) {
    json damaged = kAll[0];
    damaged["environment"].erase(name);
    expect_refused(damaged.dump());
  }
}

/// Swaps every value, at any depth, for one of another type: refused or read, but never thrown out of.
void swap_types(const json& message, const json::json_pointer& at) {
  const json& value = message.at(at);
  for (const json& other :
       {json(nullptr), json(true), json(1.5), json(-1), json("text"), json::array({1}), json::object({{"a", 1}})}) {
    json damaged = message;
    damaged.at(at) = other;
    const bool accepted = parse_worker_message(damaged.dump()).has_value();
    const bool numbers = value.is_number() && (other.is_number() || other.is_boolean());
    if (!numbers && other.type() != value.type()) {
      EXPECT_FALSE(accepted) << damaged.dump();
    }
  }
  if (value.is_structured()) {
    for (const auto& [name, child] : value.items()) {
      swap_types(message, at / json::json_pointer("/" + name));
    }
  }
}

TEST(WorkerMessages, AreRefusedWithAnotherType) {
  for (const json& message : kAll) {
    for (const auto& [name, value] : message.items()) {
      swap_types(message, json::json_pointer("/" + name));
    }
  }
}

TEST(WorkerMessages, AreRefusedUnderAnUnknownName) {
  expect_refused(R"({"type":"selfDestruct"})");
  expect_refused(R"({"type":"Ready"})");
  expect_refused(R"({})");
}

TEST(WorkerMessages, AreRefusedWhenTheyAreNotJson) {
  for (const std::string_view text : {"", " ", "{", "nul", "\"ready\"", "[]", "42", "{\"type\":}",
                                      "{\"type\":\"ready\"}x", "\xff\xfe", "{\"type\":\"\xc3\x28\"}"}) {
    expect_refused(text);
  }
  expect_refused(std::string_view("\0\0\0", 3));
}

TEST(WorkerMessages, AreRefusedAtEveryCut) {
  const std::string whole = kResult.dump();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    expect_refused(std::string_view(whole).substr(0, length));
  }
}

TEST(WorkerMessages, SurviveDepthAndSize) {
  const std::size_t depth = ridgeline::testing::rounds(500'000U, 50'000U);
  expect_refused(std::string(4 * depth, '['));
  std::string deep(depth, '[');
  deep.append(depth, ']');
  expect_refused(deep);
  expect_refused(R"({"type":"progress","stage":"s","message":"m","fraction":)" + deep + "}");
  json large = kAll[6];
  large["message"] = std::string(8 * depth, 'x');
  EXPECT_EQ(parse_as<Progress>(large).message.size(), 8 * depth);
}

TEST(WorkerMessages, SurviveNumbersOutOfRange) {
  for (const char* number : {"1e400", "-1e400", "99999999999999999999999999", "1e300", "-1", "2147483648", "0.5"}) {
    const std::string text = std::string(R"({"type":"started","id":1,"parent":1,"pid":)") + number + "}";
    parse_worker_message(text);
    const std::string bytes =
        std::string(R"({"type":"recording","batchSize":1,"check":false,"warmupNs":[1],"bytes":)") + number + "}";
    parse_worker_message(bytes);
  }
}

const json kJoined = {{"type", "joined"},
                      {"environment", kEnvironment},
                      {"process",
                       {{"pid", 4711},
                        {"rank", 1},
                        {"ranks", 2},
                        {"localRanks", 2},
                        {"folder", "/home/me"},
                        {"script", "/home/me/train.py"}}}};

TEST(JoinedMessage, HoldsTheProcess) {
  const auto message = parse_worker_message(kJoined.dump());
  ASSERT_TRUE(message.has_value()) << message.error().message();
  const auto& joined = std::get<Joined>(*message);
  EXPECT_EQ(joined.environment.torch, "2.5.1+cpu");
  EXPECT_EQ(joined.pid, 4711);
  EXPECT_EQ(joined.rank, 1);
  EXPECT_EQ(joined.ranks, 2);
  EXPECT_EQ(joined.folder, "/home/me");
  EXPECT_EQ(joined.script, "/home/me/train.py");
}

TEST(ReadyToRecordMessage, HoldsTheStepsOfARank) {
  const json sent = {{"type", "readyToRecord"}, {"step", 20}, {"stepNs", 5e6}, {"steps", 8}};
  const auto message = parse_worker_message(sent.dump());
  ASSERT_TRUE(message.has_value()) << message.error().message();
  const auto& ready = std::get<ReadyToRecord>(*message);
  EXPECT_EQ(ready.step, 20);
  EXPECT_EQ(ready.step_ns, 5e6);
  EXPECT_EQ(ready.steps, 8);
  EXPECT_FALSE(ready.ends);
  json measured = sent;
  measured["ends"] = true;
  EXPECT_TRUE(std::get<ReadyToRecord>(*parse_worker_message(measured.dump())).ends);
  for (const auto& [field, value] : std::map<std::string, json>{{"step", -1}, {"stepNs", 0}, {"steps", 0}}) {
    json damaged = sent;
    damaged[field] = value;
    EXPECT_FALSE(parse_worker_message(damaged.dump()).has_value()) << field;
  }
}

TEST(RecordStepsMessage, HoldsTheDecision) {
  const json message = json::parse(record_steps_message({28, 8, true}));
  EXPECT_EQ(message, json({{"type", "recordSteps"}, {"first", 28}, {"steps", 8}, {"asksAgain", true}}));
}

const json kCommunication = json::parse(R"({
  "type": "communication", "host": "node1", "steps": [41, 42],
  "groups": [{"name": "0", "backend": "gloo", "ranks": [0, 1]}],
  "calls": [[0, 10, "all_reduce", 4000, "float32"]],
  "pointToPoint": [["send", 0, 1, 7, 64, "float32"]],
  "waits": [[100, 200]],
  "buckets": [{"replica": 0, "index": 0, "bytes": 4000, "parameters": ["out.weight"],
               "sizes": [4000]}],
  "connections": [["a:1", "b:2"]],
  "messages": [[100, 200, 288230376319483904, 4000, 0, 1, 1, 512]],
  "warnings": []
})");

TEST(CommunicationMessage, HoldsWhatARankSends) {
  const auto message = parse_worker_message(kCommunication.dump());
  ASSERT_TRUE(message.has_value()) << message.error().message();
  const auto& trace = std::get<CommunicationTrace>(*message);
  EXPECT_EQ(trace.steps, (std::vector<std::int64_t>{41, 42}));
  EXPECT_EQ(trace.calls[0].kind, "all_reduce");
  EXPECT_EQ(trace.point_to_point[0].tag, 7U);
  EXPECT_EQ(trace.buckets[0].parameters, std::vector<std::string>{"out.weight"});
  EXPECT_EQ(trace.messages[0].slot, 288230376319483904U);
  EXPECT_TRUE(trace.messages[0].sent);
  EXPECT_EQ(trace.messages[0].position, 512);
}

TEST(CommunicationMessage, IsRefusedWithWhatCannotBe) {
  const auto refused = [](const char* pointer, const json& with) {
    json damaged = kCommunication;
    damaged[json::json_pointer(pointer)] = with;
    return !parse_worker_message(damaged.dump()).has_value();
  };
  EXPECT_TRUE(refused("/calls/0/0", 1)) << "there is one group";
  EXPECT_TRUE(refused("/messages/0/4", 1)) << "there is one connection";
  EXPECT_TRUE(refused("/messages/0/5", 4)) << "no such kind";
  EXPECT_TRUE(refused("/messages/0/1", 99)) << "it ends before it starts";
  EXPECT_TRUE(refused("/waits/0/1", 99));
  EXPECT_TRUE(refused("/groups/0/ranks/1", -1));
  EXPECT_TRUE(refused("/host", 3));
  json many = kCommunication;
  many["connections"] = json(std::vector<json>(kMaxConnections + 1, json::array({"a", "b"})));
  EXPECT_FALSE(parse_worker_message(many.dump()).has_value());
  for (const auto& [field, value] : kCommunication.items()) {
    json damaged = kCommunication;
    damaged.erase(field);
    EXPECT_FALSE(parse_worker_message(damaged.dump()).has_value()) << field;
  }
}

TEST(JoinedMessage, IsRefusedWithoutAnyOfItsFields) {
  for (const auto& [field, value] : kJoined["process"].items()) {
    json damaged = kJoined;
    damaged["process"].erase(field);
    EXPECT_FALSE(parse_worker_message(damaged.dump()).has_value()) << field;
    damaged["process"][field] = json::array();
    EXPECT_FALSE(parse_worker_message(damaged.dump()).has_value()) << field;
  }
}

TEST(JoinMessage, HoldsTheSpec) {
  const json message = json::parse(join_message(
      "/cache/agent.so",
      {"/project", 7, true, 2.5, {"nets"}, {StepEnd::kLine, "/project/train.py", 12}, {{32, 64}}, 1024, 64, true}));
  EXPECT_EQ(message["type"], "loadAgent");
  EXPECT_EQ(message["path"], "/cache/agent.so");
  const json options = {{"projectRoot", "/project"},
                        {"steps", 7},
                        {"stop", true},
                        {"timeBudgetSeconds", 2.5},
                        {"code", {"nets"}},
                        {"stepBoundary", {{"kind", "line"}, {"file", "/project/train.py"}, {"line", 12}}},
                        {"loaderSizes", json::array({{32, 64}})},
                        {"memoryLimitBytes", 1024},
                        {"batchSize", 64},
                        {"agreeSteps", true},
                        {"experiment", nullptr}};
  EXPECT_EQ(message["options"], options);
}

TEST(LoadAgentMessage, SurvivesAnyPath) {
  EXPECT_EQ(json::parse(load_agent_message("/cache/a b/\"x\".so")).at("path"), "/cache/a b/\"x\".so");
  EXPECT_EQ(json::parse(load_agent_message("/cache/\xff.so")).at("type"), "loadAgent");
}

TEST(RunMessage, HoldsTheSpec) {
  RunSpec spec;
  spec.entry = "/project/entry.py";
  spec.project_root = "/project";
  spec.batch_sizes = {8, 16};
  spec.time_budget_seconds = 2.5;
  spec.memory_limit_bytes = std::uint64_t{1} << 40U;
  spec.environment_roots = {"/env"};
  spec.device = "cpu";
  spec.code = {"nets"};
  const json message = json::parse(run_message(3, spec));
  EXPECT_EQ(message.at("type"), "run");
  EXPECT_EQ(message.at("id"), 3);
  EXPECT_EQ(message.at("spec").at("entry"), "/project/entry.py");
  EXPECT_EQ(message.at("spec").at("batchSizes"), json({8, 16}));
  EXPECT_EQ(message.at("spec").at("timeBudgetSeconds"), 2.5);
  EXPECT_EQ(message.at("spec").at("device"), "cpu");
  EXPECT_EQ(message.at("spec").at("memoryLimitBytes"), std::uint64_t{1} << 40U);
  EXPECT_EQ(message.at("spec").at("environmentRoots"), json({"/env"}));
  EXPECT_EQ(message.at("spec").at("code"), json({"nets"}));
}

TEST(ReplicaMessage, IsReadAndChecked) {
  const json sent = {{"type", "replica"},     {"gradients", {{"fc.weight", 4096, "float32"}}},
                     {"unusedParameters", 1}, {"buffers", {{"int64", 8}}},
                     {"ddpForwardNs", 1.5},   {"ddpBackwardNs", 0},
                     {"aloneNs", {5, 6}},     {"togetherNs", {{7, 8}, {9, 10}}},
                     {"disturbed", true},     {"chain", {{"fc", 640, true}, {"out", 0, false}}},
                     {"accumulateNs", 2.5}};
  const auto parsed = parse_worker_message(sent.dump());
  ASSERT_TRUE(parsed);
  const auto& replica = std::get<Replica>(*parsed);
  EXPECT_EQ(replica.gradients.front().name, "fc.weight");
  EXPECT_EQ(replica.gradients.front().bytes, 4096U);
  EXPECT_EQ(replica.buffers.at("int64"), 8U);
  EXPECT_EQ(replica.together_ns.at(1).at(0), 9);
  EXPECT_TRUE(replica.disturbed);
  EXPECT_EQ(replica.chain.front().path, "fc");
  EXPECT_EQ(replica.chain.front().output_bytes, 640U);
  EXPECT_TRUE(replica.chain.front().may_split);
  EXPECT_FALSE(replica.chain.back().may_split);
  EXPECT_EQ(replica.accumulate_ns, 2.5);
  const auto refused = [&](const char* name, const json& value) {
    json wrong = sent;
    wrong[name] = value;
    return !parse_worker_message(wrong.dump());
  };
  EXPECT_TRUE(refused("gradients", {{"fc.weight", -1, "float32"}}));
  EXPECT_TRUE(refused("gradients", {{"fc.weight"}}));
  EXPECT_TRUE(refused("ddpForwardNs", -1));
  EXPECT_TRUE(refused("accumulateNs", -1));
  EXPECT_TRUE(refused("chain", {{"fc", 640}}));
  EXPECT_TRUE(refused("chain", {{"fc", -1, true}}));
  EXPECT_TRUE(refused("chain", json(kMaxChain + 1, {"fc", 640, true})));
  EXPECT_TRUE(refused("aloneNs", json::array({0})));
  EXPECT_TRUE(refused("togetherNs", json::array()));
}

TEST(CapturedMessage, HasRequestsOfMemoryThatReferToEarlierOnes) {
  const json operations = {{"keys", {"k"}}, {"names", {"aten::relu"}}, {"modules", {""}}, {"sequence", {0, 0, 0, 0}}};
  const json sent = {{"type", "captured"},
                     {"change", 1},
                     {"operations", operations},
                     {"peakBytes", {100, 0, 0}},
                     {"hostNs", {5}},
                     {"pageFaultNs", json::array()},
                     {"aliveBytes", {0, 0, 100}},
                     {"aliveBefore", {9}},
                     {"batchSize", 8},
                     {"requests", {64, 32, -1, 16, -3}}};
  const auto parsed = parse_worker_message(sent.dump());
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(std::get<Captured>(*parsed).requests, (std::vector<std::int64_t>{64, 32, ~0, 16, ~2}));
  const auto refused = [&](const json& requests) {
    json wrong = sent;
    wrong["requests"] = requests;
    return !parse_worker_message(wrong.dump());
  };
  EXPECT_FALSE(refused(json::array()));
  EXPECT_TRUE(refused({64, -2})) << "of a request that was not made";
  EXPECT_TRUE(refused({0}));
  EXPECT_TRUE(refused({kMaxRequestBytes + 1}));
  EXPECT_TRUE(refused({"64"}));
  EXPECT_TRUE(refused(json(kMaxMemoryRequests + 1, 1)));
}

}  // namespace
}  // namespace ridgeline::protocol
