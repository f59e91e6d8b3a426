// Draws that are the same whenever they are made.
#pragma once

#include <string_view>

namespace ridgeline::operations {

/// From 0 to 1, by a hash of the key; draws of another salt are independent.
double chance_of(std::string_view key, std::string_view salt);

}  // namespace ridgeline::operations
