// The versions of Python and torch that the agent is made for, and what to say of others.
#pragma once

#include <optional>
#include <string>

#include "protocol/worker_messages.h"

namespace ridgeline::worker {

/// Why no agent can be built for this environment: `python-unsupported` or `torch-unsupported`. Nothing when one can
/// be, or when only trying tells.
std::optional<protocol::Failure> unsupported(const protocol::WorkerEnvironment& environment);

/// A sentence for a torch that the agent was not tested with but may work with: one that is newer. Empty for all
/// others.
std::string untested_torch(const protocol::WorkerEnvironment& environment);

/// The torch that one agent is built for: "2.13" for all releases of that minor version, whatever device they are built
/// for; the whole version for every other build.
std::string built_for(const std::string& torch);

/// The C++ standard that the headers of this torch are written in, as compilers name it.
std::string cpp_standard(const protocol::WorkerEnvironment& environment);

}  // namespace ridgeline::worker
