// What a what-if answer asks of the interpreter, and what comes back: operations of changed steps, times of operations
// alone, and changed steps timed in turns with the unchanged one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::protocol {

/// Changes that are made together, in order; each `NAME` or `NAME:ARGUMENT`. Empty: the unchanged step.
using ChangeRequest = std::vector<std::string>;

struct Experiment {
  enum class Kind : std::uint8_t {
    kCapture,  ///< the operations of the unchanged step (always) and of each changed one; computes nothing large
    kMeasure,  ///< the time of each of `operations`; runs nothing of the user's
    kTry,      ///< times each changed step in turns with the unchanged one
    kReplica,  ///< what data-parallel training needs to know of one process
  };
  Kind kind = Kind::kCapture;
  std::vector<ChangeRequest> changes{};
  std::vector<std::string> operations{};  ///< keys, as ridgeline_runner/measure/operation_key.py has them
  double seconds = 10;                    ///< of measuring altogether; of trying, for each change
  int copies = 1;                         ///< of kReplica: of the step, that also run at once
  bool for_cuda = false;                  ///< of kCapture: with the operators of a CUDA device, on the host too
  bool on_host = false;                   ///< of kCapture: on the host, also where the code names a CUDA device
};

/// The phase of an operation in a step.
enum class StepPart : std::uint8_t { kForward, kBackward, kOptimizer };

inline constexpr std::size_t kStepParts = 3;

struct CapturedOperation {
  int key = -1;    ///< of CapturedStep::keys; -1: its arguments cannot be described
  int name = 0;    ///< of CapturedStep::names
  int module = 0;  ///< of CapturedStep::modules; in backward and in optimizers 0
  StepPart part = StepPart::kForward;
};

/// The operations of a step in order.
struct CapturedStep {
  std::vector<std::string> keys;     ///< each once
  std::vector<std::string> names;    ///< "aten::mm"
  std::vector<std::string> modules;  ///< dotted names of instances, without the model's class; 0 is empty
  std::vector<CapturedOperation> operations;
  /// Before each operation, since the one before it, while they were listed: of the host; empty: not observed.
  std::vector<double> host_ns{};
  /// For each operation in the step: the kernel's time to give it memory that its results are the first to use; empty:
  /// not observed.
  std::vector<double> page_fault_ns{};
  /// Bytes that were alive when each operation began; empty: not observed.
  std::vector<std::uint64_t> alive_bytes{};
};

/// How much memory was alive when an operation began: the most over its calls in a part of the step.
struct AliveBefore {
  StepPart part = StepPart::kForward;
  int key = 0;  ///< of CapturedStep::keys
  std::uint64_t bytes = 0;
};

/// Which operations on float32 a device that has TensorFloat-32 may compute in it: what torch was told. Unknown: all.
struct Tf32 {
  bool products = true;
  bool convolutions = true;
};

/// The operations of a profile's step, listed once it was measured.
struct StepListed {
  std::string reason;  ///< why they were not listed; then there is no step
  std::optional<CapturedStep> step;
  Tf32 tf32{};
};

struct Captured {
  int change = 0;                    ///< 0: the unchanged step; else one more than the index in Experiment::changes
  std::string reason;                ///< why the change does not apply; then there is nothing else
  std::optional<CapturedStep> step;  ///< absent also where a change's operations cannot be known without running it
  /// The allocator's peak, with weights and inputs, while each StepPart ran.
  std::array<std::uint64_t, kStepParts> peak_bytes{};
  std::vector<AliveBefore> alive;              ///< likewise
  int batch_size = 0;                          ///< samples of a step
  std::vector<std::string> changed_modules{};  ///< that changes of single modules were made to, such as checkpoint
  /// What was asked of the allocator from the moment before the step was built until it had run some times, in
  /// order: the bytes of a request, or ~i where the block of request i, counted from 0, was freed. What a script built
  /// before is taken as asked for in this order: what is trained, one step, what optimizers keep, two more steps. With
  /// Experiment::for_cuda, on the host, and of the device of a script's steps; else empty, as where there are more than
  /// kMaxMemoryRequests.
  std::vector<std::int64_t> requests{};
};

/// An operation is about to run for the first time: should the process die, that one did it.
struct OperationBegins {
  int operation = 0;  ///< of Experiment::operations
};

struct OperationTimed {
  int operation = 0;                        ///< of Experiment::operations
  std::vector<double> samples_ns;           ///< positive; empty: not measured
  std::string reason;                       ///< why it was not measured
  bool disturbed = false;                   ///< other processes took the processors away meanwhile
  std::optional<std::uint64_t> peak_bytes;  ///< that a call allocated at once, with its results; absent: not known
};

