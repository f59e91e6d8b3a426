// How fast a recording of a million ops becomes a profile, and in how much memory.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "analysis/build_profile.h"
#include "protocol/recording_columns.h"

namespace {

using namespace ridgeline;

/// Strings, interned by hand.
class Strings {
 public:
  explicit Strings(recording::Columns& columns) : columns_(columns) { add(""); }
  std::uint32_t add(const std::string& text) {
    columns_.string_bytes.insert(columns_.string_bytes.end(), text.begin(), text.end());
    columns_.string_ends.push_back(static_cast<std::uint32_t>(columns_.string_bytes.size()));
    return static_cast<std::uint32_t>(columns_.string_ends.size() - 1);
  }

 private:
  recording::Columns& columns_;
};

constexpr std::uint32_t kModules = 400;
constexpr std::uint32_t kLines = 4000;

/// A step like a deep model's: module calls of four frames, a forward op with three inside it, an autograd node with
/// two inside it, each with an allocation and its release.
std::string synthetic_recording(std::uint32_t ops) {
  recording::Columns columns;
  Strings strings(columns);
  const std::uint32_t user_file = strings.add("/project/model.py");
  const std::uint32_t torch_file = strings.add("/env/lib/torch/nn/modules/module.py");
  const std::uint32_t name = strings.add("forward");
  std::uint32_t op_names[8];
  for (std::uint32_t i = 0; i < 8; ++i) {
    op_names[i] = strings.add("aten::op" + std::to_string(i));
  }
  columns.code_file = {user_file, torch_file};
  columns.code_name = {name, name};
  for (std::uint32_t i = 0; i <= kModules; ++i) {
    columns.instance_type.push_back(i == 0 ? 0 : strings.add("Block"));
    columns.instance_name.push_back(i == 0 ? 0 : strings.add("Model.blocks." + std::to_string(i)));
    columns.instance_file.push_back(i == 0 ? 0 : user_file);
    columns.instance_line.push_back(i);
    columns.instance_calls.push_back(1);
  }
  const auto node = [&](std::uint32_t parent, std::uint32_t code, std::uint32_t line, std::uint32_t instance) {
    columns.node_parent.push_back(parent);
    columns.node_code.push_back(code);
    columns.node_instruction.push_back(line * 2);
    columns.node_line.push_back(line);
    columns.node_instance.push_back(instance);
    return static_cast<std::uint32_t>(columns.node_parent.size() - 1);
  };
  node(0, recording::kNone, 0, 0);
  const std::uint32_t iteration = node(0, 0, 1, 0);
  const std::uint32_t backward = node(node(iteration, 0, 2, 0), 1, 3, 0);
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t i = 0; i < kLines; ++i) {
    leaves.push_back(node(node(iteration, 1, 10, 1 + i % kModules), 0, 100 + i, 0));
  }
  columns.thread_torch_id = {1};
  std::uint64_t time = 1000;
  columns.iteration_start.push_back(time);
  const auto op = [&](std::uint32_t stack, recording::Scope scope, std::uint32_t parent, std::int64_t sequence) {
    columns.op_thread.push_back(0);
    columns.op_scope.push_back(static_cast<std::uint8_t>(scope));
    columns.op_name.push_back(op_names[columns.op_name.size() % 8]);
    columns.op_node.push_back(stack);
    columns.op_parent.push_back(parent);
    columns.op_start.push_back(time += 500);
    columns.op_end.push_back(0);
    columns.op_sequence.push_back(sequence);
    columns.op_forward_thread.push_back(1);
    const auto index = static_cast<std::uint32_t>(columns.op_name.size() - 1);
    columns.memory_time.push_back(time += 100);
    columns.memory_address.push_back(0x10000 + std::uint64_t{index} * 64);
    columns.memory_bytes.push_back(4096);
    columns.memory_node.push_back(stack);
    columns.memory_op.push_back(index);
    columns.memory_stage.push_back(static_cast<std::uint8_t>(recording::Stage::kIteration));
    columns.memory_thread.push_back(0);
    columns.memory_reserved.push_back(0);
    columns.memory_requested.push_back(0);
    columns.memory_stream.push_back(0);
    return index;
  };
  const auto close = [&](std::uint32_t index) { columns.op_end[index] = time += 500; };
  const std::uint32_t groups = ops / 7;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const std::uint32_t outer = op(leaves[group % kLines], recording::Scope::kFunction, recording::kNone, group);
    for (int inner = 0; inner < 3; ++inner) {
      close(op(leaves[group % kLines], recording::Scope::kFunction, outer, -1));
    }
    close(outer);
  }
  for (std::uint32_t group = groups; group-- > 0;) {
    const std::uint32_t outer = op(backward, recording::Scope::kBackward, recording::kNone, group);
    for (int inner = 0; inner < 2; ++inner) {
      close(op(backward, recording::Scope::kFunction, outer, -1));
    }
    close(outer);
  }
  columns.iteration_end.push_back(time += 1000);
  columns.cost = {20, 80, 2, 30};
  columns.loss.assign(recording::kLossCount, 0);
  return recording::serialise(columns);
}

}  // namespace

int main() {
  constexpr std::uint32_t kOps = 1'000'000;
  std::string bytes = synthetic_recording(kOps);
  const std::size_t size = bytes.size();
  const auto start = std::chrono::steady_clock::now();
  const auto recording = ridgeline::recording::Recording::parse(std::move(bytes));
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().message().c_str());
    return 1;
  }
  ridgeline::analysis::RunInput input;
  input.scope = {"/project", {"/env"}};
  input.batch_size = 8;
  input.runs.push_back({8, 3, {4e9, 4.1e9, 4.2e9}, *recording});
  const ridgeline::analysis::Profile profile = ridgeline::analysis::build_profile(input);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"ops\": %zu, \"recordingBytes\": %zu, \"seconds\": %.3f, \"peakBytes\": %ld, \"lines\": %zu}\n",
              recording->op_name().size(), size, seconds.count(), usage.ru_maxrss * 1024L, profile.lines.size());
  return 0;
}
