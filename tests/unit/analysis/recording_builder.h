// Valid recordings from a few readable calls, so that a test of the analysis reads as one short story.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/memory/allocator_replay.h"
#include "protocol/recording.h"
#include "protocol/recording_columns.h"

namespace ridgeline::analysis::testing {

using recording::kNone;
using recording::Role;
using recording::Scope;
using recording::Stage;

inline constexpr std::uint64_t kMs = 1'000'000;  ///< in nanoseconds
inline constexpr std::string_view kProject = "/project";
inline constexpr std::string_view kEnvironment = "/env";

/// A frame of a stack. A relative file lies in the project.
struct Frame {
  std::string_view file;
  std::string_view function;
  std::uint32_t line = 0;
  std::uint32_t instance = 0;  ///< module whose call this frame is
};

inline constexpr Frame kEngine{"/env/site-packages/torch/autograd/graph.py", "_engine_run_backward", 800};
inline constexpr Frame kCheckpoint{"/env/site-packages/torch/utils/checkpoint.py", "checkpoint", 480};
inline constexpr Frame kUnpackHook{"/env/site-packages/torch/utils/checkpoint.py", "unpack_hook", 900};
inline constexpr Frame kOptimizer{"/env/site-packages/torch/optim/sgd.py", "step", 100};
inline constexpr Frame kLoader{"/env/site-packages/torch/utils/data/dataloader.py", "__next__", 600};
inline constexpr Frame kLibrary{"/env/site-packages/torch/nn/functional.py", "linear", 20};
/// A file of a package other than torch, which installs in the same folder.
inline constexpr std::string_view kNetFile = "/env/site-packages/nets/net.py";

struct Op {
  std::string_view name = "aten::op";
  std::uint32_t stack = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t parent = kNone;
  Scope scope = Scope::kFunction;
  std::int64_t sequence = -1;
  std::uint64_t forward_thread = 0;  ///< LibTorch's number
  std::uint16_t thread = 0;          ///< index
};

/// A call on thread 0 unless another is named.
struct DeviceCall {
  recording::Call kind = recording::Call::kLaunch;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t op = kNone;
  std::uint32_t stack = 0;
  std::uint16_t thread = 0;
  std::string_view name = "cudaCall";
};

struct DeviceActivity {
  std::string_view name = "kernel";
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t call = kNone;
  recording::Activity kind = recording::Activity::kKernel;
  std::uint32_t device = 0;
  std::uint32_t stream = 7;
};

struct Allocation {
  std::uint64_t time = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t stack = 0;
  std::uint32_t op = kNone;
  Stage stage = Stage::kIteration;
  std::uint16_t thread = 0;
  std::uint64_t reserved = 0;
  std::uint64_t requested = 0;
  std::uint16_t stream = 0;
};

/// Grows the columns of a recording. Ops are added thread by thread and in order of time, allocator events in order of
/// time. Thread 0 exists and has LibTorch's number 1.
class RecordingBuilder {
 public:
  recording::Columns columns;

  RecordingBuilder() {
    text("");
    columns.node_parent = columns.node_code = columns.node_instruction = columns.node_line =
        columns.node_instance = {0};
    columns.thread_torch_id = {1};
    columns.cost.resize(recording::kCostCount);
    columns.loss.resize(recording::kLossCount);
    instance("", "", 0);
  }

  std::uint32_t text(std::string_view words) {
    const auto [found, inserted] = texts_.try_emplace(std::string(words), size_of(columns.string_ends));
    if (inserted) {
      columns.string_bytes.insert(columns.string_bytes.end(), words.begin(), words.end());
      columns.string_ends.push_back(size_of(columns.string_bytes));
    }
    return found->second;
  }

  /// A module instance: its class and its dotted name in the model.
  std::uint32_t instance(std::string_view type, std::string_view name, std::uint64_t calls = 1,
                         std::string_view file = "model.py", std::uint32_t line = 1) {
    columns.instance_type.push_back(text(type));
    columns.instance_name.push_back(text(name));
    columns.instance_file.push_back(text(absolute(file)));
    columns.instance_line.push_back(line);
    columns.instance_calls.push_back(calls);
    return size_of(columns.instance_type) - 1;
  }

  std::uint32_t code(std::string_view file, std::string_view function) {
    const auto [found, inserted] =
        codes_.try_emplace({text(absolute(file)), text(function)}, size_of(columns.code_file));
    if (inserted) {
      columns.code_file.push_back(found->first.first);
      columns.code_name.push_back(found->first.second);
    }
    return found->second;
  }

  /// The stack of these frames, outermost first.
  std::uint32_t stack(const std::vector<Frame>& frames) {
    std::uint32_t node = 0;
    for (const Frame& frame : frames) {
      node = child(node, frame);
    }
    return node;
  }
  /// A stack with one more frame.
  std::uint32_t child(std::uint32_t parent, const Frame& frame) {
    const Key key{parent, code(frame.file, frame.function), frame.line, frame.instance};
    const auto [found, inserted] = nodes_.try_emplace(key, size_of(columns.node_parent));
    if (inserted) {
      columns.node_parent.push_back(parent);
      columns.node_code.push_back(key.code);
      columns.node_instruction.push_back(2 * frame.line);
      columns.node_line.push_back(frame.line);
      columns.node_instance.push_back(frame.instance);
    }
    return found->second;
  }
  /// A line of the project, in a function called "run".
  std::uint32_t at(std::string_view file, std::uint32_t line) { return stack({{file, "run", line}}); }

