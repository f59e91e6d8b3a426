// Which steps have the records of their kernels.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "protocol/recording_columns.h"

namespace ridgeline::ingest {

/// For each of the steps (start and end, by time) whether records of its kernels were lost, though other steps have all
/// of theirs: launches without a kernel, or as many operations as others and far fewer kernels. All false where every
/// step lost some: then there is nothing better.
std::vector<bool> steps_that_lost_kernels(const recording::Columns& columns,
                                          const std::vector<std::pair<std::uint64_t, std::uint64_t>>& steps);

}  // namespace ridgeline::ingest
