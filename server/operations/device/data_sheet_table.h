// The figures of GPUs' data sheets, each with the documents that it was looked up in: data_sheets.json.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace ridgeline::operations {

/// A figure on which two documents agree, to 3 %: vendors round, and state peaks for different clocks. Absent (0) where
/// no two were found that do.
struct Cell {
  double value = 0;
  std::array<std::string, 2> documents{};  ///< keys of "documents" in the file
  bool known() const { return value > 0; }
};

struct Sheet {
  std::string name;  ///< a part of what the driver reports, without the vendor's name
  bool amd = false;
  Cell units;                                     ///< streaming multiprocessors, compute units
  Cell boost_mhz;                                 ///< the highest that the driver allows
  Cell float32{}, tf32{}, float16{}, bfloat16{};  ///< TFLOP/s of matrices, not sparse, sums in float32
  Cell shared_kib{};                              ///< of shared memory that the blocks of a unit may use
  Cell l2_mib{};                                  ///< of one L2
  int units_of_l2 = 0;                            ///< that share one; 0: all
  Cell last_cache_mib{};                          ///< between L2 and the memory
  Cell memory_gb{};                               ///< as it is sold
  Cell memory_gb_per_s{};
  Cell power_w{};
};

/// Each name once. Read once, from the file that the binary carries; thread-safe.
const std::vector<Sheet>& data_sheet_table();

}  // namespace ridgeline::operations
