#include "source/entry_planner.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "source/python_text.h"

namespace ridgeline::source {

namespace {

std::string todo(const std::string& what) { return "raise NotImplementedError(\"TODO: " + what + "\")"; }

}  // namespace

Planner::Planner(const SourceTree::Content& content, const TrainingScript& script, bool import)
    : content_(content), script_(script), slicer_(script, import) {
  for (std::size_t i = 0; i < script.statements.size(); ++i) {
    for (const std::string_view name : script.statements[i].names.writes) {
      writers_[name].push_back(i);
    }
  }
}

EntryPlan Planner::plan() {
  switch (script_.form) {
    case TrainingForm::kLoop:
      plan_loop();
      break;
    case TrainingForm::kTrainer:
      plan_trainer();
      break;
    case TrainingForm::kLightning:
    case TrainingForm::kModelOnly:
      plan_module_class();
      break;
  }
  return std::move(plan_);
}

bool Planner::is_variable(std::string_view name) const {
  const auto found = writers_.find(name);
  return found != writers_.end() && std::ranges::any_of(found->second, [&](std::size_t i) {
           return !script_.statements[i].is_import && !script_.statements[i].is_definition;
         });
}

Node Planner::value_given(const ScriptStatement& statement, std::string_view name) const {
  if (statement.value.exists() || !statement.node.is("expression_statement")) {
    return statement.value;
  }
  const Node assignment = statement.node.children().front();
  const Node left = assignment.field("left");
  const Node right = assignment.field("right");
  if (!assignment.is("assignment") || !left.is("pattern_list") || !right.is("expression_list")) {
    return {};
  }
  const std::vector<Node> names = left.children();
  const std::vector<Node> values = right.children();
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) {
    if (names[i].is("identifier") && content_.text_of(names[i]) == name) {
      return values[i];
    }
  }
  return {};
}

Node Planner::construction_in(Node value) const {
  for (int links = 0; links < kMaxLinks && value.is("call"); ++links) {
    if (constructs_model(content_, script_, value)) {
      return value;
    }
    const Node function = value.field("function");
    if (function.is("attribute") && function.field("object").is("call")) {
      value = function.field("object");
    } else if (is_any_of(called_name(content_, value), {"DataParallel", "compile"})) {
      value = argument_of(content_, value, "module", 0);
    } else {
      break;
    }
  }
  return {};
}

Node Planner::construction_of(std::string_view name) const {
  const auto found = writers_.find(name);
  for (std::size_t i = found == writers_.end() ? 0 : found->second.size(); i > 0; --i) {
    const Node value = value_given(script_.statements[found->second[i - 1]], name);
    if (const Node call = construction_in(value); call.exists()) {
      return call;
    }
    if (value.is("identifier") && content_.text_of(value) != name && writers_.contains(content_.text_of(value))) {
      return construction_of_alias(content_.text_of(value));
    }
  }
  return {};
}

Node Planner::construction_of_alias(std::string_view name) const {
  const auto found = writers_.find(name);
  for (std::size_t i = found == writers_.end() ? 0 : found->second.size(); i > 0; --i) {
    const Node value = value_given(script_.statements[found->second[i - 1]], name);
    if (const Node call = construction_in(value); call.exists()) {
      return call;
    }
  }
  return {};
}

bool Planner::has_parameters_taken(std::string_view name) const {
  const auto takes = [&](const ScriptStatement& statement) {
    return !statement.is_definition && std::ranges::any_of(statement.names.calls, [&](const CalledName& call) {
      return call.root == name && is_any_of(call.name, {"parameters", "named_parameters"});
    });
  };
  return std::ranges::any_of(script_.statements, takes) || std::ranges::any_of(script_.body, takes);
}

bool Planner::is_model(std::string_view name) const {
  if (!is_variable(name) && !script_.open.contains(name)) {
    return false;
  }
  const bool loss = base::contains(name, "loss") || base::contains(name, "criterion");
  return has_parameters_taken(name) || (!loss && construction_of(name).exists()) ||
         (script_.open.contains(name) && is_any_of(name, {"model", "net", "network"}));
}

