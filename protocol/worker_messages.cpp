#include "protocol/worker_messages.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "protocol/json_fields.h"

namespace ridgeline::protocol {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxImportedFiles = 4096;

/// The elements of an array; throws when the field is missing or anything else.
const json::array_t& array_at(const json& value, const char* name) {
  return value.at(name).get_ref<const json::array_t&>();
}

WorkerEnvironment environment_from(const json& value) {
  WorkerEnvironment environment;
  value.at("python").get_to(environment.python);
  environment.python_minor = member<int>(value, "pythonMinor");
  value.at("implementation").get_to(environment.implementation);
  value.at("executable").get_to(environment.executable);
  value.at("torch").get_to(environment.torch);
  value.at("cxx11Abi").get_to(environment.cxx11_abi);
  value.at("pythonTag").get_to(environment.python_tag);
  value.at("includeDirs").get_to(environment.include_dirs);
  value.at("libraryDirs").get_to(environment.library_dirs);
  value.at("environmentRoots").get_to(environment.environment_roots);
  environment.energy_counters = value.value("energyCounters", std::vector<std::string>());
  environment.energy_problem = value.value("energyProblem", std::string());
  return environment;
}

Failure failure_from(const json& value) {
  Failure failure;
  const auto name = value.at("kind").get<std::string>();
  const std::optional<FailureKind> kind = failure_kind_named(name);
  if (!kind.has_value()) {
    throw std::invalid_argument("no failure is called \"" + name + "\"");
  }
  failure.kind = *kind;
  value.at("stage").get_to(failure.stage);
  value.at("message").get_to(failure.message);
  for (const json& frame : array_at(value, "frames")) {
    failure.frames.push_back({frame.at("file").get<std::string>(), member<int>(frame, "line"),
                              frame.at("function").get<std::string>(), frame.at("text").get<std::string>()});
  }
  if (value.contains("batchSize")) {
    failure.batch_size = member<int>(value, "batchSize");
  }
  return failure;
}

OutOfMemoryAnnounced out_of_memory_from(const json& value) {
  return {member<int>(value, "batchSize"),
          member<std::uint64_t>(value, "bytes"),
          optional_member<std::uint64_t>(value, "askedBytes"),
          optional_member<std::uint64_t>(value, "freeBytes"),
          member<std::uint64_t>(value, "reservedBytes"),
          optional_member<std::uint64_t>(value, "allocatedBytes").value_or(0)};
}

/// Durations: as many as allowed, at least one, all positive.
std::vector<double> times_from(const json& value, const char* name, std::size_t most) {
  auto times = value.at(name).get<std::vector<double>>();
  if (times.empty() || times.size() > most || !std::ranges::all_of(times, [](double ns) { return ns > 0; })) {
    throw std::invalid_argument(std::string(name) + ": not durations");
  }
  return times;
}

int batch_size_from(const json& value) {
  const int size = member<int>(value, "batchSize");
  if (size < 1) {
    throw std::invalid_argument("batchSize: not positive");
  }
  return size;
}

SkippedBatch skipped_from(const json& value) {
  SkippedBatch skipped{failure_from(value)};
  skipped.failure.batch_size = batch_size_from(value);
  return skipped;
}

NamedPackage package_from(const json& value) {
  NamedPackage package;
  value.at("name").get_to(package.name);
  value.at("imported").get_to(package.imported);
  value.at("similar").get_to(package.similar);
  for (const json& place : array_at(value, "places")) {
    if (package.places.size() < kMaxPackagePlaces) {
      package.places.push_back(place.get<std::string>());
    }
  }
  return package;
}

RunResult result_from(const json& value) {
  RunResult result;
  value.at("final").get_to(result.is_final);
  result.batch_size = batch_size_from(value);
  result.threads = member<int>(value, "threads");
  for (const json& setting : array_at(value, "threadSettings")) {
    if (result.thread_settings.size() < kMaxThreadSettings) {
      result.thread_settings.push_back(setting.get<std::string>());
    }
  }
  value.at("inPlaceOf").get_to(result.in_place_of);
  value.at("lowMHz").get_to(result.low_mhz);
  value.at("highMHz").get_to(result.high_mhz);
  if (value.contains("othersUsed") && !value.at("othersUsed").is_null()) {
    result.others_used = value.at("othersUsed").get<double>();
  }
  result.processor_share = optional_member<double>(value, "processorShare");
  const json& device = value.at("device");
  result.device = {device.at("kind").get<std::string>(),          device.at("name").get<std::string>(),
                   member<std::uint64_t>(device, "memoryBytes"),  member<std::uint64_t>(device, "availableBytes"),
                   device.at("allocatorConf").get<std::string>(), device.at("memoryFraction").get<double>()};
  if (result.device.available_bytes > result.device.memory_bytes || !(result.device.memory_fraction >= 0) ||
      result.device.memory_fraction > 1) {
    throw std::invalid_argument("more of the device is available than it has");
  }
  for (const json& unused : array_at(value, "unusedGradients")) {
    if (result.unused_gradients.size() < kMaxUnusedGradients) {
      result.unused_gradients.push_back(
          {unused.at("parameter").get<std::string>(), member<std::uint64_t>(unused, "bytes")});
    }
  }
  for (const json& package : array_at(value, "code")) {
    if (result.code.size() < kMaxPackages) {
      result.code.push_back(package_from(package));
    }
  }
  if (array_at(value, "importedFiles").size() > kMaxImportedFiles) {
    throw std::invalid_argument("too many imported files");
  }
  value.at("importedFiles").get_to(result.imported_files);
  value.at("importedFilesComplete").get_to(result.imported_files_complete);
  if (value.contains("script")) {
    result.script = script_run_from(value.at("script"));
  }
  if (value.contains("length")) {
    result.length = batch_length_from(value.at("length"));
  }
  if (value.contains("energy")) {
    result.energy = step_energy_from(value.at("energy"));
  }
  for (const json& warning : array_at(value, "warnings")) {
    if (result.warnings.size() < kMaxWarnings) {
      result.warnings.push_back(warning.get<std::string>().substr(0, kMaxWarningBytes));
    }
  }
  return result;
}

std::vector<int> sizes_at(const json& value, const char* name) {
  std::vector<int> sizes;
  for (const json& size : array_at(value, name)) {
    sizes.push_back(value_as<int>(size));
    if (sizes.back() < 1 || sizes.size() > kMaxSizesListed) {
      throw std::invalid_argument(std::string(name) + " are not batch sizes");
    }
  }
  return sizes;
}

double positive_time(const json& value) {
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number <= 0) {
    throw std::invalid_argument("a time is not positive");
  }
  return number;
}

