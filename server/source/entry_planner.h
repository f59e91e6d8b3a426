// Working out an EntryPlan; within this layer.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "source/entry_plan.h"
#include "source/input_guess.h"
#include "source/script_slice.h"
#include "source/training_script.h"

namespace ridgeline::source {

/// Makes one plan.
class Planner {
 public:
  Planner(const SourceTree::Content& content, const TrainingScript& script, bool import);

  EntryPlan plan();

 private:
  // ---- entry_planner.cpp: names

  bool is_variable(std::string_view name) const;

  /// What a statement assigns to `name`, also as one of several names.
  Node value_given(const ScriptStatement& statement, std::string_view name) const;

  /// The call that makes a model, of `Net(...).to(device)` and the like; none.
  Node construction_in(Node value) const;

  Node construction_of(std::string_view name) const;

  Node construction_of_alias(std::string_view name) const;

  bool has_parameters_taken(std::string_view name) const;

  bool is_model(std::string_view name) const;

  /// The models among what `roots` depend on.
  void find_models(const NameSet& roots);

  NameSet model_names() const { return {plan_.models.begin(), plan_.models.end()}; }

  // ---- entry_planner.cpp: values that no call gives

  void unknown(PythonLines& lines, const std::string& what);

  /// Values for parameters that no call of the file gives one.
  void guess_open(const NameSet& names);

  // ---- entry_planner.cpp: the model

  void plan_models();

  /// The class of the file that no other model of it contains; the last, where there are several. Empty without models.
  std::string_view main_class() const;

  Node method_of(Node definition, std::string_view wanted) const;

  void construct(std::string_view name, const std::string& before);

  // ---- entry_planner.cpp: the loop

  void plan_loop();

  void refuse_generators();

  /// Unwraps `enumerate(tqdm(loader))`.
  void find_loader();

  void name_parameters();

  /// What the iteration needs besides `roots`: statements that register hooks on the models, as for optimizers that
  /// step within the backward pass.
  void add_hooks(const NameSet& given);

  /// Whether something changes the weights: an optimizer's step, or the script itself.
  bool updates_weights() const;

  // ---- entry_planner_input.cpp

  Node named_argument(Node call, std::string_view keyword) const { return argument_of(content_, call, keyword, -1); }

  void set_batch_size(Node value);

  void plan_input(const NameSet& roots);

  std::string input_todo() const;

  Node value_of_name(std::string_view name) const;

  bool depends_on_model(const Slice& slice) const;

  bool is_complete(const Slice& slice) const { return !have_common(slice.missing, script_.open); }

  /// Batches of the script's data set, of any size.
  bool plan_dataset_input(Node dataset, Node collate, Node made);

  bool is_iterable(Node made) const;

  /// A batch as the loader gives it: the values of several parameters, or that of one.
  void return_batch(const std::string& batch);

  /// The names that the loop gives the values of a batch: `images, labels = batch` counts, too.
  std::vector<std::string_view> value_names() const;

  std::vector<std::string_view> unpacked_names(const std::vector<ScriptStatement>& statements,
                                               std::string_view batch) const;

  bool plan_guessed_input(Node dataset);

  bool use_guess(const InputQuestion& question, bool as_one);

  /// A loader of another kind, which has its own batch size unless a name says what it is.
  bool plan_custom_loader_input();

  /// What depends on the batch size is made by the provider; the rest once.
  void set_custom_batch_size(std::string_view size, const Slice& slice);

  // ---- entry_planner_input.cpp: a loop that counts draws its data itself

  /// The models, and what is made from them: optimizers, other names.
  NameSet made_from_models() const;

  void of_steps(const NameSet& roots);

  void size_of_steps(const NameSet& reads, Slice slice);

  /// A step of several micro-batches, which a function of the script draws one by one: the provider draws them all.
  bool of_micro_batches();

  /// The only function of the script whose result the step gives names, and the statement that does.
  Node drawing_in_step() const;

  /// The number of micro-batches of a step: what the loop inside of it counts to; none: there is no such loop.
  Node micro_batches() const;

  /// A slice of the data is shorter than a batch where the data ends: refused, as its figures would be of another size.
  void check_slices();

  void returned_data();

  /// Each step takes all samples: names that calls of the step have as arguments.
  void of_whole_data(const NameSet& roots);

  /// Whether a name of the script may be a tensor of samples.
  bool is_data(std::string_view name) const;

  // ---- entry_planner_trainer.cpp: without a loop

  /// transformers.Trainer
  void plan_trainer();

  void trainer_input();

  void trainer_step(Node arguments, const std::string& model);

  /// A class alone, or a LightningModule.
  void plan_module_class();

  /// The variable, or the call, that has the model.
  void find_instance(bool lightning);

  void class_input(std::string_view name, Node construction, bool lightning);

  /// What the last `return` of a method returns.
  Node returned_by(Node definition, std::string_view method) const;

  void lightning_step(std::string_view name, const std::string& model);

  static constexpr int kMaxLinks = 16;  // of names that stand for another

  const SourceTree::Content& content_;
  const TrainingScript& script_;
  Slicer slicer_;
  EntryPlan plan_;
  std::map<std::string_view, std::vector<std::size_t>> writers_;  ///< statements, by the names that they write
  Node target_;                                                   ///< what the loop gives a value, without a counter
  Node iterable_;                                                 ///< the loader, without what is around it
  Node inline_model_;                                             ///< the call that makes a model without a name
  std::string_view counter_;                                      ///< the variable that counts iterations
  Node stride_;  ///< BATCH of `range(0, n, BATCH)`: the counter is the first sample of a batch
  std::vector<std::string_view> targets_;  ///< names that the loop assigns
  bool unpacks_ = false;                   ///< the loop takes batches apart into these, also `for (x,) in loader`
  std::vector<std::string_view> data_;     ///< names that the provider of the input returns, in a loop that counts
  bool nested_ = false;                    ///< the loop unpacks a batch in a way that parameters cannot
};

}  // namespace ridgeline::source
