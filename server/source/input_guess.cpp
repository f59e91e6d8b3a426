#include "source/input_guess.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"

namespace ridgeline::source {

namespace {

using Content = SourceTree::Content;

constexpr int kMaxDepth = 8;

/// Images of data sets that every tutorial uses.
struct KnownDataset {
  std::string_view name;
  std::string_view channels;
  std::string_view size;
  std::string_view classes;
};
constexpr auto kDatasets = std::to_array<KnownDataset>({{"MNIST", "1", "28", "10"},
                                                        {"FashionMNIST", "1", "28", "10"},
                                                        {"KMNIST", "1", "28", "10"},
                                                        {"QMNIST", "1", "28", "10"},
                                                        {"EMNIST", "1", "28", "47"},
                                                        {"CIFAR10", "3", "32", "10"},
                                                        {"CIFAR100", "3", "32", "100"},
                                                        {"SVHN", "3", "32", "10"},
                                                        {"STL10", "3", "96", "10"},
                                                        {"ImageNet", "3", "224", "1000"},
                                                        {"ImageFolder", "3", "224", ""},
                                                        {"CelebA", "3", "218", ""},
                                                        {"LSUN", "3", "256", ""},
                                                        {"Food101", "3", "224", "101"},
                                                        {"Flowers102", "3", "224", "102"}});

const KnownDataset* known_dataset(std::string_view name) {
  const auto* const found = std::ranges::find(kDatasets, name, &KnownDataset::name);
  return found == kDatasets.end() ? nullptr : found;
}

/// An expression of the entry file.
struct Value {
  std::string text;
  NameSet reads;
};
using Bindings = std::map<std::string_view, std::optional<Value>>;  ///< parameters of __init__; nothing: unknown

class Guesser {
 public:
  Guesser(const Content& content, const TrainingScript& script, const InputQuestion& question)
      : content_(content), script_(script), question_(question) {}

  std::optional<InputGuess> guess() {
    guess_.imports.insert("import torch");
    const Node call = question_.construction;
    const std::string_view name = call.exists() ? called_name(content_, call) : question_.model;
    const Node function = question_.construction.field("function");
    const std::string_view text = function.exists() ? content_.text_of(function) : std::string_view();
    const auto own = script_.models.find(name);
    bool done = false;
    if (own != script_.models.end()) {
      done = of_layers(own->second.node, bind(own->second.node, call, {}));
    } else if (text.starts_with("models.") || text.starts_with("torchvision.models.") || text == "timm.create_model") {
      done = of_images(name == "inception_v3" ? "299" : "224");
    } else if (text.ends_with("nn.Sequential")) {
      done = of_layers(question_.construction, {});
    } else if (!text.ends_with("nn.Transformer")) {
      done = of_transformers(name, text);
    }
    return done ? std::optional(std::move(guess_)) : std::nullopt;
  }

 private:
  // ---- values

  bool is_known(std::string_view name) const {
    return std::ranges::any_of(script_.statements, [&](const ScriptStatement& statement) {
      return !statement.is_definition && statement.names.writes.contains(name);
    });
  }

  std::optional<Value> value_of(Node expression, const Bindings& bindings, int depth = 0) const {
    expression = without_parentheses(expression);
    if (!expression.exists() || depth > kMaxDepth) {
      return std::nullopt;
    }
    if (expression.is("integer")) {
      return Value{std::string(content_.text_of(expression)), {}};
    }
    if (expression.is("binary_operator")) {
      const auto left = value_of(expression.field("left"), bindings, depth + 1);
      const auto right = value_of(expression.field("right"), bindings, depth + 1);
      const std::string_view sign = content_.text_of(expression.field("operator"));
      if (!left || !right || base::contains(sign, "@")) {
        return std::nullopt;
      }
      const auto operand = [](const Value& value) {
        return base::contains(value.text, " ") ? "(" + value.text + ")" : value.text;
      };
      Value value{operand(*left) + " " + std::string(sign) + " " + operand(*right), left->reads};
      value.reads.insert(right->reads.begin(), right->reads.end());
      return value;
    }
    if (expression.is("identifier") || expression.is("attribute")) {
      const std::string_view root = root_name(content_, expression);
      const std::string_view text = content_.text_of(expression);
      const auto bound = bindings.find(root);
      if (bound != bindings.end()) {
        if (!bound->second.has_value() || base::contains(bound->second->text, " ")) {
          return expression.is("identifier") ? bound->second : std::nullopt;
        }
        return Value{bound->second->text + std::string(text.substr(root.size())), bound->second->reads};
      }
      return is_known(root) ? std::optional(Value{std::string(text), {root}}) : std::nullopt;
    }
    return std::nullopt;
  }

