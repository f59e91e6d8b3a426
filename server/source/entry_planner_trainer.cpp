#include <algorithm>

#include "source/entry_planner.h"
#include "source/script_numbers.h"

namespace ridgeline::source {

namespace {

constexpr std::string_view kBatchSize = "per_device_train_batch_size";  // of TrainingArguments

}  // namespace

void Planner::plan_trainer() {
  const Node call = script_.trainer;
  const Node model = argument_of(content_, call, "model", 0);
  const bool named = model.is("identifier");
  plan_.parameters = {"batch"};
  targets_ = {"batch"};
  const std::string_view name = named ? content_.text_of(model) : "model";
  if (named) {
    find_models({name});
  }
  if (named && plan_.models.empty() && is_variable(name)) {
    plan_.models = {name};
    slicer_.set_models({name});
  }
  if (!named && model.exists() && construction_in(model).exists()) {
    plan_.models = {"model"};
    inline_model_ = construction_in(model);
    const NameSet reads = names_in(content_, model).reads;
    plan_.model = slicer_.slice(reads, {});
    plan_.names.insert(reads.begin(), reads.end());
    plan_.model_lines.push_back("return " + std::string(content_.text_of(model)));
  } else {
    plan_models();
  }
  const Node given = argument_of(content_, call, "args", 1);
  const Node options = given.is("identifier") ? value_of_name(content_.text_of(given)) : given;
  const Node written = named_argument(options, kBatchSize);
  const Node number = written.exists() ? written : setting_place_of(content_, script_, kBatchSize).literal;
  set_batch_size(number);
  if (!number.exists()) {
    plan_.batch_size = "8";  // the default of TrainingArguments
    plan_.batch_size_note.clear();
  }
  trainer_input();
  trainer_step(given, std::string(plan_.models.empty() ? "model" : plan_.models[0]));
}

void Planner::trainer_input() {
  const Node dataset = named_argument(script_.trainer, "train_dataset");
  const Node made = dataset.is("identifier") ? value_of_name(content_.text_of(dataset)) : dataset;
  const Node collator = named_argument(script_.trainer, "data_collator");
  // What a class of the script makes is what it trains on; what is downloaded only has the shapes of the model's input.
  if (script_.definitions.contains(called_name(content_, made)) && plan_dataset_input(dataset, collator, made)) {
    return;
  }
  InputQuestion question;
  question.construction = inline_model_.exists()     ? inline_model_
                          : plan_.models.size() == 1 ? construction_of(plan_.models[0])
                                                     : Node();
  question.names = {"batch"};
  question.statements = &script_.body;
  if (!use_guess(question, false) && !plan_dataset_input(dataset, collator, made)) {
    unknown(plan_.input_lines, "the input, a dict of batch_size samples");
  }
}

void Planner::trainer_step(Node arguments, const std::string& model) {
  const std::string parameters = model + ".parameters()";
  std::vector<std::string>& setup = plan_.iteration_setup_last;
  std::string norm = "1.0";
  NameSet reads;
  if (arguments.exists()) {
    const bool named = arguments.is("identifier");
    const std::string name = named ? std::string(content_.text_of(arguments)) : "args";
    reads = names_in(content_, arguments).reads;
    plan_.imports.insert("from transformers import Trainer");
    if (!named) {
      setup.push_back(name + " = " + std::string(content_.text_of(arguments)));
    }
    setup.push_back("optimizer_class, options = Trainer.get_optimizer_cls_and_kwargs(" + name + ")");
    setup.push_back("optimizer = optimizer_class(" + parameters + ", weight_decay=" + name +
                    ".weight_decay, **options)");
    norm = name + ".max_grad_norm";
  } else {
    setup.push_back("optimizer = torch.optim.AdamW(" + parameters + ", lr=5e-5, weight_decay=0.0)");
  }
  plan_.iteration_lines = {"inputs = {name: value.to(" + model + ".device) for name, value in batch.items()}",
                           "loss = " + model + "(**inputs).loss",
                           "loss.backward()",
                           "torch.nn.utils.clip_grad_norm_(" + parameters + ", " + norm + ")",
                           "optimizer.step()",
                           "optimizer.zero_grad()"};
  plan_.imports.insert("import torch");
  plan_.names.insert(reads.begin(), reads.end());
  plan_.iteration = slicer_.slice(reads, model_names());
}

void Planner::plan_module_class() {
  std::string_view name = main_class();
  const bool lightning = script_.form == TrainingForm::kLightning;
  find_instance(lightning);
  Node construction = plan_.models.empty() ? inline_model_ : construction_of(plan_.models[0]);
  if (construction.exists() && script_.models.contains(called_name(content_, construction))) {
    name = called_name(content_, construction);
  }
  if (!plan_.models.empty()) {
    plan_models();
  } else if (inline_model_.exists()) {
    const NameSet reads = names_in(content_, inline_model_).reads;
    plan_.model = slicer_.slice(reads, {});
    plan_.names.insert(reads.begin(), reads.end());
    plan_.model_lines.push_back("return " + std::string(content_.text_of(inline_model_)));
    plan_.models = {"model"};
  } else {
    construct(name, "return ");
    plan_.models = {"model"};
  }
  class_input(name, construction, lightning);
  if (lightning) {
    lightning_step(name, std::string(plan_.models[0]));
  } else {
    plan_.parameters = {"*inputs"};
    const std::string where = script_.method.empty() ? "" : "; the script's is in " + script_.method;
    unknown(plan_.iteration_lines, "the iteration: loss, backward(), step of an optimizer" + where);
  }
}

void Planner::find_instance(bool lightning) {
  const Node model =
      lightning && script_.trainer.exists() ? argument_of(content_, script_.trainer, "model", 0) : Node();
  if (model.is("identifier") && is_variable(content_.text_of(model))) {
    plan_.models = {content_.text_of(model)};
  } else if (model.exists() && construction_in(model).exists()) {
    inline_model_ = construction_in(model);
    return;
  }
  for (const ScriptStatement& statement : script_.statements) {
    if (plan_.models.empty() && !statement.is_definition && statement.names.writes.size() == 1 &&
        script_.models.contains(called_name(content_, construction_in(statement.value)))) {
      plan_.models = {*statement.names.writes.begin()};
    }
  }
  slicer_.set_models(model_names());
}

void Planner::class_input(std::string_view name, Node construction, bool lightning) {
  const auto found = script_.models.find(name);
  const Node definition = found == script_.models.end() ? Node() : found->second.node;
  std::vector<ScriptStatement> statements;
  InputQuestion question;
  question.construction = construction;
  question.model = name;
  question.names = {"inputs"};
  question.statements = &statements;
  if (lightning) {
    plan_.parameters = {"batch"};
    const Node step = method_of(definition, "training_step").field("body");
    for (const Node node : step.exists() ? step.children() : std::vector<Node>()) {
      ScriptStatement statement;
      statement.node = node;
      statement.names = names_in(content_, node);
      statements.push_back(std::move(statement));
    }
    question.names = unpacked_names(statements, "batch");
    Node loader = script_.trainer.exists() ? argument_of(content_, script_.trainer, "train_dataloaders", 1) : Node();
    if (loader.is("identifier")) {
      loader = value_of_name(content_.text_of(loader));
    }
    if (called_name(content_, loader) == "DataLoader") {
      set_batch_size(argument_or_option(content_, script_, loader, "batch_size", 1));
      const Node dataset = argument_of(content_, loader, "dataset", 0);
      const Node made = dataset.is("identifier") ? value_of_name(content_.text_of(dataset)) : dataset;
      question.dataset = made;
      targets_.clear();
      if (is_downloaded(called_name(content_, made)) && use_guess(question, question.names.size() > 1)) {
        return;
      }
      if (dataset.exists() && plan_dataset_input(dataset, named_argument(loader, "collate_fn"), made)) {
        return;
      }
    }
  }
  if (plan_.batch_size == "32") {
    plan_.batch_size_note = "guessed";
  }
  if (!use_guess(question, lightning && question.names.size() > 1)) {
    unknown(plan_.input_lines,
            lightning ? "the input, a batch of batch_size samples" : "the input of " + std::string(name));
  }
}

Node Planner::returned_by(Node definition, std::string_view method) const {
  Node returned;
  const Node node = method_of(definition, method);
  if (node.exists()) {
    for_each_node(node, [&](Node inner, const std::vector<Node>& /*ancestors*/) {
      if (inner.is("return_statement") && inner.children().size() > 1) {
        returned = inner.children()[1];
      }
    });
  }
  return returned;
}

void Planner::lightning_step(std::string_view name, const std::string& model) {
  const auto found = script_.models.find(name);
  const Node definition = found == script_.models.end() ? Node() : found->second.node;
  const Node optimizers = returned_by(definition, "configure_optimizers");
  std::vector<Node> parts = optimizers.exists() ? optimizers.children() : std::vector<Node>();
  std::erase_if(parts, [](Node part) { return is_any_of(part.type(), {",", "(", ")", "[", "]", "comment"}); });
  const bool several = is_any_of(optimizers.type(), {"expression_list", "tuple", "list"});
  std::string element;
  if (optimizers.is("dictionary")) {
    element = "[\"optimizer\"]";
  } else if (several && !parts.empty() && parts[0].is("list")) {
    element = "[0][0]";
  } else if (several && parts.size() == 1) {
    element = "[0]";
  }
  plan_.parameters = {"batch"};
  if (!optimizers.exists() || (several && element.empty())) {
    unknown(plan_.iteration_lines, "the iteration: a step of each optimizer of configure_optimizers()");
    return;
  }
  const bool dict = returned_by(definition, "training_step").is("dictionary");
  plan_.iteration_setup.push_back("optimizer = " + model + ".configure_optimizers()" + element);
  plan_.iteration_lines = {"optimizer.zero_grad()",
                           "loss = " + model + ".training_step(batch, 0)" + (dict ? "[\"loss\"]" : ""),
                           "loss.backward()", "optimizer.step()"};
}

}  // namespace ridgeline::source
