// What /proc/cpuinfo says of the processors.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::worker {

/// "Intel(R) Xeon(R) Processor"; on ARM, which has numbers there, "Arm Neoverse N1", or of several kinds "Arm
/// Cortex-A55 + Arm Cortex-A76". "unknown processor" where the text does not say. Pure.
std::string processor_name_in(std::string_view cpuinfo);

}  // namespace ridgeline::worker