void Planner::find_models(const NameSet& roots) {
  std::vector<std::string_view> waiting(roots.begin(), roots.end());
  NameSet seen(roots);
  NameSet models;
  while (!waiting.empty()) {
    const std::string_view name = waiting.back();
    waiting.pop_back();
    const auto found = writers_.find(name);
    const ScriptStatement* const last = found == writers_.end() ? nullptr : &script_.statements[found->second.back()];
    const bool is_other_name = last != nullptr && !last->text.empty() && last->value.is("identifier") &&
                               is_model(content_.text_of(last->value));
    if (is_model(name) && !is_other_name) {
      models.insert(name);
      continue;
    }
    for (const std::size_t i : found == writers_.end() ? std::vector<std::size_t>() : found->second) {
      const ScriptStatement& statement = script_.statements[i];
      for (const std::string_view read : statement.is_definition ? NameSet() : statement.names.reads) {
        if (seen.insert(read).second) {
          waiting.push_back(read);
        }
      }
    }
  }
  plan_.models.assign(models.begin(), models.end());
  const auto place = [&](std::string_view name) {
    const auto found = writers_.find(name);
    return found == writers_.end() ? 0 : found->second.front();
  };
  std::ranges::stable_sort(plan_.models, {}, place);
  slicer_.set_models(made_from_models());
}

void Planner::unknown(PythonLines& lines, const std::string& what) {
  lines.push_back(todo(what));
  plan_.unknown.push_back(what);
}

void Planner::guess_open(const NameSet& names) {
  std::vector<std::string> missing;
  for (const std::string_view view : names) {
    const std::string name(view);
    const auto has = [&](std::string_view part) { return base::contains(name, part); };
    if (!script_.open.contains(view) || std::ranges::find(plan_.models, view) != plan_.models.end()) {
      continue;
    }
    if (has("optim") && plan_.models.size() == 1) {
      plan_.iteration_setup.push_back(name + " = torch.optim.SGD(" + std::string(plan_.models[0]) +
                                      ".parameters(), lr=0.01)  # guessed");
    } else if (has("criterion") || has("loss")) {
      plan_.iteration_setup.push_back(name + " = torch.nn.CrossEntropyLoss()  # guessed");
    } else if (name == "device") {
      plan_.shared.emplace_back("device = torch.device(\"cuda\" if torch.cuda.is_available() else \"cpu\")");
    } else if (has("epoch")) {
      plan_.shared.push_back(name + " = 0");
      continue;
    } else {
      missing.push_back(name);
      continue;
    }
    plan_.imports.insert("import torch");
  }
  if (!missing.empty()) {
    const std::string what = comma_separated(missing);
    plan_.iteration_setup.insert(plan_.iteration_setup.begin(), todo(what));
    plan_.unknown.push_back(what);
  }
}

void Planner::plan_models() {
  if (plan_.models.empty()) {
    unknown(plan_.model_lines, "the model");
    return;
  }
  NameSet constructed;
  std::string returned;
  for (const std::string_view name : plan_.models) {
    returned += (returned.empty() ? "" : ", ") + std::string(name);
    if (is_variable(name)) {
      constructed.insert(name);
    } else if (const std::string_view only = main_class(); !only.empty()) {
      construct(only, plan_.models.size() == 1 ? "return " : std::string(name) + " = ");
      if (plan_.models.size() == 1) {
        return;
      }
    } else {
      unknown(plan_.model_lines, "the model");
      return;
    }
  }
  plan_.model.merge(slicer_.slice(constructed, {}));
  plan_.model_lines.push_back("return " + returned);
}

