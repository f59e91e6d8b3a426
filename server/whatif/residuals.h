// Written by `./dev bench what-if-calibration`; see docs/dev/benchmarks-what-if.md. Not to be edited.
#pragma once

#include <array>

#include "whatif/calibration.h"

namespace ridgeline::whatif {

inline constexpr double kCalibratedLevel = 0.9;
inline constexpr std::array<Residual, 1> kResiduals = {{
    {"any", 0.5, 0, 0, 0.0},
}};

}  // namespace ridgeline::whatif