SizesAsked sizes_asked_from(const json& value) {
  SizesAsked asked{positive_time(value.at("secondsLeft")),
                   positive_time(value.at("roundSeconds")),
                   member<int>(value, "largestAffordable"),
                   sizes_at(value, "first"),
                   sizes_at(value, "excluded"),
                   {}};
  for (const json& sample : array_at(value, "samples")) {
    RoundTimes times{member<int>(sample, "batchSize"), {}};
    for (const json& median : array_at(sample, "roundMediansNs")) {
      times.round_medians_ns.push_back(positive_time(median));
    }
    if (times.batch_size < 1 || times.round_medians_ns.empty() || times.round_medians_ns.size() > kMaxRounds ||
        asked.samples.size() >= kMaxSizesListed) {
      throw std::invalid_argument("a sample has no times, or too many");
    }
    asked.samples.push_back(std::move(times));
  }
  return asked;
}

ReadyToRecord ready_from(const json& value) {
  const ReadyToRecord ready{member<std::int64_t>(value, "step"), positive_time(value.at("stepNs")),
                            member<int>(value, "steps"), value.value("ends", false)};
  if (ready.step < 0 || ready.steps < 1 || ready.steps > kMaxRecordedSteps) {
    throw std::invalid_argument("readyToRecord: not steps");
  }
  return ready;
}

WorkerMessage message_from(const json& value) {
  const auto type = value.at("type").get<std::string>();
  if (type == "ready") {
    return Ready{environment_from(value.at("environment"))};
  }
  if (type == "joined") {
    const json& process = value.at("process");
    return Joined{environment_from(value.at("environment")),
                  member<int>(process, "pid"),
                  member<int>(process, "rank"),
                  member<int>(process, "ranks"),
                  member<int>(process, "localRanks"),
                  process.at("folder").get<std::string>(),
                  process.at("script").get<std::string>()};
  }
  if (type == "unusable") {
    return Unusable{value.at("message").get<std::string>(), value.at("python").get<std::string>(),
                    value.at("executable").get<std::string>()};
  }
  if (type == "agentLoaded") {
    return AgentLoaded{};
  }
  if (type == "agentRefused") {
    return AgentRefused{value.at("message").get<std::string>()};
  }
  if (type == "started") {
    return Started{member<int>(value, "id"), member<int>(value, "pid"), member<int>(value, "parent")};
  }
  if (type == "exited") {
    return Exited{member<int>(value, "id"), member<int>(value, "status"), value.value("tooMany", "")};
  }
  if (type == "progress") {
    return Progress{value.at("stage").get<std::string>(), value.at("fraction").get<double>(),
                    value.at("message").get<std::string>()};
  }
  if (type == "recording") {
    return RecordingAnnounced{batch_size_from(value), member<std::uint64_t>(value, "bytes"),
                              value.at("check").get<bool>(), times_from(value, "warmupNs", kMaxWarmups)};
  }
  if (type == "outOfMemory") {
    return out_of_memory_from(value);
  }
  if (type == "lateOutOfMemory") {
    return LateOutOfMemory{member<int>(value, "pid"), out_of_memory_from(value), failure_from(value.at("failure"))};
  }
  if (type == "readyToRecord") {
    return ready_from(value);
  }
  if (type == "communication") {
    return communication_trace_from(value);
  }
  if (type == "warmed") {
    return Warmed{batch_size_from(value), times_from(value, "warmupNs", kMaxWarmups)};
  }
  if (type == "timed") {
    return Timed{batch_size_from(value), times_from(value, "timesNs", kMaxRound)};
  }
  if (type == "skipped") {
    return skipped_from(value);
  }
  if (type == "choose") {
    return sizes_asked_from(value);
  }
  if (type == "firstFigures") {
    return FirstFiguresOffered{};
  }
  if (type == "failure") {
    return failure_from(value);
  }
  if (type == "result") {
    return result_from(value);
  }
  if (type == "replica") {
    return replica_from(value);
  }
  if (type == "stepListed") {
    return step_listed_from(value);
  }
  if (type == "captured") {
    return captured_from(value);
  }
  if (type == "operationBegins") {
    return operation_begins_from(value);
  }
  if (type == "operationTime") {
    return operation_timed_from(value);
  }
  if (type == "tried") {
    return tried_from(value);
  }
  if (type == "experimentEnded") {
    return experiment_ended_from(value);
  }
  throw std::invalid_argument("no message is called \"" + type + "\"");
}

}  // namespace