  Node initializer(Node definition) const {
    for (const Node statement :
         definition.field("body").exists() ? definition.field("body").children() : std::vector<Node>()) {
      const Node node = statement.is("decorated_definition") ? statement.field("definition") : statement;
      if (node.is("function_definition") && content_.text_of(node.field("name")) == "__init__") {
        return node;
      }
    }
    return {};
  }

  /// The parameters of a class's __init__ for a call with `outer` around it.
  Bindings bind(Node definition, Node call, const Bindings& outer) const {
    Bindings bindings;
    const Node parameters = initializer(definition).field("parameters");
    int position = -2;  // of `self`, less one
    for (const Node parameter : parameters.exists() ? parameters.children() : std::vector<Node>()) {
      const Node inner = parameter.is("typed_parameter") ? parameter.children().front() : parameter;
      const Node name = inner.is("identifier") ? inner : inner.field("name");
      if (!name.is("identifier")) {
        continue;
      }
      ++position;
      const std::string_view text = content_.text_of(name);
      const Node argument = position < 0 ? Node() : argument_of(content_, call, text, position);
      bindings[text] = argument.exists() ? value_of(argument, outer) : value_of(inner.field("value"), {});
    }
    return bindings;
  }

  // ---- layers

  struct Layer {
    std::string_view name;
    Node call;
    Bindings bindings;
  };

  /// The first layer that fixes the shape of what goes in, and the last Linear; in the order of the text.
  void find_layers(Node top, const Bindings& bindings, int depth) {
    const Node inside = top.is("class_definition") ? initializer(top) : top;
    if (!inside.exists() || depth > kMaxDepth) {
      return;
    }
    for_each_node(inside, [&](Node node, const std::vector<Node>& /*ancestors*/) {
      const std::string_view name = called_name(content_, node);
      constexpr auto kLayers =
          std::to_array<std::string_view>({"Conv1d", "Conv2d", "Conv3d", "Linear", "Embedding", "LSTM", "GRU", "RNN"});
      if (std::ranges::find(kLayers, name) != kLayers.end()) {
        if (!first_.has_value()) {
          first_ = Layer{name, node, bindings};
        }
        if (name == "Linear") {
          last_ = Layer{name, node, bindings};
        }
      } else if (const auto own = script_.models.find(name); own != script_.models.end() && node.is("call")) {
        if (!first_.has_value() && ++visits_ < 64) {
          find_layers(own->second.node, bind(own->second.node, node, bindings), depth + 1);
        }
      }
    });
  }

  std::optional<std::string> text_of(const Layer& layer, std::string_view keyword, int position) {
    auto value = value_of(argument_of(content_, layer.call, keyword, position), layer.bindings);
    if (!value.has_value()) {
      return std::nullopt;
    }
    guess_.reads.insert(value->reads.begin(), value->reads.end());
    return std::move(value->text);
  }

