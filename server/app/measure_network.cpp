#include "app/measure_network.h"

#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/program_output.h"

namespace ridgeline::app {

namespace {

constexpr std::chrono::minutes kLimit{30};

std::vector<std::string> command_of(const NetworkQuestion& question, const std::string& python,
                                    const std::string& program) {
  std::vector<std::string> command = {python,      program,
                                      "--ranks",   std::to_string(question.ranks),
                                      "--seconds", std::to_string(question.seconds),
                                      "--largest", std::to_string(static_cast<long long>(question.largest_mib) << 20U)};
  if (question.process.has_value()) {
    command.insert(command.end(),
                   {"--rank", std::to_string(question.process->rank), "--address", question.process->address});
  }
  return command;
}

}  // namespace

base::Result<std::optional<jobs::MeasuredNetwork>> measure_network(const NetworkQuestion& question) {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return cache.error();
  }
  const auto program = worker::runner_file(*cache, "measure/network.py");
  if (!program) {
    return program.error();
  }
  const std::string python = worker::find_interpreter_here(question.python).path;
  const auto line = worker::first_line_of(command_of(question, python, *program), kLimit);
  if (!line.has_value()) {
    return base::error("the links could not be measured with " + python +
                       ": it needs torch with Gloo, and all ranks must be started with the same --ranks and --address");
  }
  if (question.process.has_value() && question.process->rank > 0) {
    return std::optional<jobs::MeasuredNetwork>();
  }
  auto network = jobs::parse_network(*line);
  if (!network) {
    return base::error("what was measured cannot be read: " + network.error().message());
  }
  return std::optional(std::move(*network));
}

}  // namespace ridgeline::app
