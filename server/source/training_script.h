// What a Python text says about training: its models, its training loop and the statements that lead to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "source/statement_names.h"
#include "source/syntax.h"

namespace ridgeline::source {

/// A statement; or the value that a call gives a parameter, or an outer loop its variable, written as an assignment.
struct ScriptStatement {
  Node node;         ///< none: `text` is what was made up
  std::string text;  ///< `model = net`; empty for a statement of the script
  Node value;        ///< what an assignment of one name assigns, or of what a call gives; else none
  StatementNames names;
  bool of_module = false;  ///< importing the script runs it
  bool is_import = false;
  bool is_definition = false;  ///< of a function or a class
};

enum class ModelBase : std::uint8_t { kModule, kLightning, kPreTrained };

struct ModelClass {
  Node node;
  ModelBase base{};
  bool is_a_base = false;  ///< of another model of the file
};

/// How the script trains.
enum class TrainingForm : std::uint8_t {
  kLoop,       ///< a loop that calls backward()
  kLightning,  ///< a LightningModule
  kTrainer,    ///< transformers.Trainer
  kModelOnly,  ///< there is a model, and nothing that trains it
};

/// The training script in a text without syntax errors. Nodes and names are of the tree, which has to outlive it.
struct TrainingScript {
  TrainingForm form{};
  std::map<std::string_view, ModelClass> models;
  std::map<std::string_view, Node> definitions;  ///< functions and classes at the top, by name
  /// What runs before the loop, or before the model is handed to what trains it: of the module, then of each function
  /// on the way to the loop.
  std::vector<ScriptStatement> statements;
  /// kLoop: the statements of the loop's body.
  std::vector<ScriptStatement> body;
  Node loop_target;    ///< kLoop: `images, labels`; none for `while`
  Node loop_iterable;  ///< kLoop: `enumerate(loader)`; none for `while`
  Node trainer;        ///< kLightning: the call of fit(), if any; kTrainer: the call of Trainer()
  NameSet open;        ///< parameters on the way to the loop that no call of the file gives a value
  NameSet trains;      ///< functions of the file that call backward(), themselves or by others
  std::string method;  ///< kModelOnly: the loop is in this method, which is not understood: "Trainer.train"
  /// Importing the script does not train: what it runs at once are definitions, assignments and settings.
  bool can_be_imported = false;
};

/// Fails, with a sentence for the user, when the text neither trains in a way that is understood nor defines a model.
/// Pure; nothing of the text runs.
base::Result<TrainingScript> read_training_script(const SourceTree::Content& content);

/// `for _ in range(n)`, `while`: a loop that counts, where another goes through the data.
bool is_counting_loop(const SourceTree::Content& content, Node loop);

/// Whether a statement is `if __name__ == "__main__":`, or the other way round.
bool is_main_guard(const SourceTree::Content& content, Node statement);

/// Whether a call constructs a model: of a class of the script, `from_pretrained` and the like, torchvision.
bool constructs_model(const SourceTree::Content& content, const TrainingScript& script, Node call);

/// Whether a statement takes a step of an optimizer, or has a part in it: backward(), step(), zero_grad()...
bool is_part_of_step(const TrainingScript& script, const StatementNames& names);

/// The last plain assignment of `name` before the loop; null: there is none.
const ScriptStatement* assignment_of(const TrainingScript& script, std::string_view name);

/// The value of a keyword argument, or the `position`-th positional one (none for a negative position).
Node argument_of(const SourceTree::Content& content, Node call, std::string_view keyword, int position);

/// Calls `visit(node, ancestors)` for each node below `top`, outer before inner; without recursion.
template <typename Visit>
void for_each_node(Node top, Visit visit) {
  std::vector<Node> ancestors;
  Cursor cursor(top);
  bool more = true;
  while (more) {
    visit(cursor.node(), ancestors);
    const Node here = cursor.node();
    if (cursor.to_first_child()) {
      ancestors.push_back(here);
      continue;
    }
    while (!(more = !ancestors.empty() && cursor.to_next_sibling()) && !ancestors.empty()) {
      cursor.to_parent();
      ancestors.pop_back();
    }
  }
}

}  // namespace ridgeline::source
