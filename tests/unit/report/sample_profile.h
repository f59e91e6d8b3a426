// Profiles to render: a ResNet-50 as one might be profiled on a CPU, and the least that a profile can be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/prediction/predictor.h"
#include "analysis/time/time_model.h"
#include "analysis/values/profile.h"

namespace ridgeline::report::testing {

inline constexpr const char* kEntry = "examples/resnet50/entry.py";
inline constexpr const char* kModel = "examples/resnet50/resnet.py";
inline constexpr const char* kTraining = "training/step.py";  ///< not below the entry file's folder

/// The lines of the user's files that `resnet_profile` names.
inline std::optional<std::string> resnet_source(const analysis::Location& location) {
  static const std::map<std::pair<std::string, std::uint32_t>, std::string> kLines = {
      {{kModel, 23}, "        self.conv1 = nn.Conv2d(in_channels, width, kernel_size=1, bias=False)"},
      {{kModel, 25},
       "        self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, bias=False)"},
      {{kModel, 27}, "        self.conv3 = nn.Conv2d(width, out_channels, kernel_size=1, bias=False)"},
      {{kModel, 38}, "        out = self.conv1(x)"},
      {{kModel, 39}, "        out = self.bn1(out)"},
      {{kModel, 40}, "        out = self.relu(out)"},
      {{kModel, 42}, "        out = self.conv2(out)"},
      {{kModel, 43}, "        out = self.bn2(out)"},
      {{kModel, 46}, "        out = self.conv3(out)"},
      {{kModel, 47}, "        out = self.bn3(out)"},
      {{kModel, 49}, "        shortcut = self.shortcut(x)"},
      {{kModel, 79}, "        x = self.conv1(images)"},
      {{kModel, 80}, "        x = self.bn1(x)"},
      {{kModel, 82}, "        x = self.maxpool(x)"},
      {{kEntry, 34}, "        optimizer.zero_grad()"},
      {{kTraining, 12}, "    optimizer.step()"}};
  const auto found = kLines.find({location.file, location.line});
  return found == kLines.end() ? std::nullopt : std::optional(found->second);
}

/// Makes the breakdown leaf by leaf and books each leaf on its line, so that every sum closes.
class ResnetBuilder {
 public:
  using Node = analysis::Node;
  static constexpr std::size_t kForward = static_cast<std::size_t>(analysis::Phase::kForward);
  static constexpr std::size_t kBackward = static_cast<std::size_t>(analysis::Phase::kBackward);
  static constexpr std::size_t kOptimizer = static_cast<std::size_t>(analysis::Phase::kOptimizer);
  static constexpr std::size_t kOther = static_cast<std::size_t>(analysis::Phase::kOther);

  std::vector<analysis::LineCost> lines() const {
    std::vector<analysis::LineCost> all;
    for (const auto& [key, line] : lines_) {
      all.push_back(line);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.self_ms > b.self_ms; });
    return all;
  }

  Node network() {
    Node model = node("ResNet", "ResNet", {kEntry, 35}, {kModel, 54});
    add(model, module("conv1", "Conv2d", "convolution", 79, {52.3, 4UL * 112 * 112 * 64 * 4, 37632}));
    add(model, module("bn1", "BatchNorm2d", "batch_norm", 80, {13.9, 4UL * 112 * 112 * 64 * 4, 512}));
    add(model, module("relu", "ReLU", "relu_", 81, {5.93, 0, 0}));
    add(model, module("maxpool", "MaxPool2d", "max_pool2d", 82, {12.4, 4UL * 56 * 56 * 64 * 12, 0}));
    add(model, layer(1, 84, {56.1, 45.8, 45.9}, 69632));
    add(model, layer(2, 85, {66.2, 44.3, 43.9, 44.1}, 280064));
    add(model, layer(3, 86, {70.4, 38.2, 38.4, 38.1, 38.3, 38.2}, 1114112));
    add(model, layer(4, 87, {84.0, 42.2, 41.7}, 4456448));
    add(model, module("avgpool", "AdaptiveAvgPool2d", "mean", 89, {0.41, 32768, 0}));
    add(model, module("flatten", "Flatten", "view", 90, {0.0021, 0, 0}));
    add(model, module("fc", "Linear", "addmm", 91, {3.12, 16000, 8196000}));
    return sorted(model);
  }