/// One change, timed in turns with the unchanged step.
struct Tried {
  int change = 0;                    ///< of Experiment::changes
  std::string reason;                ///< why it could not be tried; then there is nothing else
  std::vector<double> unchanged_ns;  ///< a median by round; as many as changed_ns, those of one round together
  std::vector<double> changed_ns;
  std::uint64_t unchanged_peak_bytes = 0;
  std::uint64_t changed_peak_bytes = 0;
  int unchanged_batch_size = 0;  ///< samples of a step
  int changed_batch_size = 0;
  /// The largest relative difference between the losses of the first steps; infinity: a loss is not a number any more.
  /// Absent: nothing to compare.
  std::optional<double> loss_drift;
  /// The same of the unchanged step with another seed: 0 where nothing in it is random. Absent: not known.
  std::optional<double> seed_drift{};
  /// Why both sides were timed in one process, although each should have had processes of its own; mostly empty.
  std::string together_because{};
  /// Steps that had run when torch.compile still compiled; 0: it had settled before steps were timed.
  int unchanged_unsettled_steps = 0;
  int changed_unsettled_steps = 0;
};

/// A gradient, at the end of its accumulation.
struct ReadyGradient {
  std::string name;
  std::uint64_t bytes = 0;
  std::string dtype;  ///< "float32"
};

/// One of the modules that follow each other in forward.
struct ChainModule {
  std::string path;
  std::uint64_t output_bytes = 0;  ///< 0: the output is not one tensor with a gradient
  bool may_split = false;          ///< its output is all that the modules behind it need of those until it
};

/// Modules that a chain has at most.
inline constexpr std::size_t kMaxChain = 1024;

/// The step of one process, for training of several.
struct Replica {
  std::vector<ChainModule> chain{};      ///< in the order of forward; empty: where the model can be split is not known
  std::vector<ReadyGradient> gradients;  ///< of one step as they became ready; of several backward passes, several
  int unused_parameters = 0;             ///< that get no gradient
  std::map<std::string, std::uint64_t> buffers;  ///< bytes by dtype
  /// What DistributedDataParallel takes of the host's time, in a group of one process, by part of the step; absent: not
  /// measured, as on devices.
  std::optional<double> ddp_forward_ns;
  std::optional<double> ddp_backward_ns;
  std::optional<double> accumulate_ns;  ///< to add all gradients to others; absent: not measured, as on devices
  std::vector<double> alone_ns;         ///< steps; empty: no copies were asked for
  std::vector<std::vector<double>> together_ns;  ///< by copy: steps while all ran
  bool disturbed = false;                        ///< other processes took the processors away meanwhile
};

struct ExperimentEnded {
  int threads = 0;          ///< inside operations
  std::string torch;        ///< its version
  std::string cuda_device;  ///< the current one; empty where the experiment used none
  // Of a script:
  std::vector<int> loader_sizes{};  ///< as ScriptRun::loader_sizes
  std::string sizes_obstacle{};     ///< as ScriptRun::sizes_obstacle
};

inline constexpr std::size_t kMaxChanges = 256;
inline constexpr std::size_t kMaxKeys = 65536;
inline constexpr std::size_t kMaxKeyBytes = std::size_t{1} << 18U;
inline constexpr std::size_t kMaxCapturedOperations = 200'000;
inline constexpr std::size_t kMaxMemoryRequests = 1U << 19U;
inline constexpr std::int64_t kMaxRequestBytes = std::int64_t{1} << 46U;
inline constexpr std::size_t kMaxTryRounds = 1024;
inline constexpr std::size_t kMaxOperationSamples = 64;
inline constexpr std::size_t kMaxGradients = 1U << 20U;
inline constexpr int kMaxCopies = 64;
inline constexpr std::size_t kMaxCopySteps = 4096;
inline constexpr std::size_t kMaxReasonBytes = 1024;

nlohmann::json experiment_json(const Experiment& experiment);

// From a message's JSON. They throw what parse_worker_message turns into an error.
StepListed step_listed_from(const nlohmann::json& message);
Captured captured_from(const nlohmann::json& message);
OperationBegins operation_begins_from(const nlohmann::json& message);
OperationTimed operation_timed_from(const nlohmann::json& message);
Tried tried_from(const nlohmann::json& message);
Replica replica_from(const nlohmann::json& message);
ExperimentEnded experiment_ended_from(const nlohmann::json& message);

}  // namespace ridgeline::protocol
