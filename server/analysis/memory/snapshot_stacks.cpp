#include "analysis/memory/snapshot_stacks.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/path.h"
#include "base/text.h"

namespace ridgeline::analysis {

namespace {

bool is_python(const MemoryFrame& frame) { return frame.file.ends_with(".py"); }

/// What a frame says of the block, if anything.
MemoryUse use_of_frame(const MemoryFrame& frame) {
  const std::string_view file = frame.file;
  if (base::contains(file, "/torch/optim/")) {
    return MemoryUse::kOptimizer;
  }
  if (file.ends_with("/torch/nn/modules/module.py")) {
    const bool moves = frame.function == "_apply" || frame.function == "convert" || frame.function == "to" ||
                       frame.function == "cuda" || frame.function == "to_empty";
    return moves ? MemoryUse::kWeights : MemoryUse::kActivations;
  }
  if (file.ends_with("/torch/autograd/__init__.py") || base::contains(file, "torch/csrc/autograd/engine") ||
      (file.ends_with("/torch/_tensor.py") && frame.function == "backward")) {
    return MemoryUse::kBackward;
  }
  return base::contains(file, "/torch/utils/data/") ? MemoryUse::kData : MemoryUse::kOther;
}

class Frames {
 public:
  Frames(const MemoryHistory& history, const std::string& project_root) : history_(history), root_(project_root) {
    for (const MemoryFrame& frame : history.frames) {
      uses_.push_back(use_of_frame(frame));
    }
  }

  bool is_own(const MemoryFrame& frame) const {
    if (!is_python(frame)) {
      return false;
    }
    return root_.empty()
               ? !base::contains(frame.file, "/site-packages/") && !base::contains(frame.file, "/dist-packages/") &&
                     !base::contains(frame.file, "/lib/python3") && !base::contains(frame.file, "/torch/")
               : base::is_below(frame.file, root_);
  }

  /// The innermost frame of the user's, else the innermost of Python; null: there is none.
  const MemoryFrame* answering(const std::vector<std::uint32_t>& stack) const {
    const auto find = [&](auto matches) {
      const auto found =
          std::ranges::find_if(stack, [&](std::uint32_t number) { return matches(history_.frames[number]); });
      return found == stack.end() ? nullptr : &history_.frames[*found];
    };
    const MemoryFrame* const own = find([&](const MemoryFrame& frame) { return is_own(frame); });
    return own != nullptr ? own : find(is_python);
  }

  /// The innermost frame that says something.
  MemoryUse use_of(const std::vector<std::uint32_t>& stack) const {
    if (stack.empty()) {
      return MemoryUse::kUnknown;
    }
    const auto found =
        std::ranges::find_if(stack, [&](std::uint32_t number) { return uses_[number] != MemoryUse::kOther; });
    return found == stack.end() ? MemoryUse::kOther : uses_[*found];
  }

  std::string shown(const std::string& file) const {
    return !root_.empty() && base::is_below(file, root_) ? file.substr(root_.size() + 1) : file;
  }

 private:
  const MemoryHistory& history_;
  const std::string& root_;
  std::vector<MemoryUse> uses_;  ///< of each frame
};

}  // namespace

SnapshotStacks read_stacks(const MemoryHistory& history, const std::string& project_root) {
  const Frames frames(history, project_root);
  SnapshotStacks stacks;
  std::map<std::tuple<std::string, std::uint32_t, std::string>, std::uint32_t> numbers;
  for (const std::vector<std::uint32_t>& stack : history.stacks) {
    const MemoryFrame* const frame = frames.answering(stack);
    SnapshotLine line;
    if (frame != nullptr) {
      line = {{frames.shown(frame->file), frame->line}, frame->function, frames.is_own(*frame)};
    }
    const auto [found, is_new] = numbers.try_emplace({line.location.file, line.location.line, line.function},
                                                     static_cast<std::uint32_t>(stacks.lines.size()));
    if (is_new) {
      stacks.lines.push_back(std::move(line));
    }
    stacks.line_of.push_back(found->second);
    stacks.use_of.push_back(frames.use_of(stack));
    stacks.is_in_optimizer_step.push_back(stacks.use_of.back() == MemoryUse::kOptimizer);
  }
  return stacks;
}

}  // namespace ridgeline::analysis
