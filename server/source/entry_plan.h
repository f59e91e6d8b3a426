// Which parts of a training script go into which provider of an entry file.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source/script_slice.h"
#include "source/training_script.h"

namespace ridgeline::source {

/// PythonLines are without indentation and without a line feed.
using PythonLines = std::vector<std::string>;

struct EntryPlan {
  std::vector<std::string_view> models;  ///< what the model provider returns, in the order of the script
  std::set<std::string> imports;         ///< beside those of the script: "import torch"
  NameSet names;                         ///< names of the script in lines that are made up
  PythonLines shared;                    ///< lines at the top, after the statements of the script

  Slice model;
  PythonLines model_lines;  ///< after the statements; the last returns
  Slice input;              ///< its statements stand at the top: they run once, not for each batch size
  std::string batch_size = "32";
  std::string batch_size_note;  ///< a comment for it: "guessed"
  PythonLines input_first;
  std::vector<const ScriptStatement*> input_statements;  ///< of the script, between these lines
  PythonLines input_lines;
  Slice iteration;
  PythonLines iteration_setup;
  PythonLines iteration_setup_last;     ///< behind the statements of the script that the iteration needs
  std::vector<std::string> parameters;  ///< of the iteration
  PythonLines prologue;                 ///< the first lines of the iteration
  std::vector<const ScriptStatement*> body;
  PythonLines iteration_lines;  ///< in place of a body
  NameSet exposed;              ///< as of StepBody
  NameSet written;
  std::vector<std::string> unknown;
};

/// Plans from a script that trains. `import`: its definitions are imported, not copied.
EntryPlan plan_entry(const SourceTree::Content& content, const TrainingScript& script, bool import);

}  // namespace ridgeline::source
