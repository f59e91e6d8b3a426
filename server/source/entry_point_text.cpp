#include "source/entry_point_text.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "base/text.h"
#include "source/entry_plan.h"
#include "source/entry_point.h"
#include "source/python_text.h"
#include "source/source_tree.h"
#include "source/training_script.h"

namespace ridgeline::source {

namespace {

constexpr std::string_view kIndent = "    ";

class Writer {
 public:
  Writer(const SourceTree::Content& content, const TrainingScript& script, EntryPlan plan)
      : content_(content), script_(script), plan_(std::move(plan)) {
    place();
  }

  /// `module`: what the script is imported as; empty: it is copied.
  std::string write(const std::string& title, std::string_view module) {
    write_top();
    write_model();
    write_input();
    write_iteration();
    return title + imports(module) + body_;
  }

 private:
  /// What several providers need stands at the top; definitions and the input's statements do in any case.
  void place() {
    top_ = plan_.input.statements;
    for (const std::size_t i : plan_.model.statements) {
      const ScriptStatement& statement = script_.statements[i];
      const bool shared = plan_.iteration.statements.contains(i) || plan_.input.statements.contains(i);
      if (shared || statement.is_definition || statement.is_import) {
        top_.insert(i);
      }
    }
    const NameSet local = made_in_iteration();
    for (const std::size_t i : plan_.iteration.statements) {
      const ScriptStatement& statement = script_.statements[i];
      if (statement.is_import || (statement.is_definition && !have_common(statement.names.reads, local))) {
        top_.insert(i);
      }
    }
    for (const ScriptStatement* statement : plan_.input_statements) {
      std::erase_if(top_, [&](std::size_t i) { return &script_.statements[i] == statement; });
    }
    place_globals();
  }

  /// The models, and what the iteration provider makes from them. Functions that read these are defined there.
  NameSet made_in_iteration() const {
    NameSet local(plan_.models.begin(), plan_.models.end());
    for (std::size_t before = 0; before != local.size();) {
      before = local.size();
      for (const std::size_t i : plan_.iteration.statements) {
        const StatementNames& names = script_.statements[i].names;
        if (have_common(names.reads, local)) {
          local.insert(names.writes.begin(), names.writes.end());
        }
      }
    }
    return local;
  }

  /// What functions and classes at the top read has to be there, too.
  void place_globals() {
    std::set<std::size_t> all = plan_.model.statements;
    all.insert(plan_.iteration.statements.begin(), plan_.iteration.statements.end());
    NameSet needed;
    for (const std::size_t i : top_) {
      const NameSet& reads = script_.statements[i].names.reads;
      needed.insert(reads.begin(), reads.end());
    }
    const NameSet models(plan_.models.begin(), plan_.models.end());
    for (const std::size_t i : all | std::views::reverse) {
      const StatementNames& names = script_.statements[i].names;
      if ((have_common(names.writes, needed) || have_common(names.changes, needed)) &&
          !have_common(names.writes, models) && !have_common(names.changes, models) &&
          !have_common(names.reads, models)) {
        top_.insert(i);
        needed.insert(names.reads.begin(), names.reads.end());
      }
    }
  }

  static std::string trimmed(std::string text) {
    text.pop_back();  // the line feed
    return text;
  }

  void note(const StatementNames& names) {
    used_.insert(names.reads.begin(), names.reads.end());
    used_.insert(names.writes.begin(), names.writes.end());
  }

  std::string statement_text(const ScriptStatement& statement, std::string_view indent, bool leave_loop = false) {
    note(statement.names);
    if (statement.node.exists()) {
      return reindented_statement(content_, statement.node, indent, leave_loop);
    }
    return std::string(indent) + statement.text + "\n";
  }

  void add_lines(const PythonLines& lines, std::string_view indent) {
    for (const std::string& line : lines) {
      body_ += (line.empty() ? std::string() : std::string(indent) + line) + "\n";
    }
  }

  void write_top() {
    bool definition = false;
    std::string text;
    for (const std::size_t i : top_) {
      const ScriptStatement& statement = script_.statements[i];
      if (statement.is_import) {
        continue;
      }
      text += statement.is_definition || definition ? "\n\n" : "";
      text += statement_text(statement, "");
      definition = statement.is_definition;
    }
    if (!text.empty()) {
      body_ += text.starts_with("\n") ? text : "\n" + text;
    }
    if (!plan_.shared.empty()) {
      body_ += text.empty() ? "\n" : definition ? "\n\n" : "";
      add_lines(plan_.shared, "");
    }
  }

