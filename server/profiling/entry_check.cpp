#include "profiling/entry_check.h"

#include <filesystem>
#include <utility>

#include "profiling/source_text.h"
#include "source/entry_point.h"

namespace ridgeline::profiling {

base::Result<void, RunFailure> check_entry(const Target& target, std::optional<std::string> text) {
  if (!text.has_value()) {
    text = text_of(target.entry);
  }
  if (!text.has_value()) {
    return {};
  }
  const auto tree = source::SourceTree::parse(std::move(*text));
  if (!tree.has_value() || !source::cannot_define_providers(*tree)) {
    return {};
  }
  const std::string name = std::filesystem::path(target.entry).filename().string();
  RunFailure failure{
      protocol::failure_of(
          protocol::FailureKind::kProviderMissing, "load",
          name +
              " defines no `model_provider`, no `input_provider` and no `iteration_provider`, so it was not run. "
              "Define these three functions in it, or in a new file that imports your model from it. "
              "`ridgeline init` writes a first version of that file; `ridgeline run " +
              name + "` records training steps of a script as it is, without one."),
      ""};
  failure.frames.push_back({target.entry, 1, "", ""});
  return failure;
}

}  // namespace ridgeline::profiling
