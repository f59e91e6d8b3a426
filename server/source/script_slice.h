// The statements of a training script that given names depend on.
#pragma once

#include <cstddef>
#include <set>

#include "source/training_script.h"

namespace ridgeline::source {

struct Slice {
  std::set<std::size_t> statements;  ///< indices of TrainingScript::statements
  NameSet imported;                  ///< names that are imported from the script
  NameSet missing;                   ///< what no statement assigns: builtins, and what is not known

  void merge(const Slice& other);
};

/// A program slice (Weiser, 1981), by statement: a compound statement belongs to it as a whole.
class Slicer {
 public:
  /// `import`: what the script's module defines is imported from it; else it is copied.
  Slicer(const TrainingScript& script, bool import) : script_(script), import_(import) {}

  /// The names of the models and of what is made from them: what makes or reads these is copied also when the rest is
  /// imported.
  void set_models(NameSet models) { models_ = std::move(models); }

  /// What `roots` depend on before the loop; names in `given` have their value otherwise.
  Slice slice(const NameSet& roots, const NameSet& given) const;

 private:
  bool is_imported(const ScriptStatement& statement) const;

  const TrainingScript& script_;
  bool import_;
  NameSet models_;
};

/// Whether two sets have a name in common.
bool have_common(const NameSet& one, const NameSet& other);

/// The statements of the loop's body that the step needs; without what only reports: logging, metrics.
struct StepBody {
  std::vector<const ScriptStatement*> statements;
  NameSet exposed;  ///< names whose value from before the iteration it reads
  NameSet writes;
};
StepBody step_body(const TrainingScript& script);

}  // namespace ridgeline::source
