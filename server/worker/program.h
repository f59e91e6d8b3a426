// A program that runs to its end, and what it wrote.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"

namespace ridgeline::worker {

struct ProgramLimits {
  std::chrono::seconds time;  ///< after which its process group is killed
  std::size_t bytes;          ///< of what it wrote; the rest is dropped
};

struct ProgramEnd {
  int exit_code = 0;   ///< 128: a signal ended it
  std::string output;  ///< standard output and error
};

/// Runs `command` in `folder`, in a process group of its own: to end it earlier, kill the group whose id `started` is
/// told. An error where it cannot be started. The task is of `loop`, which outlives it.
base::Task<base::Result<ProgramEnd>> run_program(boost::asio::io_context& loop, std::vector<std::string> command,
                                                 std::string folder, ProgramLimits limits,
                                                 std::function<void(pid_t)> started);

}  // namespace ridgeline::worker
