// libcupti, found and opened at run time: nothing of ours links it.
#pragma once

#include <string>
#include <vector>

#include "profiler/agent/cupti/abi.h"

namespace ridgeline::agent::cupti {

struct Library {
  Functions functions;
  std::uint32_t version = 0;
  std::string path;   ///< of the file that was opened
  std::string error;  ///< why there is none, for the user; else empty
};

/// Opens the first candidate that is a CUPTI of a known version: a path, or a name for the loader. A library that the
/// process has already loaded is preferred to all candidates: there must be only one CUPTI in a process.
/// It is never closed: CUPTI's own threads may outlive every use of it.
Library open_library(const std::vector<std::string>& candidates);

/// CUPTI's description of a result, with its number.
std::string describe(const Functions& functions, Result result);

}  // namespace ridgeline::agent::cupti
