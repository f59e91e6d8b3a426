// Written by `./dev bench what-if-calibration`; see docs/dev/architecture/what-if.md. Do not edit.
// 21 models on AMD EPYC, 2 processors.
#pragma once

#include <array>

#include "step/changes/calibration.h"

namespace ridgeline::step {

inline constexpr double kCalibratedLevel = 0.9;
inline constexpr std::array<Residual, 8> kResiduals = {{
    {"any", 0.5, 21, 81, 0.0639},
    {"accumulate", 0.9, 15, 15, 0.1374},
    {"accumulate", 0.5, 1, 1, 0.0000},
    {"autocast", 0.9, 16, 16, 0.0639},
    {"channels-last", 0.9, 5, 5, 0.0000},
    {"checkpoint", 0.9, 7, 7, 0.0000},
    {"combined", 0.9, 2, 2, 0.0000},
    {"optimizer", 0.9, 20, 35, 0.0453},
}};

}  // namespace ridgeline::step