  void write_own(const Slice& slice) {
    for (const std::size_t i : slice.statements) {
      if (!top_.contains(i)) {
        body_ += statement_text(script_.statements[i], kIndent);
      }
    }
  }

  void write_model() {
    body_ += "\n\ndef model_provider():\n";
    std::vector<std::size_t> own;
    std::ranges::set_difference(plan_.model.statements, top_, std::back_inserter(own));
    const ScriptStatement* const last = own.empty() ? nullptr : &script_.statements[own.back()];
    if (last != nullptr && last->value.exists() && plan_.models.size() == 1 && plan_.model_lines.size() == 1 &&
        last->names.writes == NameSet{plan_.models[0]} && last->node.exists()) {
      plan_.model.statements.erase(own.back());
      note(last->names);
      plan_.model_lines = {"return " + trimmed(reindented_statement(content_, last->value, ""))};
    }
    write_own(plan_.model);
    add_lines(plan_.model_lines, kIndent);
  }

  void write_input() {
    const std::string note = plan_.batch_size_note.empty() ? "" : "  # " + plan_.batch_size_note;
    body_ += "\n\ndef input_provider(batch_size=" + plan_.batch_size + "):" + note + "\n";
    add_lines(plan_.input_first, kIndent);
    for (const ScriptStatement* statement : plan_.input_statements) {
      body_ += statement_text(*statement, kIndent);
    }
    add_lines(plan_.input_lines, kIndent);
  }

  /// What a step assigns, and reads from the one before.
  void write_declarations() {
    std::vector<std::string> outer;
    std::vector<std::string> global;
    for (const std::string_view name : plan_.written) {
      if (!plan_.exposed.contains(name) || std::ranges::find(plan_.parameters, name) != plan_.parameters.end()) {
        continue;
      }
      const auto written_in = [&](const std::set<std::size_t>& statements, bool top) {
        return std::ranges::any_of(statements, [&](std::size_t i) {
          return top_.contains(i) == top && script_.statements[i].names.writes.contains(name);
        });
      };
      const bool model = std::ranges::find(plan_.models, name) != plan_.models.end();
      if (model || written_in(plan_.iteration.statements, false)) {
        outer.emplace_back(name);
      } else if (written_in(top_, true) || plan_.iteration.imported.contains(name)) {
        global.emplace_back(name);
      }
    }
    if (!outer.empty()) {
      body_ += "        nonlocal " + comma_separated(outer) + "\n";
    }
    if (!global.empty()) {
      body_ += "        global " + comma_separated(global) + "\n";
    }
  }

  void write_iteration() {
    std::vector<std::string> models(plan_.models.begin(), plan_.models.end());
    body_ += "\n\ndef iteration_provider(" + (models.empty() ? "model" : comma_separated(models)) + "):\n";
    add_lines(plan_.iteration_setup, kIndent);
    write_own(plan_.iteration);
    add_lines(plan_.iteration_setup_last, kIndent);
    const std::string inner = std::string(kIndent) + std::string(kIndent);
    body_ += body_.ends_with("):\n") ? "" : "\n";
    body_ += "    def iteration(" + comma_separated(plan_.parameters) + "):\n";
    write_declarations();
    add_lines(plan_.prologue, inner);
    add_lines(plan_.iteration_lines, inner);
    for (const ScriptStatement* statement : plan_.body) {
      body_ += statement_text(*statement, inner, true);
    }
    if (plan_.body.empty() && plan_.iteration_lines.empty()) {
      body_ += inner + "raise NotImplementedError(\"TODO: the iteration\")\n";
    }
    body_ += "\n    return iteration\n";
  }

  std::string imports(std::string_view module) {
    used_.insert(plan_.names.begin(), plan_.names.end());
    std::string future;
    std::string text;
    std::set<std::string> written;
    for (const ScriptStatement& statement : script_.statements) {
      if (!statement.is_import || !statement.node.exists()) {
        continue;
      }
      std::vector<std::string_view> names;
      std::ranges::set_intersection(statement.names.writes, used_, std::back_inserter(names));
      std::string line;
      if (statement.node.is("future_import_statement")) {
        future += reindented_statement(content_, statement.node, "");
      } else if (statement.names.writes.empty()) {
        line = reindented_statement(content_, statement.node, "");  // import *
      } else if (!names.empty()) {
        line = import_of_names(content_, statement.node, names);
      }
      if (written.insert(line).second) {
        text += line;
      }
    }
    for (const std::string& line : plan_.imports) {
      const bool before = line.starts_with("import ");
      const std::string own = written.contains(line + "\n") ? "" : line + "\n";
      text.insert(before ? 0 : text.size(), own);
    }
    std::string from;
    NameSet imported = plan_.model.imported;
    imported.insert(plan_.input.imported.begin(), plan_.input.imported.end());
    imported.insert(plan_.iteration.imported.begin(), plan_.iteration.imported.end());
    if (!imported.empty()) {
      from = "\nfrom " + std::string(module) + " import " + comma_separated({imported.begin(), imported.end()}) + "\n";
    }
    text = future + (future.empty() ? "" : "\n") + text;
    return (text.empty() ? "" : "\n" + text) + from;
  }

