#include "ingest/trace_field.h"

#include <unordered_map>

namespace ridgeline::ingest {

Field field_of(std::string_view key) {
  static const std::unordered_map<std::string_view, Field> kFields = {
      {"traceEvents", Field::kTraceEvents},
      {"deviceProperties", Field::kDeviceProperties},
      {"computeProperties", Field::kDeviceProperties},
      {"ph", Field::kPhase},
      {"cat", Field::kCategory},
      {"name", Field::kName},
      {"pid", Field::kProcess},
      {"tid", Field::kThread},
      {"ts", Field::kTime},
      {"dur", Field::kDuration},
      {"args", Field::kArgs},
      {"External id", Field::kExternal},
      {"external id", Field::kExternal},
      {"correlation", Field::kCorrelation},
      {"Sequence number", Field::kSequence},
      {"Fwd thread id", Field::kForwardThread},
      {"device", Field::kDevice},
      {"stream", Field::kStream},
      {"bytes", Field::kBytes},
      {"Bytes", Field::kBytes},
      {"Python module id", Field::kModule},
      {"Addr", Field::kAddress},
      {"Device Id", Field::kDeviceId},
      {"Device Type", Field::kDeviceType},
      {"Total Allocated", Field::kTotalAllocated},
      {"Total Reserved", Field::kTotalReserved},
      {"Call stack", Field::kCallStack},
      {"id", Field::kId},
      {"totalGlobalMem", Field::kGlobalMemory},
      {"distributedInfo", Field::kDistributed},
      {"rank", Field::kRank},
      {"world_size", Field::kWorldSize},
      {"baseTimeNanoseconds", Field::kBaseTime},
      {"Collective name", Field::kCollective},
      {"In msg nelems", Field::kElements},
      {"dtype", Field::kDtype},
      {"Process Group Name", Field::kGroup},
      {"Process Group Ranks", Field::kGroupRanks},
      {"Input Dims", Field::kInputSizes},
      {"Input dims", Field::kInputSizes},
      {"Input type", Field::kInputTypes},
      {"Input Strides", Field::kInputStrides},
      {"Concrete Inputs", Field::kInputValues},
  };
  const auto found = kFields.find(key);
  return found == kFields.end() ? Field::kNone : found->second;
}

}  // namespace ridgeline::ingest