  Node step(const std::string& name, std::size_t phase, analysis::Location location, double ms) {
    Node leaf = node(name, "", std::move(location), {});
    spend(leaf, ms, phase == kForward ? 0.6 : 0, phase);
    book(leaf.location, leaf, 1);
    return leaf;
  }

  static void add(Node& parent, Node child) {
    parent.ms += child.ms;
    parent.peak_bytes += child.peak_bytes;
    for (std::size_t i = 0; i < child.by_phase.size(); ++i) {
      parent.by_phase[i] += child.by_phase[i];
    }
    parent.children.push_back(std::move(child));
  }

  static Node sorted(Node node) {
    std::stable_sort(node.children.begin(), node.children.end(),
                     [](const Node& a, const Node& b) { return a.ms > b.ms; });
    return node;
  }

  static Node node(std::string name, std::string type, analysis::Location location, analysis::Location definition) {
    Node made;
    made.name = std::move(name);
    made.type = std::move(type);
    made.location = std::move(location);
    made.definition = std::move(definition);
    made.calls = 1;
    return made;
  }

 private:
  struct Cost {
    double ms;
    std::uint64_t activations;
    std::uint64_t weights;
  };

  static void spend(Node& leaf, double ms, double forward_part, std::size_t phase) {
    leaf.ms = ms;
    leaf.by_phase[phase] = ms;
    if (forward_part == 0) {
      return;
    }
    leaf.by_phase[kForward] = ms * forward_part;
    leaf.by_phase[kBackward] = ms - leaf.by_phase[kForward];
  }

  /// Calls and time go to the calling line; what a module's parameters take goes to the line that made them.
  void book(const analysis::Location& at, const Node& leaf, std::uint64_t calls, Cost cost = {}) {
    analysis::LineCost& line = lines_[{at.file, at.line}];
    line.location = at;
    line.calls = line.calls.value_or(0) + calls;
    line.self_ms += leaf.ms;
    line.total_ms += leaf.ms;
    for (std::size_t i = 0; i < leaf.by_phase.size(); ++i) {
      line.self_by_phase[i] += leaf.by_phase[i];
    }
    line.activations_bytes += cost.activations;
    line.peak_bytes += cost.activations;
    if (cost.weights == 0) {
      return;
    }
    static const std::map<std::uint32_t, std::uint32_t> kMadeAt = {{38, 23}, {42, 25}, {46, 27}, {49, 33},
                                                                   {79, 59}, {80, 60}, {91, 69}};
    const std::uint32_t made_at = kMadeAt.at(at.line);
    analysis::LineCost& creation = lines_[{at.file, made_at}];
    creation.location = {at.file, made_at};
    creation.weights_bytes += cost.weights;
    creation.gradients_bytes += cost.weights;
    creation.peak_bytes += 3 * cost.weights;
  }

  Node module(const std::string& name, const std::string& type, const std::string& operation, std::uint32_t line,
              Cost cost) {
    Node made = node(name, type, {kModel, line}, {});
    Node leaf = node(operation, "", {kModel, line}, {});
    spend(leaf, cost.ms, 0.34, kForward);
    book(leaf.location, leaf, 1, cost);
    add(made, std::move(leaf));
    hold(made, "activations", cost.activations);
    hold(made, "weights", cost.weights);
    hold(made, "gradients", cost.weights);
    hold(made, "optimizer state", cost.weights);
    return made;
  }

  /// As analysis does it: memory is in leaves without time.
  static void hold(Node& module, const std::string& what, std::uint64_t bytes) {
    if (bytes == 0) {
      return;
    }
    Node leaf = node(what, "", module.location, {});
    leaf.calls = 0;
    leaf.peak_bytes = bytes;
    add(module, std::move(leaf));
  }

