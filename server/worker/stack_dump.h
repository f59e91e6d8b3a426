// Where a run hung: the stack that Python's faulthandler writes when SIGTERM ends the process.
#pragma once

#include <string>
#include <vector>

#include "protocol/worker_messages.h"

namespace ridgeline::worker {

/// Takes the last stack dump out of what a process wrote. Its frames, outermost first, without the runner's; none when
/// there is no dump. https://docs.python.org/3/library/faulthandler.html. Pure.
std::vector<protocol::TraceFrame> take_stack_dump(std::string& output);

}  // namespace ridgeline::worker
