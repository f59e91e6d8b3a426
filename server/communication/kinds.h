// The names that torch gives to collectives.
#pragma once

#include <string_view>

#include "protocol/communication.h"

namespace ridgeline::communication {

/// Of the flight recorder: "all_reduce", "_allgather_base". kOther where it is none that we know.
Kind kind_of_call(std::string_view name);

/// Of the dispatcher: "c10d::allreduce_". kOther likewise.
Kind kind_of_operator(std::string_view name);

/// "all-reduce"
const char* kind_name(Kind kind);

}  // namespace ridgeline::communication
