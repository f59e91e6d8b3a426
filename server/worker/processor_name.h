// What /proc/cpuinfo says of the processors.
#pragma once

#include <istream>
#include <string>

namespace ridgeline::worker {

/// "Intel(R) Xeon(R) Processor"; on ARM, which has numbers there, "Arm Neoverse N1", or of several kinds "Arm
/// Cortex-A55 + Arm Cortex-A76". "unknown processor" where the text does not say. On x86 nothing is read after the
/// first model: the kernel takes its time for the text of many processors.
std::string processor_name_in(std::istream& cpuinfo);

}  // namespace ridgeline::worker
