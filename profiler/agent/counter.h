// How often lines and modules run: exact counts of one iteration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::agent {

struct LineRuns {
  const void* code;
  std::uint32_t line;
  std::uint64_t count;
};
/// Counts line runs of user code and module calls on the calling thread, by the interpreter's trace hook, between
/// these two. `roots` are the folders of user code; `excluded` those inside them that are not; `included` further
/// folders and files whose lines count, wherever they are. Slow: not for timed or recorded iterations.
void start_counting(std::vector<std::string> roots, std::vector<std::string> excluded,
                    std::vector<std::string> included);
void stop_counting();
std::vector<LineRuns> line_runs();
std::uint64_t instance_calls(const void* instance);

}  // namespace ridgeline::agent
