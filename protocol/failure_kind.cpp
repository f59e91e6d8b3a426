#include "protocol/failure_kind.h"

#include <algorithm>
#include <array>

#include "protocol/json_rpc.h"
#include "protocol/lsp.h"

namespace ridgeline::protocol {

namespace {

using error_code::kRequestCancelled;
using error_code::kRequestFailed;
constexpr auto kError = static_cast<std::uint8_t>(DiagnosticSeverity::kError);
constexpr std::uint8_t kNoDiagnostic = 0;

constexpr std::array<FailureKindInfo, kFailureKinds> kTable{{
    {FailureKind::kProviderMissing, "provider-missing", 1, kRequestFailed, kError, false},
    {FailureKind::kProviderDuplicate, "provider-duplicate", 1, kRequestFailed, kError, false},
    {FailureKind::kProviderInvalid, "provider-invalid", 1, kRequestFailed, kError, false},
    {FailureKind::kBatchSizeMissing, "batch-size-missing", 1, kRequestFailed, kError, false},
    {FailureKind::kBatchSizeInvalid, "batch-size-invalid", 1, kRequestFailed, kError, false},
    {FailureKind::kWrongModel, "wrong-model", 1, kRequestFailed, kError, false},
    {FailureKind::kWrongInputs, "wrong-inputs", 1, kRequestFailed, kError, false},
    {FailureKind::kWrongIteration, "wrong-iteration", 1, kRequestFailed, kError, false},
    {FailureKind::kException, "exception", 1, kRequestFailed, kError, false},
    {FailureKind::kSyntaxError, "syntax-error", 1, kRequestFailed, kError, false},
    {FailureKind::kImportError, "import-error", 1, kRequestFailed, kError, false},
    {FailureKind::kExit, "exit", 1, kRequestFailed, kError, true},
    {FailureKind::kNoCuda, "no-cuda", 1, kRequestFailed, kError, false},
    {FailureKind::kOutOfMemory, "out-of-memory", 1, kRequestFailed, kError, false},
    {FailureKind::kTimeout, "timeout", 1, kRequestFailed, kError, true},
    {FailureKind::kProcessDied, "process-died", 1, kRequestFailed, kError, true},
    {FailureKind::kProcessReplaced, "process-replaced", 1, kRequestFailed, kError, true},
    {FailureKind::kProcessStopped, "process-stopped", 1, kRequestFailed, kError, true},
    {FailureKind::kMainThreadEnded, "main-thread-ended", 1, kRequestFailed, kError, false},
    {FailureKind::kNoTrainingStep, "no-training-step", 1, kRequestFailed, kError, false},
    {FailureKind::kTooManyProcesses, "too-many-processes", 1, kRequestFailed, kError, false},
    {FailureKind::kChannelBroken, "channel-broken", 1, kRequestFailed, kError, false},
    {FailureKind::kRecordingTooLarge, "recording-too-large", 1, kRequestFailed, kError, false},
    {FailureKind::kEntryUnreadable, "entry-unreadable", 2, kRequestFailed, kError, false},
    {FailureKind::kInterpreter, "interpreter", 3, kRequestFailed, kError, false},
    {FailureKind::kNoTorch, "no-torch", 3, kRequestFailed, kError, false},
    {FailureKind::kPythonUnsupported, "python-unsupported", 3, kRequestFailed, kError, false},
    {FailureKind::kTorchUnsupported, "torch-unsupported", 3, kRequestFailed, kError, false},
    {FailureKind::kNoCompiler, "no-compiler", 3, kRequestFailed, kError, false},
    {FailureKind::kAgentBuildFailed, "agent-build-failed", 3, kRequestFailed, kError, false},
    {FailureKind::kAgentRefused, "agent-refused", 3, kRequestFailed, kError, false},
    {FailureKind::kAllocator, "allocator", 3, kRequestFailed, kError, false},
    {FailureKind::kCache, "cache", 3, kRequestFailed, kError, false},
    {FailureKind::kResources, "resources", 3, kRequestFailed, kError, false},
    {FailureKind::kWorkerDied, "worker-died", 3, kRequestFailed, kError, true},
    {FailureKind::kWorkerProtocol, "worker-protocol", 3, kRequestFailed, kError, false},
    {FailureKind::kCancelled, "cancelled", 130, kRequestCancelled, kNoDiagnostic, false},
    {FailureKind::kInternalError, "internal-error", 0, kRequestFailed, kError, false},
    {FailureKind::kSuperseded, "superseded", 0, kRequestFailed, kNoDiagnostic, false},
    {FailureKind::kTrial, "trial", 0, kRequestFailed, kError, false},
    {FailureKind::kNotTrusted, "not-trusted", 0, kRequestFailed, kNoDiagnostic, false},
}};

static_assert(std::ranges::is_sorted(kTable, {}, &FailureKindInfo::kind), "a row stands at the place of its kind");

}  // namespace

const FailureKindInfo& info_of(FailureKind kind) { return kTable.at(static_cast<std::size_t>(kind)); }

std::optional<FailureKind> failure_kind_named(std::string_view name) {
  const auto* const row = std::ranges::find(kTable, name, &FailureKindInfo::name);
  return row == kTable.end() ? std::nullopt : std::optional(row->kind);
}

}  // namespace ridgeline::protocol
