// How long programs that were generated for operations took on this processor beside torch: kept in the cache folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "operations/work/own_programs.h"

namespace ridgeline::app {

/// A program that was timed, and under which conditions.
struct KeptProgram {
  int threads = 0;
  std::string torch;  ///< its version
  operations::TimedProgram timed;
  bool operator==(const KeptProgram&) const = default;
};

inline constexpr std::size_t kMaxKeptPrograms = 1000;

/// As text, and read again: an error where the text is none of these. Pure.
std::string kept_programs_json(std::span<const KeptProgram> programs);
base::Result<std::vector<KeptProgram>> parse_kept_programs(const std::string& text);

/// `more` in place of those with the same operation and conditions, in front of the others; at most kMaxKeptPrograms.
/// Pure.
std::vector<KeptProgram> with_programs(std::vector<KeptProgram> more, std::span<const KeptProgram> kept);

/// The programs that were timed with this number of threads and this version of torch. Pure.
std::vector<operations::TimedProgram> timed_like(std::span<const KeptProgram> programs, int threads,
                                                 const std::string& torch);

/// The programs kept for this processor; none where there is no file. An error where it cannot be read.
base::Result<std::vector<KeptProgram>> kept_programs(const std::string& cache);

/// Adds to what is kept of this processor. A file that cannot be read is replaced.
base::Result<void> keep_programs(const std::string& cache, std::vector<KeptProgram> programs);

}  // namespace ridgeline::app
