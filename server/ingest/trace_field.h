// The members of a Chrome trace's JSON objects that are read.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridgeline::ingest {

enum class Field : std::uint8_t {
  kNone,
  kTraceEvents,
  kDeviceProperties,
  kPhase,
  kCategory,
  kName,
  kProcess,
  kThread,
  kTime,
  kDuration,
  kArgs,
  kExternal,
  kCorrelation,
  kSequence,
  kForwardThread,
  kDevice,
  kStream,
  kBytes,
  kModule,
  kAddress,
  kDeviceId,
  kDeviceType,
  kTotalAllocated,
  kTotalReserved,
  kCallStack,
  kId,
  kGlobalMemory,
  kDistributed,
  kRank,
  kWorldSize,
  kBaseTime,
  kCollective,
  kElements,
  kDtype,
  kGroup,
  kGroupRanks,
  kInputSizes,
  kInputTypes,
  kInputStrides,
  kInputValues,
};

/// Whether it lists the arguments of an op.
constexpr bool is_list_of_inputs(Field field) { return field >= Field::kInputSizes; }

/// The field of a key of JSON; kNone for one that is not read.
Field field_of(std::string_view key);

}  // namespace ridgeline::ingest