  bool of_layers(Node top, const Bindings& bindings) {
    find_layers(top, bindings, 0);
    if (!first_.has_value()) {
      return false;
    }
    const Layer layer = *first_;
    const std::string_view kind = layer.name;
    if (kind == "Conv2d") {
      const auto channels = text_of(layer, "in_channels", 0);
      channels_ = channels.value_or("");
      return channels.has_value() && of_images("");
    }
    const auto size = text_of(layer,
                              kind == "Embedding"        ? "num_embeddings"
                              : kind == "Linear"         ? "in_features"
                              : kind.starts_with("Conv") ? "in_channels"
                                                         : "input_size",
                              0);
    if (!size.has_value()) {
      return false;
    }
    if (kind == "Embedding") {
      tokens_ = true;
      return write("torch.randint(" + *size + ", (batch_size, 128))", "guessed: 128 tokens");
    }
    if (kind == "Linear") {
      return dataset() != nullptr ? of_images("") : write("torch.randn(batch_size, " + *size + ")", "");
    }
    if (kind == "Conv1d") {
      return write("torch.randn(batch_size, " + *size + ", 128)", "guessed: a length of 128");
    }
    if (kind == "Conv3d") {
      return write("torch.randn(batch_size, " + *size + ", 16, 64, 64)", "guessed: 16 pictures of 64 x 64");
    }
    const Node first = argument_of(content_, layer.call, "batch_first", -1);
    const bool batch_first = first.exists() && content_.text_of(first) == "True";
    return write("torch.randn(" + std::string(batch_first ? "batch_size, 128, " : "128, batch_size, ") + *size + ")",
                 "guessed: a length of 128");
  }

  // ---- images

  const KnownDataset* dataset() const { return known_dataset(called_name(content_, question_.dataset)); }

  /// The size that a transform of the file gives the images.
  std::string transformed_size() const {
    std::string size;
    for_each_node(content_.root(), [&](Node node, const std::vector<Node>& /*ancestors*/) {
      const std::string_view name = called_name(content_, node);
      if (size.empty() &&
          (name == "RandomResizedCrop" || name == "CenterCrop" || name == "RandomCrop" || name == "Resize")) {
        Node value = argument_of(content_, node, "size", 0);
        if (value.is("tuple") || value.is("list")) {
          value = value.children().size() > 1 ? value.children()[1] : Node();
        }
        const auto found = value_of(value, {});
        if (found.has_value() && found->reads.empty()) {
          size = found->text;
        }
      }
    });
    return size;
  }

  bool of_images(std::string size) {
    const KnownDataset* const known = dataset();
    const std::string transformed = transformed_size();
    std::string guessed;
    if (!transformed.empty()) {
      size = transformed;
    } else if (known != nullptr && size.empty()) {
      size = known->size;
    } else if (size.empty()) {
      size = "32";
      guessed = "guessed: images of 32 x 32";
    }
    const std::string channels = !channels_.empty() ? channels_ : known != nullptr ? std::string(known->channels) : "3";
    return write("torch.randn(batch_size, " + channels + ", " + size + ", " + size + ")", guessed);
  }

  // ---- what is compared with the result

  bool loss_is(std::initializer_list<std::string_view> names) const {
    const auto named = [&](const CalledName& call) { return std::ranges::find(names, call.name) != names.end(); };
    const auto in = [&](const std::vector<ScriptStatement>& statements) {
      return std::ranges::any_of(statements, [&](const ScriptStatement& statement) {
        return !statement.is_import && std::ranges::any_of(statement.names.calls, named);
      });
    };
    const auto names_loss = [&](const auto& entry) {
      return script_.trains.contains(entry.first) && std::ranges::any_of(names_in(content_, entry.second).calls, named);
    };
    return in(*question_.statements) || in(script_.statements) || std::ranges::any_of(script_.definitions, names_loss);
  }

  /// Whether the iteration reads a value of the batch.
  bool is_read(std::string_view name) const {
    return std::ranges::any_of(*question_.statements,
                               [&](const ScriptStatement& statement) { return statement.names.reads.contains(name); });
  }

  bool body_contains(std::initializer_list<std::string_view> parts) const {
    return std::ranges::any_of(*question_.statements, [&](const ScriptStatement& statement) {
      return statement.node.exists() && std::ranges::any_of(parts, [&](std::string_view part) {
               return base::contains(content_.text_of(statement.node), part);
             });
    });
  }

