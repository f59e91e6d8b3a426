#include "source/training_loaders.h"

#include <algorithm>

#include "base/text.h"
#include "source/edit_places.h"

namespace ridgeline::source {

namespace {

/// Whether a loader is assigned to a name with "train", or is returned by train_dataloader() of a Lightning module.
bool is_named_for_training(const SourceTree::Content& content, const std::vector<Node>& around) {
  return std::ranges::any_of(around, [&](Node node) {
    const Node name = node.is("assignment")            ? node.field("left")
                      : node.is("function_definition") ? node.field("name")
                                                       : Node();
    return name.exists() && base::contains(content.text_of(name), "train");
  });
}

}  // namespace

std::vector<Node> training_loaders(const SourceTree::Content& content, const TrainingScript& script) {
  const auto is_loader = [&](Node node) { return is_call(node) && callee_name(content, node) == "DataLoader"; };
  std::vector<Node> loaders;
  const auto names = script.loop_iterable.exists()
                         ? nodes_in(script.loop_iterable, [](Node node) { return node.is("identifier"); })
                         : std::vector<Node>();
  for (const Node name : names) {
    const ScriptStatement* const assigned = assignment_of(script, content.text_of(name));
    if (assigned != nullptr && assigned->value.exists() && is_loader(assigned->value)) {
      loaders.push_back(assigned->value);
    }
  }
  if (!loaders.empty()) {
    return loaders;
  }
  std::vector<Node> all;
  for_each_node(content.root(), [&](Node node, const std::vector<Node>& ancestors) {
    if (is_loader(node)) {
      all.push_back(node);
      if (is_named_for_training(content, ancestors)) {
        loaders.push_back(node);
      }
    }
  });
  return loaders.empty() ? all : loaders;
}

}  // namespace ridgeline::source
