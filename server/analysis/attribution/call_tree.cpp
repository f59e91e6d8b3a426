#include "analysis/attribution/call_tree.h"

#include <algorithm>
#include <utility>

namespace ridgeline::analysis {

namespace {

std::size_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t hash = a * 0x9E3779B97F4A7C15ULL ^ (b + 0x632BE59BD9B4E019ULL + (a << 6U) + (a >> 2U));
  hash ^= hash >> 29U;
  return static_cast<std::size_t>(hash * 0xBF58476D1CE4E5B9ULL);
}

std::uint64_t pack(std::uint32_t high, std::uint32_t low) { return (std::uint64_t{high} << 32U) | low; }

}  // namespace

std::size_t CallTree::KeyHash::operator()(const Key& key) const {
  return mix(pack(key.parent, key.code), pack(key.line, key.instance));
}

std::size_t CallTree::PairHash::operator()(const std::pair<std::uint64_t, std::uint32_t>& pair) const {
  return mix(pair.first, pair.second);
}

CallTree::CallTree(const recording::Recording& recording, const SourceScope& scope)
    : recording_(&recording), traits_(code_traits(recording, scope)), nodes_(1), lines_(1) {
  node_of_stack_.resize(recording.node_parent().size(), 0);
  for (std::uint32_t stack = 1; stack < node_of_stack_.size(); ++stack) {
    node_of_stack_[stack] = find_or_add_child(node_of_stack_[recording.node_parent()[stack]], stack);
  }
}

TreeNode CallTree::find_or_add_child(TreeNode parent, std::uint32_t recorded) {
  const std::uint32_t code = recording_->node_code()[recorded];
  // An instruction may have no line of its own, such as the first one of a module: then 0 was recorded.
  const std::uint32_t line = std::max(1U, recording_->node_line()[recorded]);
  const Key key{parent, code, line, recording_->node_instance()[recorded]};
  const auto [found, inserted] = children_.try_emplace(key, static_cast<TreeNode>(nodes_.size()));
  if (inserted) {
    const CodeTraits& traits = traits_[code];
    Node node = nodes_[parent];
    node.parent = parent;
    node.depth = nodes_[parent].depth + 1;
    node.instance = key.instance;
    node.code = code;
    node.code_line = key.line;
    node.line = traits.has_figures ? intern_line(recording_->code_file()[code], key.line) : 0;
    node.self_line = traits.has_figures ? node.line : node.self_line;
    const bool in_closure = traits.engine || key.instance != 0 || (node.calls_closure && !traits.torch);
    node.optimizer = traits.optimizer || (node.optimizer && !in_closure);
    node.calls_closure = traits.algorithm || (node.calls_closure && traits.context);
    node.data = node.data || traits.data;
    node.checkpoint = traits.checkpoint;
    node.recomputation = !traits.engine && (node.recomputation || (node.engine && traits.checkpoint));
    node.engine = node.engine || traits.engine;
    node.module = node.module || key.instance != 0;
    nodes_.push_back(node);
  }
  return found->second;
}

TreeNode CallTree::extend(TreeNode base, std::uint32_t recorded, std::uint32_t outer) {
  if (recorded == outer) {
    return base;
  }
  const auto [cached, inserted] = extended_.try_emplace(std::pair{pack(base, outer), recorded}, base);
  if (!inserted) {
    return cached->second;
  }
  std::vector<std::uint32_t> suffix;
  std::uint32_t stack = recorded;
  while (stack != 0 && stack != outer) {
    suffix.push_back(stack);
    stack = recording_->node_parent()[stack];
  }
  TreeNode node = base;
  if (stack == outer) {
    for (std::size_t i = suffix.size(); i-- > 0;) {
      node = find_or_add_child(node, suffix[i]);
    }
  }
  cached->second = node;
  return node;
}

TreeNode CallTree::extend_recomputation(TreeNode base, std::uint32_t recorded, std::uint32_t outer) {
  const TreeNode call = outermost_checkpoint(base);
  // The outermost recomputing frame below the autograd engine.
  std::uint32_t entry = recorded;
  while (entry != 0 && nodes_[nodes_[node_of_stack_[entry]].parent].recomputation) {
    entry = recording_->node_parent()[entry];
  }
  return call == 0 ? extend(base, recorded, outer)
                   : extend(nodes_[call].parent, recorded, recording_->node_parent()[entry]);
}

TreeNode CallTree::outermost_checkpoint(TreeNode node) const {
  TreeNode found = 0;
  for (; node != 0; node = nodes_[node].parent) {
    found = nodes_[node].checkpoint ? node : found;
  }
  return found;
}

LineId CallTree::intern_line(std::uint32_t file, std::uint32_t line) {
  const auto [found, inserted] = line_ids_.try_emplace(pack(file, line), static_cast<LineId>(lines_.size()));
  if (inserted) {
    lines_.push_back({file, line});
  }
  return found->second;
}

std::uint32_t innermost_module(const CallTree& tree, TreeNode node) {
  while (node != 0 && tree[node].instance == 0) {
    node = tree[node].parent;
  }
  return node == 0 ? 0 : tree[node].instance;
}

std::string_view module_name(const recording::Recording& recording, std::uint32_t instance) {
  const std::string_view name = recording.string(recording.instance_name()[instance]);
  return name.empty() ? recording.string(recording.instance_type()[instance]) : name;
}

}  // namespace ridgeline::analysis
