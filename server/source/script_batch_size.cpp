#include "source/script_batch_size.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "source/default_value.h"
#include "source/script_numbers.h"
#include "source/syntax.h"
#include "source/training_loaders.h"
#include "source/training_script.h"

namespace ridgeline::source {

namespace {

using Content = SourceTree::Content;

constexpr std::string_view kOfTrainer = "per_device_train_batch_size";

ScriptBatchSize hindered(BatchSizeObstacle obstacle) { return {{obstacle, {}, {}, false}}; }

/// What the calls that make batches are given as the batch size.
std::vector<NumberPlace> places_of(const Content& content, const TrainingScript& script) {
  std::vector<NumberPlace> places;
  if (script.form == TrainingForm::kTrainer) {
    for_each_node(content.root(), [&](Node node, const std::vector<Node>& /*ancestors*/) {
      if (const Node value = node.is("call") ? argument_of(content, node, kOfTrainer, -1) : Node(); value.exists()) {
        places.push_back(number_place_of(content, script, value));
      }
    });
    return places.empty() ? std::vector{setting_place_of(content, script, kOfTrainer)} : places;
  }
  for (const Node loader : training_loaders(content, script)) {
    if (const Node size = argument_or_option(content, script, loader, "batch_size", 1); size.exists()) {
      places.push_back(number_place_of(content, script, size));
    }
  }
  constexpr auto kSizeNames = std::to_array<std::string_view>({"batch_size", "BATCH_SIZE", "batchsize"});
  for (std::size_t i = 0; places.empty() && i < kSizeNames.size(); ++i) {
    if (NumberPlace place = setting_place_of(content, script, kSizeNames[i]); place.literal.exists()) {
      places.push_back(std::move(place));
    }
  }
  return places;
}

}  // namespace

std::optional<ScriptBatchSize> find_script_batch_size(const SourceTree& tree) {
  const Content& content = tree.content();
  const auto script = read_training_script(content);
  if (!script || script->form == TrainingForm::kModelOnly) {
    return std::nullopt;
  }
  const std::vector<NumberPlace> places = places_of(content, *script);
  if (places.empty() || std::ranges::any_of(places, [](const NumberPlace& one) { return !one.literal.exists(); })) {
    return hindered(BatchSizeObstacle::kNotInFile);
  }
  const Span literal = places.front().literal.span();
  if (std::ranges::any_of(places, [&](const NumberPlace& one) { return one.literal.span() != literal; })) {
    return hindered(BatchSizeObstacle::kSeveralNumbers);
  }
  return ScriptBatchSize{read_value(content.text, places.front().literal).batch_size, places.front().options};
}

}  // namespace ridgeline::source
