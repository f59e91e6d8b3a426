// The names that torch gives to collectives.
#pragma once

#include <string_view>

#include "protocol/communication.h"

namespace ridgeline::jobs {

/// The kind of a call in the flight recorder: "all_reduce", "_allgather_base". kOther for a name that we do not know.
CollectiveKind kind_of_call(std::string_view name);

/// The kind of an operator of the dispatcher: "c10d::allreduce_". kOther for a name that we do not know.
CollectiveKind kind_of_operator(std::string_view name);

/// "all-reduce"
const char* kind_name(CollectiveKind kind);

}  // namespace ridgeline::jobs