  Node block(int index, double ms, std::uint64_t unit, std::uint64_t weights) {
    Node made = node(std::to_string(index), "Bottleneck", {}, {kModel, 9});
    const double rest = index == 0 ? 0.78 : 1;
    const auto cost = [&](double time, std::uint64_t units, std::uint64_t quarters) {
      return Cost{time * rest * ms, units * unit, quarters * weights};
    };
    add(made, module("conv1", "Conv2d", "convolution", 38, cost(0.2, 1, 1)));
    add(made, module("bn1", "BatchNorm2d", "batch_norm", 39, cost(0.05, 1, 0)));
    add(made, module("conv2", "Conv2d", "convolution", 42, cost(0.38, 1, 2)));
    add(made, module("bn2", "BatchNorm2d", "batch_norm", 43, cost(0.045, 1, 0)));
    add(made, module("conv3", "Conv2d", "convolution", 46, cost(0.2, 4, 1)));
    add(made, module("bn3", "BatchNorm2d", "batch_norm", 47, cost(0.07, 4, 0)));
    add(made, module("relu", "ReLU", "relu_", 40, cost(0.055, 0, 0)));
    made.children.back().calls = 3;
    if (index == 0) {
      add(made, module("shortcut", "Sequential", "convolution", 49, {0.22 * ms, 8 * unit, 2 * weights}));
    }
    return sorted(made);
  }

  Node layer(std::uint64_t number, std::uint32_t line, const std::vector<double>& times, std::uint64_t weights) {
    Node made = node("layer" + std::to_string(number), "Sequential", {kModel, line}, {});
    const std::uint64_t unit = std::uint64_t{3211264} >> (number - 1);
    for (std::size_t i = 0; i < times.size(); ++i) {
      add(made, block(static_cast<int>(i), times[i], unit, weights));
    }
    return sorted(made);
  }

  std::map<std::pair<std::string, std::uint32_t>, analysis::LineCost> lines_;
};

inline void add_models(analysis::Profile& profile) {
  profile.time_samples = {{2, {486.1, 482.0, 491.3}, 14},
                          {3, {684.2, 679.8, 690.1}, 12},
                          {4, {0, 0, 0}, 21},
                          {5, {1071.6, 1060.2, 1084.0}, 10},
                          {6, {1270.9, 1262.5, 1281.1}, 9}};
  profile.time_samples[2].ms = profile.iteration.ms;
  profile.time_samples[2].rounds = 21;
  profile.time_samples[2].outliers = {1, 1.62};
  profile.aa_noise = 0.0042;
  profile.memory_samples = {{2, 561120256}, {3, 668811264}, {4, profile.peak_bytes}, {5, 917504000}, {6, 1031798784}};
  analysis::fit_models(profile);
  const analysis::Piece& whole = profile.time_model->pieces.front();
  for (analysis::LineCost& line : profile.lines) {
    const double part = line.self_ms / profile.iteration.ms.value;
    line.self_model = {{1, part * whole.slope, part * whole.intercept}};
  }
}

/// Activations grow to the peak, and go away again.
inline analysis::MemoryOverTime memory_over_time(const analysis::ByCategory& peak) {
  constexpr auto kActivations = static_cast<std::size_t>(analysis::Category::kActivations);
  analysis::MemoryOverTime memory{1080.5, {0, 421.5, 800, 1062.75}, {}, 1};
  for (std::size_t i = 0; i < peak.size(); ++i) {
    memory.bytes[i].assign(memory.ms.size(), peak[i]);
  }
  memory.bytes[kActivations] = {0, peak[kActivations], peak[kActivations] / 4, 0};
  return memory;
}

