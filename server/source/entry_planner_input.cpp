#include <algorithm>
#include <utility>

#include "base/text.h"
#include "source/entry_planner.h"
#include "source/python_text.h"

namespace ridgeline::source {

namespace {

bool is_batch_size(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return is_any_of(lower, {"batch_size", "batchsize", "bs", "train_batch_size", "bsz"});
}

}  // namespace

std::string Planner::number_of(Node value) const {
  for (int links = 0; links < kMaxLinks && value.exists(); ++links) {
    if (value.is("integer")) {
      return std::string(content_.text_of(value));
    }
    const std::string_view name = value.is("attribute")    ? content_.text_of(value.field("attribute"))
                                  : value.is("identifier") ? content_.text_of(value)
                                                           : std::string_view();
    const ScriptStatement* const assigned = value.is("identifier") ? assignment_of(script_, name) : nullptr;
    if (assigned == nullptr) {
      return name.empty() ? "" : option_default(name);
    }
    value = assigned->value;
  }
  return "";
}

std::string Planner::option_default(std::string_view attribute) const {
  std::string found;
  for_each_node(content_.root(), [&](Node node, const std::vector<Node>& /*ancestors*/) {
    if (!found.empty() || called_name(content_, node) != "add_argument") {
      return;
    }
    const Node value = named_argument(node, "default");
    for (int i = 0; i < 3 && value.is("integer"); ++i) {
      const Node option = argument_of(content_, node, "", i);
      std::string name(option.is("string") ? content_.text_of(option) : std::string_view());
      std::erase_if(name, [](char letter) { return letter == '"' || letter == '\''; });
      std::ranges::replace(name, '-', '_');
      if (name.starts_with("__") && name.substr(2) == attribute) {
        found = content_.text_of(value);
      }
    }
  });
  return found;
}

void Planner::set_batch_size(Node value) {
  const std::string number = number_of(value);
  const bool usable = !number.empty() && number.size() < 8 &&
                      number.find_first_not_of("0123456789_") == std::string::npos &&
                      number.find_first_not_of("0_") != std::string::npos;
  if (usable) {
    plan_.batch_size = number;
  } else {
    plan_.batch_size_note = "guessed";
  }
}

void Planner::plan_input(const NameSet& roots) {
  if (!target_.exists()) {
    of_steps(roots);
    return;
  }
  if (called_name(content_, iterable_) == "DataLoader") {
    set_batch_size(argument_of(content_, iterable_, "batch_size", 1));
    const Node dataset = argument_of(content_, iterable_, "dataset", 0);
    const Node made = dataset.is("identifier") ? value_of_name(content_.text_of(dataset)) : dataset;
    if (of_dataset(dataset, named_argument(iterable_, "collate_fn"), made)) {
      return;
    }
  } else {
    plan_.batch_size_note = "guessed";
    if (of_guess(Node())) {
      return;
    }
    if (of_own_loader()) {
      return;
    }
  }
  unknown(plan_.input_lines, input_todo());
}

std::string Planner::input_todo() const {
  return "the input, batch_size samples of " + (nested_ ? "batch" : joined(plan_.parameters));
}

Node Planner::value_of_name(std::string_view name) const {
  const ScriptStatement* const statement = assignment_of(script_, name);
  return statement == nullptr ? Node() : statement->value;
}

bool Planner::depends_on_model(const Slice& slice) const {
  const NameSet models = model_names();
  return std::ranges::any_of(slice.statements,
                             [&](std::size_t i) { return have_common(script_.statements[i].names.writes, models); });
}

bool Planner::of_dataset(Node dataset, Node collate, Node made) {
  if (!dataset.exists()) {
    return of_guess(made);
  }
  NameSet roots = names_in(content_, dataset).reads;
  if (collate.exists()) {
    const NameSet more = names_in(content_, collate).reads;
    roots.insert(more.begin(), more.end());
  }
  Slice slice = slicer_.slice(roots, {});
  const bool downloaded =
      is_downloaded(called_name(content_, made)) || std::ranges::any_of(slice.statements, [&](std::size_t i) {
        const auto& calls = script_.statements[i].names.calls;
        return std::ranges::any_of(calls, [](const CalledName& call) { return is_downloaded(call.name); });
      });
  if ((downloaded || depends_on_model(slice) || !is_complete(slice)) && of_guess(made)) {
    return true;
  }
  if (depends_on_model(slice) || !is_complete(slice)) {
    return false;
  }
  plan_.names.insert(roots.begin(), roots.end());
  plan_.input = std::move(slice);
  std::string name(content_.text_of(dataset));
  if (!dataset.is("identifier")) {
    plan_.shared.push_back("dataset = " + name);
    name = "dataset";
  }
  if (downloaded) {
    plan_.input_lines.push_back("# " + name + " may have to be downloaded.");
  }
  std::string samples = "[" + name + "[index % len(" + name + ")] for index in range(batch_size)]";
  if (is_iterable(made)) {
    plan_.imports.insert("import itertools");
    samples = "list(itertools.islice(iter(" + name + "), batch_size))";
  }
  std::string function = "default_collate";
  if (collate.exists() && !collate.is("none")) {
    function = content_.text_of(collate);
  } else if (script_.form == TrainingForm::kTrainer) {
    function = "default_data_collator";
    plan_.imports.insert("from transformers import default_data_collator");
  } else {
    plan_.imports.insert("from torch.utils.data import default_collate");
  }
  return_batch(function + "(" + samples + ")");
  return true;
}

bool Planner::is_iterable(Node made) const {
  const auto own = script_.definitions.find(called_name(content_, made));
  const Node bases = own == script_.definitions.end() ? Node() : own->second.field("superclasses");
  return bases.exists() && base::contains(content_.text_of(bases), "IterableDataset");
}

void Planner::return_batch(const std::string& batch) {
  const bool several = plan_.parameters.size() > 1;
  plan_.input_lines.push_back("return " + (several ? batch : "(" + batch + ",)"));
}

std::vector<std::string_view> Planner::value_names() const {
  if (nested_ || targets_.size() != 1) {
    return nested_ ? std::vector<std::string_view>() : targets_;
  }
  const std::vector<std::string_view> unpacked = unpacked_names(script_.body, targets_[0]);
  return unpacked.empty() ? targets_ : unpacked;
}

std::vector<std::string_view> Planner::unpacked_names(const std::vector<ScriptStatement>& statements,
                                                      std::string_view batch) const {
  for (const ScriptStatement& statement : statements) {
    const std::vector<Node> parts =
        statement.node.is("expression_statement") ? statement.node.children() : std::vector<Node>();
    if (parts.empty() || !parts[0].is("assignment") || !parts[0].field("left").is("pattern_list")) {
      continue;
    }
    const Node right = parts[0].field("right");
    if (!right.is("identifier") || content_.text_of(right) != batch) {
      continue;
    }
    std::vector<std::string_view> names;
    for (const Node part : parts[0].field("left").children()) {
      if (part.is("identifier")) {
        names.push_back(content_.text_of(part));
      }
    }
    return names;
  }
  return {};
}

bool Planner::of_guess(Node dataset) {
  if (plan_.models.size() != 1) {
    return false;
  }
  InputQuestion question;
  question.construction = construction_of(plan_.models[0]);
  question.model = question.construction.exists() ? "" : main_class();
  question.names = value_names();
  question.statements = &script_.body;
  question.dataset = dataset;
  return take_guess(question, targets_.size() == 1 && question.names.size() > 1);
}

bool Planner::take_guess(const InputQuestion& question, bool as_one) {
  const auto guess = guess_input(content_, script_, question);
  if (!guess.has_value()) {
    return false;
  }
  Slice slice = slicer_.slice(guess->reads, {});
  if (depends_on_model(slice) || !is_complete(slice)) {
    return false;
  }
  plan_.input = std::move(slice);
  plan_.names.insert(guess->reads.begin(), guess->reads.end());
  plan_.imports.insert(guess->imports.begin(), guess->imports.end());
  plan_.input_lines.insert(plan_.input_lines.end(), guess->lines.begin(), guess->lines.end());
  const bool tuple = question.names.size() == 1;
  plan_.input_lines.push_back("return " + (as_one  ? "((" + guess->values + "),)"
                                           : tuple ? "(" + guess->values + ")"
                                                   : guess->values));
  return true;
}

bool Planner::of_own_loader() {
  const Node loader = script_.loop_iterable;
  Node expression = iterable_.exists() ? iterable_ : loader;
  const std::string_view name = content_.text_of(expression);
  const NameSet roots = names_in(content_, expression).reads;
  Slice slice = slicer_.slice(roots, {});
  if (depends_on_model(slice) || !is_complete(slice) || base::contains(name, "\n")) {
    return false;
  }
  std::string size;
  for (const std::size_t i : slice.statements) {
    for (const std::string_view written : script_.statements[i].names.writes) {
      size = is_batch_size(written) && script_.statements[i].value.exists() ? std::string(written) : size;
    }
  }
  if (size.empty()) {
    return false;
  }
  plan_.batch_size_note.clear();
  set_batch_size(value_of_name(size));
  std::erase_if(slice.statements, [&](std::size_t i) { return script_.statements[i].names.writes.contains(size); });
  plan_.names.insert(roots.begin(), roots.end());
  own_size(size, slice);
  return_batch("next(iter(" + std::string(name) + "))");
  return true;
}

void Planner::own_size(std::string_view size, const Slice& slice) {
  NameSet dependent = {size};
  plan_.input = slice;
  if (size != "batch_size") {
    plan_.input_first.push_back(std::string(size) + " = batch_size");
  }
  for (const std::size_t i : slice.statements) {
    const ScriptStatement& statement = script_.statements[i];
    if (!statement.is_definition && !statement.is_import && have_common(statement.names.reads, dependent)) {
      dependent.insert(statement.names.writes.begin(), statement.names.writes.end());
      plan_.input_statements.push_back(&statement);
      plan_.input.statements.erase(i);
    }
  }
}

NameSet Planner::made_from_models() const {
  NameSet made = model_names();
  for (const ScriptStatement& statement : script_.statements) {
    if (!statement.is_definition && have_common(statement.names.reads, made)) {
      made.insert(statement.names.writes.begin(), statement.names.writes.end());
    }
  }
  return made;
}

void Planner::of_steps(const NameSet& roots) {
  const NameSet models = made_from_models();
  NameSet drawn;
  NameSet reads;
  std::vector<const ScriptStatement*> rest;
  bool still = true;
  for (const ScriptStatement* statement : plan_.body) {
    const StatementNames& names = statement->names;
    still = still && !is_part_of_step(script_, names) && !have_common(names.reads, models) && !names.writes.empty() &&
            !names.reads.contains(counter_) && names.calls.size() < 16;
    if (!still) {
      rest.push_back(statement);
      continue;
    }
    plan_.input_statements.push_back(statement);
    drawn.insert(names.writes.begin(), names.writes.end());
    reads.insert(names.reads.begin(), names.reads.end());
  }
  if (plan_.input_statements.empty()) {
    of_whole_data(roots);
    return;
  }
  for (const std::string_view name : drawn) {
    const bool used =
        std::ranges::any_of(rest, [&](const ScriptStatement* one) { return one->names.reads.contains(name); });
    if (used) {
      data_.push_back(name);
    }
  }
  Slice slice = slicer_.slice(reads, drawn);
  if (data_.empty() || depends_on_model(slice) || !is_complete(slice)) {
    plan_.input_statements.clear();
    unknown(plan_.input_lines, "the input, batch_size samples");
    data_.clear();
    return;
  }
  plan_.body = std::move(rest);
  plan_.names.insert(reads.begin(), reads.end());
  size_of_steps(reads, std::move(slice));
  plan_.parameters.assign(data_.begin(), data_.end());
  plan_.iteration_lines.clear();
  returned_data();
}

void Planner::size_of_steps(const NameSet& reads, Slice slice) {
  NameSet names = reads;
  for (const std::size_t i : slice.statements) {
    const NameSet& more = script_.statements[i].names.reads;
    names.insert(more.begin(), more.end());
  }
  const auto size = std::ranges::find_if(names, is_batch_size);
  if (size == names.end()) {
    plan_.input = std::move(slice);
    plan_.batch_size_note = "TODO: nothing below depends on it yet";
    plan_.unknown.emplace_back("what batch_size changes");
    return;
  }
  set_batch_size(value_of_name(*size));
  const bool direct = reads.contains(*size);
  if (!direct || slice.imported.contains(*size)) {
    // A function of the script reads it as a global variable, or it is imported.
    if (!direct) {
      plan_.input_first.push_back("globals()[\"" + std::string(*size) + "\"] = batch_size  # for the functions above");
      plan_.input = std::move(slice);
      return;
    }
    slice.imported.erase(*size);
  }
  std::erase_if(slice.statements, [&](std::size_t i) { return script_.statements[i].names.writes.contains(*size); });
  std::vector<const ScriptStatement*> drawing = std::exchange(plan_.input_statements, {});
  own_size(*size, slice);
  plan_.input_statements.insert(plan_.input_statements.end(), drawing.begin(), drawing.end());
}

void Planner::returned_data() {
  std::string values;
  for (const std::string_view name : data_) {
    values += (values.empty() ? "" : " ") + std::string(name) + ",";
  }
  if (data_.size() > 1) {
    values.pop_back();
  }
  plan_.input_lines.push_back("return " + (data_.size() == 1 ? "(" + values + ")" : values));
}

void Planner::of_whole_data(const NameSet& roots) {
  for (const ScriptStatement* statement : plan_.body) {
    for_each_node(statement->node, [&](Node node, const std::vector<Node>& /*ancestors*/) {
      if (!node.is("argument_list")) {
        return;
      }
      for (const Node argument : node.children()) {
        const std::string_view name = argument.is("identifier") ? content_.text_of(argument) : std::string_view();
        if (roots.contains(name) && is_data(name) && std::ranges::find(data_, name) == data_.end()) {
          data_.push_back(name);
        }
      }
    });
  }
  plan_.batch_size_note = "guessed";
  const NameSet wanted(data_.begin(), data_.end());
  Slice slice = slicer_.slice(wanted, {});
  if (data_.empty() || depends_on_model(slice) || !is_complete(slice)) {
    data_.clear();
    unknown(plan_.input_lines, "the input, batch_size samples");
    return;
  }
  plan_.input = std::move(slice);
  plan_.names.insert(wanted.begin(), wanted.end());
  plan_.parameters.assign(data_.begin(), data_.end());
  plan_.imports.insert("import torch");
  plan_.input_lines.push_back("rows = torch.arange(batch_size) % len(" + std::string(data_[0]) + ")");
  std::string values;
  for (const std::string_view name : data_) {
    values += (values.empty() ? "" : ", ") + std::string(name) + "[rows]";
  }
  plan_.input_lines.push_back("return " + (data_.size() == 1 ? "(" + values + ",)" : values));
}

bool Planner::is_data(std::string_view name) const {
  if (!is_variable(name) || is_model(name) || base::contains(name, "device")) {
    return false;
  }
  const Node value = value_of_name(name);
  const std::string_view called = called_name(content_, value);
  const bool constructs = !called.empty() && called.front() >= 'A' && called.front() <= 'Z';
  return !constructs && !is_any_of(value.type(), {"integer", "float", "string", "true", "false", "none"});
}

}  // namespace ridgeline::source