const TraceFrame* project_frame(const Failure& failure, const std::string& project_root) {
  const auto frame = std::find_if(failure.frames.rbegin(), failure.frames.rend(), [&](const TraceFrame& each) {
    return each.file.starts_with(project_root + "/") && each.file.find("/site-packages/") == std::string::npos;
  });
  return frame == failure.frames.rend() ? nullptr : &*frame;
}

base::Result<WorkerMessage> parse_worker_message(std::string_view text) {
  try {
    return message_from(json::parse(text));
  } catch (const std::exception& problem) {
    return base::error(problem.what());
  }
}

std::string load_agent_message(const std::string& path) {
  return json{{"type", "loadAgent"}, {"path", path}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string join_message(const std::string& agent_path, const JobSpec& spec) {
  const BoundaryRequest& boundary = spec.boundary;
  json sizes = json::array();
  for (const LoaderSize& size : spec.loader_sizes) {
    sizes.push_back({size.constructed, size.given});
  }
  const json options = {
      {"projectRoot", spec.project_root},
      {"steps", spec.steps},
      {"stop", spec.stop},
      {"timeBudgetSeconds", spec.time_budget_seconds},
      {"code", spec.code},
      {"stepBoundary",
       {{"kind", boundary.end.has_value() ? kStepEndNames.at(static_cast<std::size_t>(*boundary.end)) : ""},
        {"file", boundary.file},
        {"line", boundary.line}}},
      {"loaderSizes", std::move(sizes)},
      {"memoryLimitBytes", spec.memory_limit_bytes},
      {"batchSize", spec.batch_size},
      {"agreeSteps", spec.agree_steps},
      {"experiment", spec.experiment.has_value() ? experiment_json(*spec.experiment) : json()}};
  return json{{"type", "loadAgent"}, {"path", agent_path}, {"options", options}}.dump(-1, ' ', false,
                                                                                      json::error_handler_t::replace);
}

std::string record_steps_message(const RecordSteps& steps) {
  return json{{"type", "recordSteps"}, {"first", steps.first}, {"steps", steps.steps}, {"asksAgain", steps.asks_again}}
      .dump();
}

std::string not_recorded_message() { return json{{"type", "notRecorded"}}.dump(); }

std::string run_message(int run, const RunSpec& spec) {
  json overlay = json::object();
  for (const SourceText& source : spec.overlay) {
    overlay[source.path] = source.text;
  }
  json body = {{"entry", spec.entry},
               {"projectRoot", spec.project_root},
               {"batchSizes", spec.batch_sizes},
               {"checkSizes", spec.check_sizes},
               {"device", spec.device},
               {"timeBudgetSeconds", spec.time_budget_seconds},
               {"memoryLimitBytes", spec.memory_limit_bytes},
               {"environmentRoots", spec.environment_roots},
               {"finishWithinSeconds", spec.finish_within_seconds},
               {"code", spec.code},
               {"listOperations", spec.list_operations},
               {"firstFigures", spec.first_figures},
               {"overlay", std::move(overlay)}};
  if (spec.experiment.has_value()) {
    body["experiment"] = experiment_json(*spec.experiment);
  }
  return json{{"type", "run"}, {"id", run}, {"spec", body}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string chosen_message(const std::vector<int>& batch_sizes) {
  return json{{"type", "chosen"}, {"batchSizes", batch_sizes}}.dump();
}

std::string shown_message() { return json{{"type", "shown"}}.dump(); }

}  // namespace ridgeline::protocol
