#include <algorithm>
#include <utility>

#include "base/text.h"
#include "source/entry_planner.h"
#include "source/python_text.h"
#include "source/script_numbers.h"

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

void Planner::set_batch_size(Node value) {
  const std::string number = number_of(content_, script_, value);
  if (!number.empty()) {
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
    set_batch_size(argument_or_option(content_, script_, iterable_, "batch_size", 1));
    const Node dataset = argument_of(content_, iterable_, "dataset", 0);
    const Node made = dataset.is("identifier") ? value_of_name(content_.text_of(dataset)) : dataset;
    if (plan_dataset_input(dataset, argument_or_option(content_, script_, iterable_, "collate_fn", -1), made)) {
      return;
    }
  } else {
    plan_.batch_size_note = "guessed";
    if (plan_guessed_input(Node())) {
      return;
    }
    if (plan_custom_loader_input()) {
      return;
    }
  }
  unknown(plan_.input_lines, input_todo());
}

std::string Planner::input_todo() const {
  return "the input, batch_size samples of " + (nested_ ? "batch" : comma_separated(plan_.parameters));
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

bool Planner::plan_dataset_input(Node dataset, Node collate, Node made) {
  if (!dataset.exists()) {
    return plan_guessed_input(made);
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
  if ((downloaded || depends_on_model(slice) || !is_complete(slice)) && plan_guessed_input(made)) {
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
  const bool is_apart = plan_.parameters.size() > 1 || unpacks_;
  plan_.input_lines.push_back("return " + (is_apart ? batch : "(" + batch + ",)"));
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

bool Planner::plan_guessed_input(Node dataset) {
  if (plan_.models.size() != 1) {
    return false;
  }
  InputQuestion question;
  question.construction = construction_of(plan_.models[0]);
  question.model = question.construction.exists() ? "" : main_class();
  question.names = value_names();
  question.statements = &script_.body;
  question.dataset = dataset;
  return use_guess(question, targets_.size() == 1 && question.names.size() > 1);
}

bool Planner::use_guess(const InputQuestion& question, bool as_one) {
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

bool Planner::plan_custom_loader_input() {
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
  set_custom_batch_size(size, slice);
  return_batch("next(iter(" + std::string(name) + "))");
  return true;
}

void Planner::set_custom_batch_size(std::string_view size, const Slice& slice) {
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
  if (of_micro_batches()) {
    return;
  }
  const NameSet models = made_from_models();
  NameSet drawn;
  NameSet reads;
  std::vector<const ScriptStatement*> rest;
  bool still = true;
  for (const ScriptStatement* statement : plan_.body) {
    const StatementNames& names = statement->names;
    still = still && !is_part_of_step(script_, names) && !have_common(names.reads, models) && !names.writes.empty() &&
            (stride_.exists() || !names.reads.contains(counter_)) && names.calls.size() < 16;
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
  NameSet known = drawn;
  if (stride_.exists()) {
    known.insert(counter_);
    plan_.input_first.push_back(std::string(counter_) + " = 0");
  }
  Slice slice = slicer_.slice(reads, known);
  if (data_.empty() || depends_on_model(slice) || !is_complete(slice)) {
    plan_.input_statements.clear();
    plan_.input_first.clear();
    unknown(plan_.input_lines, "the input, batch_size samples");
    data_.clear();
    return;
  }
  plan_.body = std::move(rest);
  plan_.names.insert(reads.begin(), reads.end());
  size_of_steps(reads, std::move(slice));
  check_slices();
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
  const auto size =
      stride_.is("identifier") ? names.find(content_.text_of(stride_)) : std::ranges::find_if(names, is_batch_size);
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
  set_custom_batch_size(*size, slice);
  plan_.input_statements.insert(plan_.input_statements.end(), drawing.begin(), drawing.end());
}

void Planner::check_slices() {
  for (const ScriptStatement* statement : plan_.input_statements) {
    const Node slice =
        stride_.exists() && statement->value.is("subscript") ? statement->value.field("subscript") : Node();
    if (slice.is("slice") && statement->names.writes.size() == 1) {
      const std::string name(*statement->names.writes.begin());
      plan_.input_lines.push_back("assert len(" + name + ") == batch_size, \"the data has fewer samples\"");
      return;
    }
  }
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

Node Planner::micro_batches() const {
  Node count;
  const auto accumulates = [this](Node loop) {
    return std::ranges::any_of(names_in(content_, loop).calls,
                               [](const CalledName& call) { return call.name == "backward"; });
  };
  for (const ScriptStatement* statement : plan_.body) {
    for_each_node(statement->node, [&](Node node, const std::vector<Node>& /*ancestors*/) {
      const Node range = node.is("for_statement") ? without_parentheses(node.field("right")) : Node();
      if (!count.exists() && called_name(content_, range) == "range" && !argument_of(content_, range, {}, 1).exists() &&
          accumulates(node)) {
        count = argument_of(content_, range, {}, 0);
      }
    });
  }
  return count;
}

Node Planner::drawing_in_step() const {
  const NameSet models = made_from_models();
  Node found;
  bool only = true;
  for (const ScriptStatement* statement : plan_.body) {
    for_each_node(statement->node, [&](Node node, const std::vector<Node>& /*ancestors*/) {
      const Node call = node.is("assignment") ? node.field("right") : Node();
      const std::string_view name = call.field("function").is("identifier") ? called_name(content_, call) : "";
      if (script_.definitions.contains(name) && !script_.models.contains(name) &&
          !have_common(names_in(content_, call).reads, models)) {
        only = only && (!found.exists() || content_.text_of(found) == content_.text_of(node));
        found = node;
      }
    });
  }
  return only ? found : Node();
}

bool Planner::of_micro_batches() {
  const Node count = micro_batches();
  const Node drawing = count.exists() ? drawing_in_step() : Node();
  if (!drawing.exists()) {
    return false;
  }
  const Node call = drawing.field("right");
  const std::string function(called_name(content_, call));
  NameSet reads = names_in(content_, call).reads;
  const NameSet inside = names_in(content_, script_.definitions.at(called_name(content_, call))).reads;
  const NameSet& counts = names_in(content_, count).reads;
  reads.insert(counts.begin(), counts.end());
  NameSet sizes = reads;
  sizes.insert(inside.begin(), inside.end());
  const auto size = std::ranges::find_if(sizes, is_batch_size);
  Slice slice = slicer_.slice(reads, {});
  if (size == sizes.end() || !slice.imported.empty() || depends_on_model(slice) || !is_complete(slice)) {
    return false;
  }
  const std::string name(*size);
  const std::string text(content_.text_of(count));
  const std::string batches = count.is("identifier") || count.is("integer") ? text : "(" + text + ")";
  const std::string each = number_of(content_, script_, value_of_name(*size));
  const std::string steps = number_of(content_, script_, count);
  const std::string all = !each.empty() && !steps.empty() ? std::to_string(std::stoull(each) * std::stoull(steps)) : "";
  const bool known = !all.empty() && all.size() < 8;
  plan_.batch_size = known ? all : "32";
  plan_.batch_size_note = known ? steps + " micro-batches of " + each : "guessed: all micro-batches of a step";
  plan_.input = std::move(slice);
  plan_.names.insert(reads.begin(), reads.end());
  plan_.imports.insert("import itertools");
  plan_.input_lines = {"samples = batch_size",
                       "batches = []",
                       "for micro_batch in range(" + text + "):",
                       "    " + name + " = globals()[\"" + name + "\"] = (samples + micro_batch) // " + batches,
                       "    batches.append(" + std::string(content_.text_of(call)) + ")",
                       "return (batches,)"};
  plan_.parameters = {"batches"};
  plan_.prologue = {"drawn = itertools.cycle(batches)", "", "def " + function + "(*_, **__):",
                    "    return next(drawn)",           "", std::string(content_.text_of(drawing))};
  const NameSet drawn = names_in(content_, drawing.field("left")).reads;
  data_.assign(drawn.begin(), drawn.end());
  return true;
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
