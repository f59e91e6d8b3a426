#include "analysis/attribution/source_scope.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"

namespace ridgeline::analysis {

using base::contains;

bool is_user_file(std::string_view file, const SourceScope& scope) {
  if (!base::is_below(file, scope.project_root) || base::installed_path(file)) {
    return false;
  }
  for (const std::string& root : scope.environment_roots) {
    // An environment that holds the whole project says nothing about the files in it.
    const bool holds_project = root == scope.project_root || base::is_below(scope.project_root, root);
    if (!holds_project && base::is_below(file, root)) {
      return false;
    }
  }
  return true;
}

bool is_in_code(std::string_view file, const SourceScope& scope) {
  return std::ranges::any_of(scope.code, [&](const CodePackage& package) {
    return std::ranges::any_of(package.places,
                               [&](const std::string& place) { return file == place || base::is_below(file, place); });
  });
}

std::string display_path(std::string_view file, const SourceScope& scope) {
  return std::string(base::relative_to(file, scope.project_root).value_or(file));
}

std::vector<CodeTraits> code_traits(const recording::Recording& recording, const SourceScope& scope) {
  std::vector<CodeTraits> traits;
  traits.reserve(recording.code_file().size());
  for (std::size_t code = 0; code < recording.code_file().size(); ++code) {
    const std::string_view file = recording.string(recording.code_file()[code]);
    const std::string_view name = recording.string(recording.code_name()[code]);
    CodeTraits trait;
    trait.user = is_user_file(file, scope);
    trait.has_figures = trait.user || is_in_code(file, scope);
    trait.standard = file.starts_with('<') || (contains(file, "/lib/python3") && !base::installed_path(file));
    trait.optimizer = contains(file, "/torch/optim/") || file.ends_with("/torch/amp/grad_scaler.py") ||
                      file.ends_with("/torch/nn/utils/clip_grad.py");
    trait.torch = !trait.user && contains(file, "/torch/");
    trait.algorithm = contains(file, "/torch/optim/") && !file.ends_with("/optim/optimizer.py") &&
                      !file.ends_with("/optim/lr_scheduler.py");
    trait.context = file.ends_with("/torch/utils/_contextlib.py");
    trait.data = contains(file, "/torch/utils/data/");
    trait.engine = name == "_engine_run_backward" && file.ends_with("/torch/autograd/graph.py");
    trait.checkpoint = file.ends_with("/torch/utils/checkpoint.py");
    trait.ddp = file.ends_with("/torch/nn/parallel/distributed.py");
    traits.push_back(trait);
  }
  return traits;
}

}  // namespace ridgeline::analysis
