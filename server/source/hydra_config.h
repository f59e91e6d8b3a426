// Numbers of a training script that stand in the YAML configuration that Hydra reads for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/batch_size.h"
#include "source/source_tree.h"

namespace ridgeline::source {

/// A setting of a configuration: `train.batch_size` of "conf/config.yaml".
struct ConfigSetting {
  std::string folder;  ///< relative to the script's; empty: the same
  std::string name;    ///< of the file, without ".yaml"
  std::vector<std::string> keys;
};

/// The setting that the training loader gets as its batch size, where a function of the script is decorated with
/// hydra.main. Pure.
std::optional<ConfigSetting> hydra_batch_size(const SourceTree& tree);

/// The number at these keys of nested block mappings; nothing where the text has none there, or says it in another way
/// (flow style, anchors, several documents). Pure.
std::optional<BatchSize> yaml_number(std::string_view yaml, std::span<const std::string> keys);

/// What the list `defaults` of a configuration chooses for a group: "base" for `- train: base`. Empty: nothing. Pure.
std::string hydra_choice(std::string_view yaml, std::string_view group);

}  // namespace ridgeline::source
