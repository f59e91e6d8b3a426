// The messages between the daemon and a worker, as values.
//
// On the control channel, to the fork server: loadAgent, run. From it: ready or unusable; agentLoaded or agentRefused;
// started, exited. A process of a job sends joined, is answered with loadAgent, and goes on as a run. On a run's own
// channel, from its child: progress, recording (its bytes follow), warmed, timed, choose, skipped; a result that is not
// final once the user's batch size is recorded, firstFigures after another one, and at last one that is, or failure; to
// it: chosen, the answer to choose, and shown, that to firstFigures; before the final result stepListed. A rank of a
// job asks with readyToRecord which steps all ranks record, is answered with recordSteps, and sends communication after
// its recording. A run that is an experiment sends progress, captured, operationBegins, operationTime, tried, and at
// last experimentEnded or failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "protocol/batch_length.h"
#include "protocol/communication_trace.h"
#include "protocol/experiment.h"
#include "protocol/failure_kind.h"
#include "protocol/script_run.h"
#include "protocol/step_energy.h"

namespace ridgeline::protocol {

/// What the worker's interpreter is: enough to build an agent for it.
struct WorkerEnvironment {
  std::string python;
  int python_minor = 0;
  std::string implementation;
  std::string executable;
  std::string torch;
  bool cxx11_abi = true;
  std::string python_tag;
  std::vector<std::string> include_dirs;
  std::vector<std::string> library_dirs;
  std::vector<std::string> environment_roots;
  std::vector<std::string> energy_counters{};  ///< of the processors, that it can read
  std::string energy_problem{};                ///< why it can read none, or not all; with the fix where there is one
};

struct Ready {
  WorkerEnvironment environment;
};
/// The interpreter cannot profile: no torch, most of the time.
struct Unusable {
  std::string message;
  std::string python;  ///< its version
  std::string executable;
};
/// A process of a job that has imported torch. Untrusted, as all that the user's processes send.
struct Joined {
  WorkerEnvironment environment;
  int pid = 0;
  int rank = 0;         ///< as the launcher numbered it
  int ranks = 0;        ///< 0: no launcher did
  int local_ranks = 0;  ///< of those, on this machine; 0 likewise
  std::string folder;
  std::string script;  ///< absolute; empty: unknown
};
struct AgentLoaded {};
struct AgentRefused {
  std::string message;
};
struct Started {
  int run = 0;
  int pid = 0;
  int parent = 0;  ///< the interpreter that was forked: not what the daemon started where that is a wrapper around it
};
struct Exited {
  int run = 0;
  int status = 0;        ///< as from wait(2)
  std::string too_many;  ///< what the run had too many of, when the parent ended it for that; else empty
};
struct Progress {
  std::string stage;
  double fraction = 0;
  std::string message;
};
/// Told how far something is; empty: nobody asked.
using ProgressHandler = std::function<void(const Progress&)>;
/// Told what a command or a script writes, as it comes; empty: nobody asked.
using OutputHandler = std::function<void(std::string_view)>;
struct RecordingAnnounced {
  int batch_size = 0;
  std::uint64_t bytes = 0;
  bool check = false;             ///< not for the models: to see how far off they are
  std::vector<double> warmup_ns;  ///< the iterations before it; 1 to kMaxWarmups
};
/// The user's batch size does not fit. The recording of the step up to the error is on its way, if it was run.
struct OutOfMemoryAnnounced {
  int batch_size = 0;                        ///< 0: a script's that is not known yet
  std::uint64_t bytes = 0;                   ///< of the recording; 0: there is none
  std::optional<std::uint64_t> asked_bytes;  ///< that were not to be had, as the error says
  std::optional<std::uint64_t> free_bytes;   ///< that the device had, likewise
  std::uint64_t reserved_bytes = 0;          ///< by the device's caching allocator; 0: there is none
  std::uint64_t allocated_bytes = 0;         ///< of the device, as the error says; 0: it does not
};
/// A batch size that has no recording: it is only timed, for the models.
struct Warmed {
  int batch_size = 0;
  std::vector<double> warmup_ns;  ///< 1 to kMaxWarmups
};
/// One round of bare iterations. The rounds of a batch size are of equal length, up to kMaxRound.
struct Timed {
  int batch_size = 0;
  std::vector<double> times_ns;
};
inline constexpr std::size_t kMaxWarmups = 1024;
inline constexpr std::size_t kMaxRound = 1024;

/// How long a batch size took so far, for choosing others.
struct RoundTimes {
  int batch_size = 0;
  std::vector<double> round_medians_ns;  ///< positive; 1 to kMaxRounds
};
/// The runner asks which batch sizes to time beside those that it has timed; `chosen_message` answers.
struct SizesAsked {
  double seconds_left = 0;   ///< of the time budget
  double round_seconds = 0;  ///< a round of timing takes at least so long
  int largest_affordable = 0;
  std::vector<int> first;     ///< timed before anything was chosen
  std::vector<int> excluded;  ///< failed, or kept out of the models
  std::vector<RoundTimes> samples;
};
/// The user's batch size is recorded, and what was measured of it can be shown; `shown_message` answers.
struct FirstFiguresOffered {};
inline constexpr std::size_t kMaxRounds = 1024;
inline constexpr std::size_t kMaxSizesListed = 4096;

struct TraceFrame {
  std::string file;
  int line = 0;
  std::string function;
  std::string text;
};
/// A rank is warm, and asks which steps it is to record; or it is measured, and asks with which step it is to end.
struct ReadyToRecord {
  std::int64_t step = 0;  ///< how many steps it has taken
  double step_ns = 0;     ///< positive
  int steps = 0;          ///< that it would record; 1 to kMaxRecordedSteps
  bool ends = false;      ///< it is measured
};
inline constexpr int kMaxRecordedSteps = 1 << 20;
/// The answer: `steps` steps from the one on that has the number `first`; or the end once so many steps were taken.
struct RecordSteps {
  std::int64_t first = 0;
  int steps = 0;
  bool asks_again = true;  ///< where the answer comes after that step has begun
};

/// Why there is no profile.
struct Failure {
  FailureKind kind = FailureKind::kInternalError;
  std::string stage;
  std::string message;
  std::vector<TraceFrame> frames;  ///< outermost first
  std::optional<int> batch_size;
};

/// A script has ended with that error after its step was recorded. The only message of its connection.
struct LateOutOfMemory {
  int pid = 0;  ///< of a process that has joined
  OutOfMemoryAnnounced error;
  Failure failure;  ///< the same error
};

/// The innermost frame in a file of the project; null: there is none.
const TraceFrame* project_frame(const Failure& failure, const std::string& project_root);

/// A failure that the daemon itself finds: no frames, no batch size.
inline Failure failure_of(FailureKind kind, std::string stage, std::string message) {
  return {kind, std::move(stage), std::move(message), {}, std::nullopt};
}

/// A batch size that did not run, while others did.
struct SkippedBatch {
  Failure failure;  ///< with its batch size
};

/// A parameter that got a gradient in every iteration, while nothing changed it in any.
struct UnusedGradient {
  std::string parameter;
  std::uint64_t bytes = 0;
};
/// The device that the model was on.
struct RunDevice {
  std::string kind;  ///< "cuda"; empty: the host, of which the rest says nothing
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;  ///< of those: less what the context, libraries and other processes hold
  std::string allocator_conf;         ///< of the caching allocator, as PYTORCH_ALLOC_CONF
  double memory_fraction = 1;         ///< torch.cuda.set_per_process_memory_fraction()
};
/// What a package that was asked for is in the process.
struct NamedPackage {
  std::string name;  ///< as it was asked for
  bool imported = false;
  std::vector<std::string> places;  ///< absolute: folders and files with Python code; at most kMaxPackagePlaces
  std::string similar;              ///< a name that was imported, when this one was not; mostly empty
};
inline constexpr std::size_t kMaxPackages = 64;
inline constexpr std::size_t kMaxPackagePlaces = 256;
struct RunResult {
  bool is_final = false;  ///< else it was sent before the timing, for a run that is cut short
  int batch_size = 0;     ///< the user's, or the first of its halves that fits
  int threads = 0;
  double low_mhz = 0;  ///< slowest and fastest clock of the processors while the step was timed; 0: unknown
  double high_mhz = 0;
  std::optional<double> others_used;  ///< processors that others used meanwhile, where that left too few; else absent
  std::optional<double> processor_share;       ///< of those that the process may use, while the step was timed
  std::vector<std::string> thread_settings{};  ///< "OMP_WAIT_POLICY=passive", sorted; at most kMaxThreadSettings
  std::string in_place_of;  ///< device that the code asked for and the CPU stood in for; mostly empty
  RunDevice device;
  std::vector<std::string> warnings;             ///< what a reader of the figures must know; at most kMaxWarnings
  std::vector<UnusedGradient> unused_gradients;  ///< at most kMaxUnusedGradients
  std::vector<NamedPackage> code;                ///< those of RunSpec::code or JobSpec::code; at most kMaxPackages
  /// The user's own files that were imported, the entry file first, those of `code`, and the one that holds torch's
  /// version.
  std::vector<std::string> imported_files;
  bool imported_files_complete = false;  ///< there was no file that could not be named
  std::optional<ScriptRun> script;       ///< of a job's process; else absent
  std::optional<StepEnergy> energy;      ///< absent: no counter could be read, or it is a job's process
  std::optional<BatchLength> length;     ///< of the inputs of batch_size; absent: there is no length_provider
};
inline constexpr std::size_t kMaxThreadSettings = 32;
inline constexpr std::size_t kMaxUnusedGradients = 4096;
inline constexpr std::size_t kMaxWarnings = 16;
inline constexpr std::size_t kMaxWarningBytes = 4096;

using WorkerMessage =
    std::variant<Ready, Unusable, Joined, AgentLoaded, AgentRefused, Started, Exited, Progress, RecordingAnnounced,
                 OutOfMemoryAnnounced, LateOutOfMemory, ReadyToRecord, CommunicationTrace, Warmed, Timed, SizesAsked,
                 FirstFiguresOffered, SkippedBatch, Failure, RunResult, StepListed, Captured, OperationBegins,
                 OperationTimed, Tried, Replica, ExperimentEnded>;

/// A message of the worker. Never throws.
base::Result<WorkerMessage> parse_worker_message(std::string_view json);

/// The text of a file as an editor holds it. UTF-8.
struct SourceText {
  std::string path;  ///< absolute, real
  std::string text;
};
/// All texts of an overlay together: a message has room for them, escaped.
inline constexpr std::size_t kMaxOverlayBytes = std::size_t{4} << 20U;

/// What a run does.
struct RunSpec {
  std::string entry;             ///< absolute
  std::string project_root;      ///< absolute
  std::vector<int> batch_sizes;  ///< empty: chosen by the runner
  double time_budget_seconds = 10;
  std::uint64_t memory_limit_bytes = 0;
  std::vector<std::string> environment_roots;
  std::string device{};                    ///< "cpu": also where the code asks for CUDA; empty: what the code asks for
  std::vector<int> check_sizes{};          ///< run too, and kept out of the models
  std::vector<SourceText> overlay{};       ///< run instead of what the files hold; at most kMaxOverlayBytes
  double finish_within_seconds = 0;        ///< what does not fit is left out; 0: everything is measured
  std::vector<std::string> code{};         ///< packages whose lines are counted, too; by import name
  bool list_operations = true;             ///< one iteration more, after everything was measured
  bool first_figures = false;              ///< the runner offers them where the run takes long: FirstFiguresOffered
  std::optional<Experiment> experiment{};  ///< instead of a profile
};

/// Where a script's steps end, as the user asked for. Neither: it is found.
struct BoundaryRequest {
  std::optional<StepEnd> end;
  std::string file;  ///< of kLine: absolute
  int line = 0;      ///< likewise, from 1
};

/// Data loaders that are constructed with one batch size, and the one that they are given instead.
struct LoaderSize {
  int constructed = 0;
  int given = 0;
};

/// How the steps of a script are recorded.
struct JobSpec {
  std::string project_root;
  int steps = 0;      ///< to record; 0: as many as a profile would
  bool stop = false;  ///< the script ends after what was recorded and timed
  double time_budget_seconds = 10;
  std::vector<std::string> code{};  ///< as RunSpec::code
  BoundaryRequest boundary{};
  std::vector<LoaderSize> loader_sizes{};  ///< not empty: the script runs again, at another batch size
  std::uint64_t memory_limit_bytes = 0;    ///< of each process of a further run; 0: none
  int batch_size = 0;                      ///< samples of a step, where the user says so; else 0
  bool agree_steps = false;                ///< the process asks which steps to record: ReadyToRecord
  std::optional<Experiment> experiment{};  ///< instead of a recording, in a further run; kCapture or kTry
};

std::string load_agent_message(const std::string& path);
/// The answer to Joined.
std::string join_message(const std::string& agent_path, const JobSpec& spec);
std::string record_steps_message(const RecordSteps& steps);
/// The answer to Joined of a process that is not recorded.
std::string not_recorded_message();
std::string run_message(int run, const RunSpec& spec);
std::string chosen_message(const std::vector<int>& batch_sizes);
/// The first figures are shown, or cannot be.
std::string shown_message();

}  // namespace ridgeline::protocol