std::string_view Planner::main_class() const {
  std::string_view found;
  std::size_t place = 0;
  for (const auto& [name, model] : script_.models) {
    const bool part = std::ranges::any_of(script_.models, [&](const auto& other) {
      return other.first != name && names_in(content_, other.second.node).reads.contains(name);
    });
    if (!part && !name.ends_with("Loss") && model.node.span().begin >= place) {
      found = name;
      place = model.node.span().begin;
    }
  }
  return found.empty() && !script_.models.empty() ? script_.models.begin()->first : found;
}

Node Planner::method_of(Node definition, std::string_view wanted) const {
  const Node body = definition.field("body");
  for (const Node statement : body.exists() ? body.children() : std::vector<Node>()) {
    const Node node = statement.is("decorated_definition") ? statement.field("definition") : statement;
    if (node.is("function_definition") && content_.text_of(node.field("name")) == wanted) {
      return node;
    }
  }
  return {};
}

void Planner::construct(std::string_view name, const std::string& before) {
  std::vector<std::string> required;
  const Node list = method_of(script_.models.at(name).node, "__init__").field("parameters");
  bool self = true;
  for (const Node parameter : list.exists() ? list.children() : std::vector<Node>()) {
    const Node inner = parameter.is("typed_parameter") ? parameter.children().front() : parameter;
    if (inner.is("identifier") && !std::exchange(self, false)) {
      required.emplace_back(content_.text_of(inner));
    }
  }
  if (!required.empty()) {
    unknown(plan_.model_lines, "the arguments of " + std::string(name) + ": " + comma_separated(required));
  }
  plan_.names.insert(name);
  plan_.model_lines.push_back(before + std::string(name) + (required.empty() ? "()" : "(...)"));
  plan_.model.merge(slicer_.slice({name}, {}));
}

void Planner::plan_loop() {
  target_ = script_.loop_target;
  iterable_ = script_.loop_iterable;
  find_loader();
  name_parameters();
  StepBody step = step_body(script_);
  plan_.exposed = step.exposed;
  plan_.written = step.writes;
  plan_.body = step.statements;
  NameSet given(targets_.begin(), targets_.end());
  NameSet roots = step.exposed;
  std::erase_if(roots, [&](std::string_view name) { return given.contains(name); });
  find_models(roots);
  plan_models();
  plan_input(roots);
  given.insert(plan_.models.begin(), plan_.models.end());
  given.insert(data_.begin(), data_.end());
  if (stride_.exists()) {
    given.insert(counter_);
    const auto reads = [this](const ScriptStatement* statement) { return statement->names.reads.contains(counter_); };
    if (std::ranges::any_of(plan_.body, reads)) {
      plan_.iteration_setup.push_back(std::string(counter_) + " = 0  # the first batch");
    }
  } else if (!counter_.empty() && roots.contains(counter_)) {
    given.insert(counter_);
    plan_.iteration_setup.push_back(std::string(counter_) + " = -1");
    plan_.prologue.insert(plan_.prologue.begin(),
                          {"nonlocal " + std::string(counter_), std::string(counter_) + " += 1"});
  }
  std::erase_if(roots, [&](std::string_view name) { return given.contains(name); });
  plan_.iteration = slicer_.slice(roots, given);
  add_hooks(given);
  if (!plan_.body.empty() && !updates_weights()) {
    plan_.prologue.emplace_back("# TODO: the step of the optimizer: nothing in the loop takes it");
    plan_.unknown.emplace_back("the step of the optimizer: nothing in the loop takes it");
  }
  NameSet open = plan_.iteration.missing;
  open.insert(plan_.model.missing.begin(), plan_.model.missing.end());
  guess_open(open);
  refuse_generators();
}

void Planner::add_hooks(const NameSet& given) {
  const NameSet made = made_from_models();
  const auto registers = [](const CalledName& call) {
    return call.name.starts_with("register_") && call.name.ends_with("_hook");
  };
  for (std::size_t i = 0; i < script_.statements.size(); ++i) {
    const ScriptStatement& statement = script_.statements[i];
    if (!statement.is_definition && std::ranges::any_of(statement.names.calls, registers) &&
        have_common(statement.names.reads, made)) {
      NameSet reads = statement.names.reads;
      std::erase_if(reads, [&](std::string_view name) { return statement.names.writes.contains(name); });
      plan_.iteration.merge(slicer_.slice(reads, given));
      plan_.iteration.statements.insert(i);
    }
  }
}