  std::uint16_t thread(std::uint64_t torch_id) {
    columns.thread_torch_id.push_back(torch_id);
    return static_cast<std::uint16_t>(columns.thread_torch_id.size() - 1);
  }

  RecordingBuilder& iteration(std::uint64_t start, std::uint64_t end) {
    columns.iteration_start.push_back(start);
    columns.iteration_end.push_back(end);
    return *this;
  }

  std::uint32_t op(const Op& op) {
    columns.op_thread.push_back(op.thread);
    columns.op_scope.push_back(static_cast<std::uint8_t>(op.scope));
    columns.op_name.push_back(text(op.name));
    columns.op_node.push_back(op.stack);
    columns.op_parent.push_back(op.parent);
    columns.op_start.push_back(op.start);
    columns.op_end.push_back(op.end);
    columns.op_sequence.push_back(op.sequence);
    columns.op_forward_thread.push_back(op.forward_thread);
    return size_of(columns.op_name) - 1;
  }
  /// An autograd node of the forward op with this sequence number on thread 0.
  std::uint32_t backward(std::string_view name, std::uint32_t stack, std::uint64_t start, std::uint64_t end,
                         std::int64_t sequence, std::uint32_t parent = kNone) {
    return op({name, stack, start, end, parent, Scope::kBackward, sequence, 1});
  }

  /// Calls are added thread by thread and in order of time, activities in order of time.
  std::uint32_t call(const DeviceCall& call) {
    columns.call_thread.push_back(call.thread);
    columns.call_kind.push_back(static_cast<std::uint8_t>(call.kind));
    columns.call_name.push_back(text(call.name));
    columns.call_op.push_back(call.op);
    columns.call_node.push_back(call.stack);
    columns.call_start.push_back(call.start);
    columns.call_end.push_back(call.end);
    return size_of(columns.call_name) - 1;
  }
  RecordingBuilder& activity(const DeviceActivity& activity) {
    columns.activity_kind.push_back(static_cast<std::uint8_t>(activity.kind));
    columns.activity_name.push_back(text(activity.name));
    columns.activity_device.push_back(activity.device);
    columns.activity_stream.push_back(activity.stream);
    columns.activity_call.push_back(activity.call);
    columns.activity_start.push_back(activity.start);
    columns.activity_end.push_back(activity.end);
    columns.activity_bytes.push_back(0);
    return *this;
  }

  RecordingBuilder& sample(std::uint64_t time, std::uint32_t stack) {
    columns.sample_time.push_back(time);
    columns.sample_node.push_back(stack);
    return *this;
  }
  RecordingBuilder& pause(std::uint64_t start, std::uint64_t end) {
    columns.pause_start.push_back(start);
    columns.pause_end.push_back(end);
    return *this;
  }

  RecordingBuilder& allocate(const Allocation& event) {
    columns.memory_time.push_back(event.time);
    columns.memory_address.push_back(event.address);
    columns.memory_bytes.push_back(event.bytes);
    columns.memory_node.push_back(event.stack);
    columns.memory_op.push_back(event.op);
    columns.memory_stage.push_back(static_cast<std::uint8_t>(event.stage));
    columns.memory_thread.push_back(event.thread);
    columns.memory_reserved.push_back(event.reserved);
    columns.memory_requested.push_back(event.requested);
    columns.memory_stream.push_back(event.stream);
    return *this;
  }
  RecordingBuilder& release(std::uint64_t time, std::uint64_t address) { return allocate({time, address, 0}); }

  RecordingBuilder& role(std::uint64_t time, std::uint64_t address, Role kind, std::uint32_t parameter = kNone) {
    columns.role_time.push_back(time);
    columns.role_address.push_back(address);
    columns.role_kind.push_back(static_cast<std::uint8_t>(kind));
    columns.role_parameter.push_back(parameter);
    return *this;
  }
  std::uint32_t parameter(std::string_view name, std::uint64_t address) {
    columns.parameter_name.push_back(text(name));
    columns.parameter_address.push_back(address);
    return size_of(columns.parameter_name) - 1;
  }

  /// A line of a code object ran this often in one iteration.
  RecordingBuilder& runs(std::string_view file, std::string_view function, std::uint32_t line, std::uint64_t count) {
    columns.run_code.push_back(code(file, function));
    columns.run_line.push_back(line);
    columns.run_count.push_back(count);
    return *this;
  }
  RecordingBuilder& cost(recording::Cost kind, double ns) {
    columns.cost[static_cast<std::size_t>(kind)] = ns;
    return *this;
  }

  /// The recording. A story that contradicts itself is a mistake of the test and throws.
  recording::Recording build() const {
    auto recording = recording::Recording::parse(recording::serialise(columns));
    if (!recording) {
      throw std::invalid_argument("the test's recording is refused: " + recording.error().message());
    }
    return std::move(*recording);
  }

 private:
  struct Key {
    std::uint32_t parent;
    std::uint32_t code;
    std::uint32_t line;
    std::uint32_t instance;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm of clang-tidy 14
  };

  template <typename T>
  static std::uint32_t size_of(const T& column) {
    return static_cast<std::uint32_t>(column.size());
  }
  static std::string absolute(std::string_view file) {
    return file.starts_with('/') ? std::string(file) : std::string(kProject) + "/" + std::string(file);
  }

  std::map<std::string, std::uint32_t> texts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> codes_;
  std::map<Key, std::uint32_t> nodes_;
};

/// The peak of the recorded iterations.
inline std::uint64_t peak_bytes(const recording::Recording& recording) {
  Replay replay(recording);
  return find_peak(recording, replay).bytes;
}

}  // namespace ridgeline::analysis::testing