/// examples/resnet50 at batch 4 with invented figures whose sums close: lines and named items make the iteration,
/// categories make the peak, children make their node.
inline analysis::Profile resnet_profile() {
  using Builder = ResnetBuilder;
  Builder builder;
  analysis::Profile profile;
  profile.id = "0123456789abcdef";
  profile.entry_path = "/home/user/project/examples/resnet50/entry.py";
  profile.project_root = "/home/user/project";
  profile.batch_size = 4;
  profile.environment = {"3.11.2", "2.13.0+cpu", "cpu", "AMD EPYC 9V74 80-Core Processor", 2, ""};

  profile.other = {{"Python between operations, outside of lines", 5.21, 0},
                   {"autograd engine, idle", 3.44, 0},
                   {"inputs and labels", 0, 4 * 3 * 224 * 224 * 4 + 4 * 8},
                   {"library workspaces", 0, 18874368},
                   {"garbage collection", 0.31, 0}};
  analysis::Node& root = profile.breakdown;
  root = Builder::node("iteration", "", {}, {});
  Builder::add(root, builder.network());
  Builder::add(root, builder.step("optimizer.step", Builder::kOptimizer, {kTraining, 12}, 24.6));
  Builder::add(root, builder.step("CrossEntropyLoss", Builder::kForward, {kEntry, 36}, 0.62));
  Builder::add(root, builder.step("optimizer.zero_grad", Builder::kOther, {kEntry, 34}, 0.34));
  analysis::Node rest = Builder::node("outside of modules", "", {}, {});
  for (const analysis::OtherCost& other : profile.other) {
    rest.ms += other.ms;
    rest.by_phase[Builder::kOther] += other.ms;
    rest.peak_bytes += other.peak_bytes;
  }
  Builder::add(root, std::move(rest));
  root = Builder::sorted(std::move(root));
  profile.lines = builder.lines();

  profile.iteration = {{root.ms, root.ms * 0.9942, root.ms * 1.0071}, 21, 5, root.by_phase};
  profile.samples_per_second = 4000 / root.ms;
  profile.max_samples_per_second = 1000 / 195.4;
  profile.peak_bytes = root.peak_bytes;
  profile.capacity_bytes = std::uint64_t{24} << 30;
  std::uint64_t weights = 0;
  for (const analysis::LineCost& line : profile.lines) {
    weights += line.weights_bytes;
  }
  const std::uint64_t inputs = profile.other[2].peak_bytes;
  const std::uint64_t temporaries = profile.other[3].peak_bytes;
  profile.by_category = {weights, weights,    weights, root.peak_bytes - 3 * weights - inputs - temporaries,
                         inputs,  temporaries};
  profile.memory_over_time = memory_over_time(profile.by_category);
  add_models(profile);
  profile.skipped = {
      {512, protocol::FailureKind::kOutOfMemory, "the process would need more than the limit of 8.00 GiB"}};
  profile.warnings = {
      "The machine was busy while the iteration was timed: 1.7 of its 2 cores were used by others. "
      "Profile again when it is idle for a narrower interval."};
  profile.scale = 0.973;
  profile.recording_overhead = 0.182;
  profile.user_line_share = 1 - (5.21 + 3.44 + 0.31) / root.ms;
  profile.recorded_iterations = 5;
  return profile;
}

/// One batch size ran, nothing was recorded: no models, no lines, no breakdown, no maximum.
inline analysis::Profile minimal_profile() {
  analysis::Profile profile;
  profile.entry_path = "/tmp/entry.py";
  profile.batch_size = 32;
  profile.environment = {"3.12.4", "2.13.0", "cuda", "NVIDIA H200", 16, ""};
  profile.iteration = {{0.0842, 0.0842, 0.0842}, 3, 1, {0.0842, 0, 0, 0, 0}};
  profile.samples_per_second = 380047.5;
  profile.peak_bytes = 5000;
  profile.by_category = {1000, 1000, 0, 2500, 500, 0};
  profile.time_samples = {{32, profile.iteration.ms, 3}};
  profile.memory_samples = {{32, profile.peak_bytes}};
  return profile;
}

}  // namespace ridgeline::report::testing