bool Planner::updates_weights() const {
  const auto updates = [this](const StatementNames& names) {
    return std::ranges::any_of(names.calls, [this](const CalledName& call) {
      return is_any_of(call.name, {"step", "parameters", "update"}) || script_.trains.contains(call.name);
    });
  };
  return std::ranges::any_of(plan_.body, [&](const ScriptStatement* statement) { return updates(statement->names); }) ||
         std::ranges::any_of(plan_.iteration.statements, [&](std::size_t i) {
           const StatementNames& names = script_.statements[i].names;
           return script_.statements[i].is_definition && updates(names);
         });
}

void Planner::refuse_generators() {
  for (const ScriptStatement* statement : plan_.body) {
    bool found = false;
    for_each_node(statement->node, [&](Node node, const std::vector<Node>& /*ancestors*/) {
      found |= node.is("yield") || node.is("await");
    });
    if (found) {
      plan_.body.clear();
      unknown(plan_.iteration_lines, "the iteration: that of the script is asynchronous or a generator");
      return;
    }
  }
}

void Planner::find_loader() {
  for (int links = 0; links < kMaxLinks && iterable_.exists(); ++links) {
    iterable_ = without_parentheses(iterable_);
    const std::string_view name = called_name(content_, iterable_);
    if (iterable_.is("identifier")) {
      const ScriptStatement* const statement = assignment_of(script_, content_.text_of(iterable_));
      if (statement == nullptr || !statement->value.is("call")) {
        return;
      }
      iterable_ = statement->value;
    } else if (name == "enumerate") {
      std::vector<Node> parts;
      for (const Node part : target_.children()) {
        if (!part.is(",") && !part.is("(") && !part.is(")")) {
          parts.push_back(part);
        }
      }
      if (parts.size() != 2 || !parts[0].is("identifier")) {
        return;
      }
      counter_ = content_.text_of(parts[0]);
      target_ = parts[1];
      iterable_ = argument_of(content_, iterable_, "iterable", 0);
    } else if (is_any_of(name, {"tqdm", "iter", "islice", "track", "cycle"})) {
      iterable_ = argument_of(content_, iterable_, "iterable", 0);
    } else if (is_any_of(name, {"range", "trange", "count"})) {
      counter_ = target_.is("identifier") ? content_.text_of(target_) : "";
      stride_ = name == "range" ? argument_of(content_, iterable_, {}, 2) : Node();
      target_ = Node();
      iterable_ = Node();
    } else {
      return;
    }
  }
}

void Planner::name_parameters() {
  if (!target_.exists()) {
    return;
  }
  std::vector<Node> parts = {target_};
  if (target_.is("pattern_list") || target_.is("tuple_pattern") || target_.is("list_pattern")) {
    parts = target_.children();
    std::erase_if(parts, [](Node part) { return is_any_of(part.type(), {",", "(", ")", "[", "]"}); });
  }
  for (const Node part : parts) {
    targets_.push_back(content_.text_of(part));
  }
  const bool plain = std::ranges::all_of(parts, [](Node part) { return part.is("identifier"); });
  if (plain && NameSet(targets_.begin(), targets_.end()).size() == targets_.size()) {
    unpacks_ = !target_.is("identifier");
    plan_.parameters.assign(targets_.begin(), targets_.end());
    return;
  }
  plan_.parameters = {"batch"};
  plan_.prologue.push_back(std::string(content_.text_of(target_)) + " = batch");
  NameSet names = names_in(content_, target_).reads;
  targets_.assign(names.begin(), names.end());
  nested_ = true;
}

EntryPlan plan_entry(const SourceTree::Content& content, const TrainingScript& script, bool import) {
  return Planner(content, script, import).plan();
}

}  // namespace ridgeline::source
