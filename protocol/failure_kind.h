// Why a run ended without a profile: every kind of failure, in one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ridgeline::protocol {

/// docs/user/errors.md says of each what happened and what to do.
enum class FailureKind : std::uint8_t {
  kProviderMissing,
  kProviderDuplicate,
  kProviderInvalid,
  kBatchSizeMissing,
  kBatchSizeInvalid,
  kWrongModel,
  kWrongInputs,
  kWrongIteration,
  kException,
  kSyntaxError,
  kImportError,
  kExit,
  kNoCuda,
  kOutOfMemory,
  kTimeout,
  kProcessDied,
  kProcessReplaced,
  kProcessStopped,
  kMainThreadEnded,
  kNoTrainingStep,
  kTooManyProcesses,
  kChannelBroken,
  kRecordingTooLarge,
  kEntryUnreadable,
  kInterpreter,
  kNoTorch,
  kPythonUnsupported,
  kTorchUnsupported,
  kNoCompiler,
  kAgentBuildFailed,
  kAgentRefused,
  kAllocator,
  kCache,
  kResources,
  kWorkerDied,
  kWorkerProtocol,
  kCancelled,
  kInternalError,
  kSuperseded,
  kTrial,
  kNotTrusted
};
inline constexpr std::size_t kFailureKinds = static_cast<std::size_t>(FailureKind::kNotTrusted) + 1;

struct FailureKindInfo {
  FailureKind kind;
  std::string_view name;  ///< in messages, reports and diagnostics
  int exit_code;          ///< of a command; 0: happens in an editor only
  int lsp_code;           ///< of the response to a request for a profile: an ErrorCodes of the LSP
  std::uint8_t severity;  ///< of the diagnostic: a DiagnosticSeverity of the LSP; 0: none, it was ended on purpose
  bool output_explains;   ///< the last output of the process may explain it

  bool ended_on_purpose() const { return severity == 0; }
};

/// The row of a kind.
const FailureKindInfo& info_of(FailureKind kind);
inline std::string_view name_of(FailureKind kind) { return info_of(kind).name; }
/// Nothing for an unknown name.
std::optional<FailureKind> failure_kind_named(std::string_view name);

}  // namespace ridgeline::protocol
