#include "protocol/failure_kind.h"

#include <algorithm>
#include <array>

namespace ridgeline::protocol {

namespace {

constexpr std::array<FailureKindInfo, kFailureKinds> kTable{{
    {FailureKind::kProviderMissing, "provider-missing", 1, false, false},
    {FailureKind::kProviderDuplicate, "provider-duplicate", 1, false, false},
    {FailureKind::kProviderInvalid, "provider-invalid", 1, false, false},
    {FailureKind::kBatchSizeMissing, "batch-size-missing", 1, false, false},
    {FailureKind::kBatchSizeInvalid, "batch-size-invalid", 1, false, false},
    {FailureKind::kWrongModel, "wrong-model", 1, false, false},
    {FailureKind::kWrongInputs, "wrong-inputs", 1, false, false},
    {FailureKind::kWrongIteration, "wrong-iteration", 1, false, false},
    {FailureKind::kException, "exception", 1, false, false},
    {FailureKind::kSyntaxError, "syntax-error", 1, false, false},
    {FailureKind::kImportError, "import-error", 1, false, false},
    {FailureKind::kExit, "exit", 1, true, false},
    {FailureKind::kNoCuda, "no-cuda", 1, false, false},
    {FailureKind::kOutOfMemory, "out-of-memory", 1, false, false},
    {FailureKind::kTimeout, "timeout", 1, true, false},
    {FailureKind::kProcessDied, "process-died", 1, true, false},
    {FailureKind::kProcessReplaced, "process-replaced", 1, true, false},
    {FailureKind::kProcessStopped, "process-stopped", 1, true, false},
    {FailureKind::kMainThreadEnded, "main-thread-ended", 1, false, false},
    {FailureKind::kTooManyProcesses, "too-many-processes", 1, false, false},
    {FailureKind::kChannelBroken, "channel-broken", 1, false, false},
    {FailureKind::kRecordingTooLarge, "recording-too-large", 1, false, false},
    {FailureKind::kEntryUnreadable, "entry-unreadable", 2, false, false},
    {FailureKind::kInterpreter, "interpreter", 3, false, false},
    {FailureKind::kNoTorch, "no-torch", 3, false, false},
    {FailureKind::kPythonUnsupported, "python-unsupported", 3, false, false},
    {FailureKind::kTorchUnsupported, "torch-unsupported", 3, false, false},
    {FailureKind::kNoCompiler, "no-compiler", 3, false, false},
    {FailureKind::kAgentBuildFailed, "agent-build-failed", 3, false, false},
    {FailureKind::kAgentRefused, "agent-refused", 3, false, false},
    {FailureKind::kAllocator, "allocator", 3, false, false},
    {FailureKind::kCache, "cache", 3, false, false},
    {FailureKind::kResources, "resources", 3, false, false},
    {FailureKind::kWorkerDied, "worker-died", 3, true, false},
    {FailureKind::kWorkerProtocol, "worker-protocol", 3, false, false},
    {FailureKind::kCancelled, "cancelled", 130, false, true},
    {FailureKind::kInternalError, "internal-error", 0, false, false},
    {FailureKind::kSuperseded, "superseded", 0, false, true},
    {FailureKind::kTrial, "trial", 0, false, false},
    {FailureKind::kNotTrusted, "not-trusted", 0, false, true},
}};

static_assert(std::ranges::is_sorted(kTable, {}, &FailureKindInfo::kind), "a row stands at the place of its kind");

}  // namespace

const FailureKindInfo& info_of(FailureKind kind) { return kTable.at(static_cast<std::size_t>(kind)); }

std::optional<FailureKind> failure_kind_named(std::string_view name) {
  const auto* const row = std::ranges::find(kTable, name, &FailureKindInfo::name);
  return row == kTable.end() ? std::nullopt : std::optional(row->kind);
}

}  // namespace ridgeline::protocol
