// Stacks as analysis sees them: frames by line, with the frames of a backward op replaced by its forward op's.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/source_scope.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

using TreeNode = std::uint32_t;  ///< 0 is the empty stack
using LineId = std::uint32_t;    ///< 0 is "no line that has figures"

struct SourceLine {
  std::uint32_t file = 0;  ///< string of the recording
  std::uint32_t line = 0;
  bool operator==(const SourceLine&) const = default;
};

/// A tree of frames, a value that refers to its recording. It grows while stacks are added; nodes never change, parents
/// precede children, and a copy that has grown knows all nodes of the original by the same numbers.
class CallTree {
 public:
  CallTree(const recording::Recording& recording, const SourceScope& scope);

  struct Node {
    TreeNode parent = 0;
    LineId line = 0;              ///< of this frame, when its code has figures
    LineId self_line = 0;         ///< of the innermost such frame, this one included
    std::uint32_t code = 0;       ///< of this frame, as the recording numbers code objects
    std::uint32_t code_line = 0;  ///< where this frame is in it
    std::uint32_t instance = 0;   ///< module whose call this frame is, else 0
    std::uint32_t depth = 0;
    bool optimizer = false;      ///< this frame or one outside it, but for the closure that an optimizer calls
    bool calls_closure = false;  ///< what this frame calls that is not torch's is such a closure
    bool data = false;
    bool engine = false;
    bool module = false;
    bool checkpoint = false;     ///< this frame itself is one of torch.utils.checkpoint
    bool recomputation = false;  ///< a checkpoint runs its forward again, for the innermost engine outside it
  };

  /// The node of a stack of the recording.
  TreeNode node_of_stack(std::uint32_t recorded) const { return node_of_stack_[recorded]; }
  /// The node of `base` with the frames of `recorded` beyond `outer` on top; `base` itself when `outer` is not a
  /// stack that `recorded` extends.
  TreeNode extend(TreeNode base, std::uint32_t recorded, std::uint32_t outer);
  /// The node of a recomputation, as if it ran where the forward did: the frames of `base`, a stack of the checkpoint's
  /// forward, outside its checkpoint, and on top those of `recorded` from its own checkpoint on. As `extend` when
  /// `base` is no such stack.
  TreeNode extend_recomputation(TreeNode base, std::uint32_t recorded, std::uint32_t outer);

  const Node& operator[](TreeNode node) const { return nodes_[node]; }
  std::size_t size() const { return nodes_.size(); }
  const SourceLine& line(LineId line) const { return lines_[line]; }
  const CodeTraits& traits(std::uint32_t code) const { return traits_[code]; }
  std::size_t line_count() const { return lines_.size(); }

 private:
  struct Key {
    TreeNode parent;
    std::uint32_t code;
    std::uint32_t line;
    std::uint32_t instance;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct PairHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint32_t>& pair) const;
  };

  TreeNode find_or_add_child(TreeNode parent, std::uint32_t recorded);
  /// The frame of torch.utils.checkpoint nearest to the root among `node` and its parents; 0 when there is none.
  TreeNode outermost_checkpoint(TreeNode node) const;
  LineId intern_line(std::uint32_t file, std::uint32_t line);

  const recording::Recording* recording_;
  std::vector<CodeTraits> traits_;
  std::vector<Node> nodes_;
  std::vector<TreeNode> node_of_stack_;
  std::vector<SourceLine> lines_;
  std::unordered_map<Key, TreeNode, KeyHash> children_;
  std::unordered_map<std::uint64_t, LineId> line_ids_;
  std::unordered_map<std::pair<std::uint64_t, std::uint32_t>, TreeNode, PairHash> extended_;
};

/// The innermost module whose call is on the stack; 0: none is.
std::uint32_t innermost_module(const CallTree& tree, TreeNode node);

/// The dotted name of a module in its model, or its class where it has none.
std::string_view module_name(const recording::Recording& recording, std::uint32_t instance);

}  // namespace ridgeline::analysis
