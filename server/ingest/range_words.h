// The words of a range's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::ingest {

/// Lower case, split at capitals and at what is no letter or digit, without digits at their ends: "DataLoader_step12"
/// is "data", "loader", "step", and "h2d copy" is "h2d", "copy". Without "data parallel", which is a way to train and
/// not about data.
std::vector<std::string> range_words(std::string_view name);

}  // namespace ridgeline::ingest