  const SourceTree::Content& content_;
  const TrainingScript& script_;
  EntryPlan plan_;
  std::set<std::size_t> top_;  ///< statements of the script at the top
  NameSet used_;               ///< names in what is written
  std::string body_;           ///< what follows the imports
};

std::string shown_name(std::string_view file_name) {
  const bool plain = !file_name.empty() && file_name.size() <= 80 && std::ranges::all_of(file_name, [](char byte) {
    return byte == '_' || byte == '-' || byte == '.' || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9');
  });
  return plain ? std::string(file_name) : "the training script";
}

bool is_valid(const std::string& text) {
  const auto tree = SourceTree::parse(text);
  if (!tree.has_value() || tree->content().has_error()) {
    return false;
  }
  const auto entry_point = find_entry_point(*tree);
  return entry_point.has_value() && entry_point->mistakes.empty() &&
         std::ranges::all_of(entry_point->providers, [](const auto& provider) { return provider.has_value(); });
}

/// For a script that uses names in ways that no other function can.
EntryPointText skeleton(const std::string& title) {
  return {title +
              "\n\ndef model_provider():\n"
              "    raise NotImplementedError(\"TODO: the model\")\n"
              "\n\ndef input_provider(batch_size=32):\n"
              "    raise NotImplementedError(\"TODO: the input, batch_size samples\")\n"
              "\n\ndef iteration_provider(model):\n"
              "    raise NotImplementedError(\"TODO: the iteration\")\n",
          {"the model", "the input, batch_size samples", "the iteration"}};
}

std::size_t first_error_line(const SourceTree& tree) {
  std::size_t line = 0;
  bool found = false;
  for_each_node(tree.content().root(), [&](Node node, const std::vector<Node>& /*ancestors*/) {
    if (!found && (node.is("ERROR") || node.is_missing())) {
      line = tree.lines().line_of(node.span().begin);
      found = true;
    }
  });
  return line + 1;
}

}  // namespace

base::Result<EntryPointText> entry_point_text(std::string script, std::string_view file_name, bool same_folder) {
  const std::string name = shown_name(file_name);
  if (script.size() > kMaxScriptBytes) {
    return base::error("The script is larger than 1 MiB.");
  }
  std::erase(script, '\r');
  const auto tree = SourceTree::parse(std::move(script));
  if (!tree.has_value() || tree->was_aborted()) {
    return base::error("The script takes too long to parse.");
  }
  if (tree->content().has_error()) {
    return base::error("Line " + std::to_string(first_error_line(*tree)) +
                       " has a syntax error. Correct it, then try again.");
  }
  if (find_entry_point(*tree).has_value()) {
    return base::error("The file defines providers: it is an entry point already.");
  }
  const auto training = read_training_script(tree->content());
  if (!training) {
    return training.error();
  }
  const std::string_view stem = file_name.ends_with(".py") ? file_name.substr(0, file_name.size() - 3) : "";
  const bool import = same_folder && training->can_be_imported && is_python_name(stem);
  EntryPlan plan = plan_entry(tree->content(), *training, import);
  std::string title =
      "\"\"\"Entry point for Ridgeline, from " + name + ": a model, its input and one training iteration.";
  if (!training->can_be_imported) {
    title += "\n\nImporting the script would train, so what it needs is copied here.";
  }
  if (training->form == TrainingForm::kLoop) {
    title += "\n\nWhat only reports (logging, metrics, checkpoints) is left out of the iteration.";
  }
  title += base::contains(title, "\n") ? "\n\"\"\"\n" : "\"\"\"\n";
  EntryPointText result;
  result.unknown = plan.unknown;
  result.text = Writer(tree->content(), *training, std::move(plan)).write(title, stem);
  return is_valid(result.text) ? std::move(result) : skeleton(title);
}

}  // namespace ridgeline::source