  /// The number of values that the model gives for a sample.
  std::optional<std::string> outputs() {
    // `model.fc = nn.Linear(512, 10)` comes after the model's own last layer.
    for (const ScriptStatement& statement : script_.statements) {
      if (statement.node.exists() && !statement.is_definition && !statement.names.changes.empty()) {
        for_each_node(statement.node, [&](Node node, const std::vector<Node>& /*ancestors*/) {
          if (called_name(content_, node) == "Linear") {
            last_ = Layer{"Linear", node, {}};
          }
        });
      }
    }
    if (last_.has_value()) {
      return text_of(*last_, "out_features", 1);
    }
    const auto classes = value_of(argument_of(content_, question_.construction, "num_classes", -1), {});
    if (classes.has_value()) {
      guess_.reads.insert(classes->reads.begin(), classes->reads.end());
      return classes->text;
    }
    return std::nullopt;
  }

  /// Writes a line for the input and, when the loop has two values, one for the target.
  bool write(const std::string& input, const std::string& note) {
    if (question_.names.empty() || question_.names.size() > 2) {
      return false;
    }
    const auto line = [&](std::string_view name, const std::string& value, const std::string& comment) {
      guess_.lines.push_back(std::string(name) + " = " + value + (comment.empty() ? "" : "  # " + comment));
    };
    const bool binary =
        loss_is({"binary_cross_entropy", "binary_cross_entropy_with_logits", "BCELoss", "BCEWithLogitsLoss"});
    const bool compared_with_input = question_.names.size() == 1 || !is_read(question_.names[1]);
    constexpr std::string_view kNormal = "torch.randn(";
    if (binary && compared_with_input && input.starts_with(kNormal)) {
      line(question_.names[0], "torch.rand(" + input.substr(kNormal.size()), "from 0 to 1, as the loss takes it");
    } else {
      line(question_.names[0], input, note);
    }
    guess_.values = std::string(question_.names[0]) + ",";
    if (question_.names.size() == 1) {
      return true;
    }
    const std::string_view target = question_.names[1];
    guess_.values += " " + std::string(target);
    if (compared_with_input) {
      line(target, "torch.zeros(batch_size)", "not used");
      return true;
    }
    const KnownDataset* const known = dataset();
    auto count = outputs();
    if (known != nullptr && !known->classes.empty() && !last_.has_value()) {
      count = std::string(known->classes);
    }
    // A loss that is not known is guessed to be the same in the entry file.
    const bool guessed = std::ranges::any_of(script_.open, [](std::string_view name) {
      return base::contains(name, "criterion") || base::contains(name, "loss");
    });
    if (guessed || loss_is({"cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss"})) {
      const bool per_token = tokens_ && body_contains({"view(-1", "flatten", "transpose", "permute", "reshape"});
      line(target, "torch.randint(" + count.value_or("10") + (per_token ? ", (batch_size, 128))" : ", (batch_size,))"),
           count.has_value() ? "" : "guessed: 10 classes");
      return true;
    }
    if (!binary &&
        !loss_is({"mse_loss", "MSELoss", "l1_loss", "L1Loss", "smooth_l1_loss", "SmoothL1Loss", "HuberLoss"})) {
      return false;
    }
    if (!count.has_value()) {
      return false;
    }
    const bool flat = body_contains({"squeeze(", "flatten(", "view(-1)"});
    line(target,
         std::string(binary ? "torch.rand" : "torch.randn") + "(batch_size" + (flat ? "" : ", " + *count) + ")" +
             (binary ? ".round()" : ""),
         "");
    return true;
  }

  // ---- Hugging Face

  /// The configuration of a model, as an expression; empty: it is not known.
  std::string configuration(std::string_view name) {
    const Node call = question_.construction;
    const Node first = argument_of(content_, call, "config", 0);
    const auto use = [&](Node node) {
      const NameSet reads = names_in(content_, node).reads;
      guess_.reads.insert(reads.begin(), reads.end());
      return std::string(content_.text_of(node));
    };
    if (name != "from_pretrained") {
      return first.exists() ? use(first) : "";
    }
    const Node source = argument_of(content_, call, "pretrained_model_name_or_path", 0);
    if (!source.exists()) {
      return "";
    }
    guess_.imports.insert("from transformers import AutoConfig");
    std::string text = "AutoConfig.from_pretrained(" + use(source);
    if (const Node labels = argument_of(content_, call, "num_labels", -1); labels.exists()) {
      text += ", num_labels=" + use(labels);
    }
    return text + ")";
  }

