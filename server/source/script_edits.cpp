#include "source/script_edits.h"

#include <algorithm>
#include <set>
#include <vector>

#include "source/autocast_edits.h"
#include "source/precision_edits.h"
#include "source/script_numbers.h"
#include "source/syntax.h"
#include "source/training_loaders.h"
#include "source/training_script.h"

namespace ridgeline::source {

namespace {

using Content = SourceTree::Content;

constexpr std::string_view kWorkers = "num_workers";  // of a DataLoader
constexpr int kWorkersPosition = 5;

/// Whether a statement, or what is in it, calls `.backward()`.
bool calls_backward(const Content& content, Node node) {
  return !nodes_in(node, [&](Node each) {
            return is_call(each) && content.text_of(each.field("function")).ends_with(".backward");
          }).empty();
}

/// Names whose `.parameters()` are asked for: of models that the script trains.
std::set<std::string_view> names_with_parameters(const Content& content) {
  std::set<std::string_view> names;
  for (const Node call : nodes_in(content.root(), is_call)) {
    const Node callee = call.field("function");
    if (callee.is("attribute") && content.text_of(callee.field("attribute")) == "parameters" &&
        callee.field("object").is("identifier")) {
      names.insert(content.text_of(callee.field("object")));
    }
  }
  return names;
}

/// What the script trains in a loop that is written out: the model, and the block of statements that calls it and
/// backward.
struct TrainingBlock {
  Node block;
  std::string_view model;
};

base::Result<TrainingBlock> training_block(const Content& content) {
  const std::set<std::string_view> trained = names_with_parameters(content);
  std::vector<TrainingBlock> found;
  for (const Node block : nodes_in(content.root(), [](Node node) { return node.is("block"); })) {
    const std::vector<Node> statements = block.children();
    const bool has_backward = std::ranges::any_of(statements, [&](Node statement) {
      return statement.is("expression_statement") && calls_backward(content, statement);
    });
    if (!has_backward) {
      continue;
    }
    std::set<std::string_view> called;
    for (const Node call : nodes_in(block, is_call)) {
      if (const auto name = content.text_of(call.field("function")); trained.contains(name)) {
        called.insert(name);
      }
    }
    if (called.size() == 1) {
      found.push_back({block, *called.begin()});
    }
  }
  if (found.size() != 1) {
    return base::error(found.empty()
                           ? "Where the script calls its model and `backward()` is not to be seen in this file."
                           : "The script trains at several places of this file.");
  }
  return found.front();
}

/// Where the script constructs the model that it trains.
struct ModelConstruction {
  Node call;
  Node assignment;  ///< of the call to a name; none: the call is an argument, as in `trainer.fit(Net(), loader)`
};

/// The model that is handed to what trains it, as `fit()` of Lightning and `Trainer()` take it; none: there is none.
std::vector<ModelConstruction> handed_models(const Content& content) {
  const auto script = read_training_script(content);
  const Node value = script && script->trainer.exists() ? argument_of(content, script->trainer, "model", 0) : Node();
  if (value.is("call") && constructs_model(content, *script, value)) {
    return {{value, Node()}};
  }
  const ScriptStatement* assigned = value.is("identifier") ? assignment_of(*script, content.text_of(value)) : nullptr;
  if (assigned == nullptr || !assigned->value.is("call")) {
    return {};
  }
  const std::vector<Node> nodes = assigned->node.exists()
                                      ? nodes_in(assigned->node, [](Node each) { return each.is("assignment"); })
                                      : std::vector<Node>();  // the value of a parameter
  return {{assigned->value, nodes.empty() ? Node() : nodes.front()}};
}

/// The last assignment of a call to the name of the trained model; else the model that is handed to what trains it.
base::Result<ModelConstruction> model_construction(const Content& content) {
  std::vector<ModelConstruction> found;
  for (const std::string_view trained : names_with_parameters(content)) {
    for (const Node node : nodes_in(content.root(), [](Node each) { return each.is("assignment"); })) {
      if (content.text_of(node.field("left")) == trained && node.field("right").is("call")) {
        found.push_back({node.field("right"), node});
      }
    }
  }
  if (found.empty()) {
    found = handed_models(content);
  }
  if (found.size() != 1) {
    return base::error(found.empty() ? "Where the script constructs its model is not to be seen in this file."
                                     : "The script assigns models at several places of this file.");
  }
  return found.front();
}

}  // namespace

Edits script_autocast_edits(const SourceTree& tree, std::string_view device) {
  const Content& content = tree.content();
  if (const auto script = read_training_script(content)) {
    if (script->form == TrainingForm::kTrainer) {
      return trainer_precision_edits(content, *script, device);
    }
    if (script->form == TrainingForm::kLightning) {
      return lightning_precision_edits(content, *script);
    }
  }
  const auto training = training_block(content);
  if (!training) {
    return training.error();
  }
  if (!imports_torch(content)) {
    return base::error("The file does not import torch by that name.");
  }
  return autocast_around(content, training->block, training->model, device);
}

Edits script_channels_last_edits(const SourceTree& tree) {
  const Content& content = tree.content();
  const auto model = model_construction(content);
  if (!model) {
    return model.error();
  }
  if (!imports_torch(content)) {
    return base::error("The file does not import torch by that name.");
  }
  if (content.text.find("channels_last") != std::string::npos) {
    return base::error("The code has channels_last already.");
  }
  const std::size_t end = model->call.span().end;
  return std::vector<TextEdit>{{{end, end}, ".to(memory_format=torch.channels_last)"}};
}

Edits script_compile_edits(const SourceTree& tree) {
  const Content& content = tree.content();
  const auto model = model_construction(content);
  if (!model) {
    return model.error();
  }
  if (!model->assignment.exists()) {
    return base::error("The model is constructed where it is handed on, and has no name there.");
  }
  const Span span = model->assignment.span();
  if (!has_lines_of_its_own(content, span)) {
    return base::error("The statement that constructs the model shares its line with others.");
  }
  return std::vector<TextEdit>{{{span.end, span.end},
                                std::string(line_end_of(content)) + std::string(indentation_at(content, span.begin)) +
                                    std::string(content.text_of(model->assignment.field("left"))) + ".compile()"}};
}

std::vector<std::string> script_loader_workers_options(const SourceTree& tree) {
  const Content& content = tree.content();
  const auto script = read_training_script(content);
  const std::vector<Node> loaders = script ? training_loaders(content, *script) : std::vector<Node>();
  const Node value =
      loaders.size() == 1 ? argument_or_option(content, *script, loaders.front(), kWorkers, kWorkersPosition) : Node();
  return value.exists() ? number_place_of(content, *script, value).options : std::vector<std::string>();
}

Edits script_loader_workers_edits(const SourceTree& tree, const std::string& workers) {
  const Content& content = tree.content();
  const auto script = read_training_script(content);
  if (!script) {
    return script.error();
  }
  const std::vector<Node> loaders = training_loaders(content, *script);
  if (loaders.size() != 1) {
    return base::error(loaders.empty() ? "No DataLoader is constructed in this file."
                                       : "Which DataLoader of this file is for training is not to be seen.");
  }
  const Node value = argument_or_option(content, *script, loaders.front(), kWorkers, kWorkersPosition);
  if (value.exists()) {
    const Node literal = number_place_of(content, *script, value).literal;
    return literal.exists() ? Edits(std::vector<TextEdit>{{literal.span(), workers}})
                            : Edits(base::error("`num_workers` of the DataLoader is no number in this file."));
  }
  const auto arguments = written_arguments(content, loaders.front());
  if (!arguments) {
    return arguments.error();
  }
  return std::vector<TextEdit>{argument_added(content, loaders.front(), std::string(kWorkers) + "=" + workers)};
}

}  // namespace ridgeline::source