  bool of_transformers(std::string_view name, std::string_view called) {
    const std::string config = configuration(name);
    if (config.empty()) {
      return false;
    }
    const auto is = [&](std::string_view part) { return base::contains(called, part); };
    std::vector<std::string>& lines = guess_.lines;
    if (config != "config") {
      lines.push_back("config = " + config);
    }
    std::vector<std::pair<std::string, std::string>> members;
    const std::string labels_of_samples = "torch.randint(config.num_labels, (batch_size,))";
    if (is("Image") || is("ViT")) {
      members = {{"pixel_values", "torch.randn(batch_size, config.num_channels, config.image_size, config.image_size)"},
                 {"labels", labels_of_samples}};
    } else {
      lines.emplace_back(
          "length = min(getattr(config, \"max_position_embeddings\", 128), 128)  # guessed: at most 128 tokens");
      lines.emplace_back("input_ids = torch.randint(config.vocab_size, (batch_size, length))");
      members = {{"input_ids", "input_ids"}, {"attention_mask", "torch.ones_like(input_ids)"}};
      if (is("ForSequenceClassification") || is("ForMultipleChoice")) {
        members.emplace_back("labels", labels_of_samples);
      } else if (is("ForTokenClassification")) {
        members.emplace_back("labels", "torch.randint(config.num_labels, (batch_size, length))");
      } else if (is("ForQuestionAnswering")) {
        members.emplace_back("start_positions", "torch.randint(length, (batch_size,))");
        members.emplace_back("end_positions", "torch.randint(length, (batch_size,))");
      } else {
        members.emplace_back("labels", "input_ids.clone()");
      }
    }
    return question_.names.size() == 1 ? batch_of(members) : by_name(members);
  }

  bool batch_of(const std::vector<std::pair<std::string, std::string>>& members) {
    const std::string batch(question_.names[0]);
    guess_.lines.push_back(batch + " = {");
    for (const auto& [key, value] : members) {
      guess_.lines.push_back(std::string("    \"").append(key).append("\": ").append(value).append(","));
    }
    guess_.lines.emplace_back("}");
    guess_.values = batch + ",";
    return true;
  }

  bool by_name(const std::vector<std::pair<std::string, std::string>>& members) {
    for (const std::string_view name : question_.names) {
      const bool labels = base::contains(name, "label") || base::contains(name, "target") || name == "y";
      const std::string_view key = labels                                                           ? "labels"
                                   : base::contains(name, "mask")                                   ? "attention_mask"
                                   : base::contains(name, "pixel") || base::contains(name, "image") ? "pixel_values"
                                                                                                    : "input_ids";
      const auto member = std::ranges::find(members, key, &std::pair<std::string, std::string>::first);
      if (member == members.end()) {
        return false;
      }
      if (member->second != name) {
        guess_.lines.push_back(std::string(name) + " = " + member->second);
      }
      guess_.values += (guess_.values.empty() ? "" : ", ") + std::string(name);
    }
    return !guess_.values.empty();
  }

  const Content& content_;
  const TrainingScript& script_;
  const InputQuestion& question_;
  InputGuess guess_;
  std::optional<Layer> first_;
  std::optional<Layer> last_;
  std::string channels_;
  bool tokens_ = false;
  int visits_ = 0;
};

}  // namespace

std::optional<InputGuess> guess_input(const SourceTree::Content& content, const TrainingScript& script,
                                      const InputQuestion& question) {
  if ((!question.construction.exists() && question.model.empty()) || question.names.empty()) {
    return std::nullopt;
  }
  return Guesser(content, script, question).guess();
}

bool is_downloaded(std::string_view called) { return called == "load_dataset" || known_dataset(called) != nullptr; }

}  // namespace ridgeline::source
