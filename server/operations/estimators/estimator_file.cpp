#include "operations/estimators/estimator_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_problem.h"

namespace ridgeline::operations {

namespace {

using nlohmann::json;

constexpr int kVersion = 3;
constexpr std::size_t kMostModels = 100'000;
constexpr std::size_t kMostTrees = 10'000;
constexpr std::size_t kMostNodes = 4096;
constexpr std::size_t kMostLayers = 16;
constexpr std::size_t kMostWidth = 1024;

/// Thrown within this file: what is wrong.
struct Problem {
  std::string message;
};

void need(bool good, const char* what) {
  if (!good) {
    throw Problem{what};
  }
}

double finite(const json& value) {
  const double number = value.get<double>();
  need(std::isfinite(number), "a weight is no number");
  return number;
}

std::vector<double> row_of(const json& value, std::size_t size) {
  need(value.is_array() && value.size() == size, "a row of weights has another length");
  std::vector<double> row;
  for (const json& one : value) {
    row.push_back(finite(one));
  }
  return row;
}

ProductForm product_from(const json& value, std::size_t numbers) {
  ProductForm product{value.at("exponents").get<std::vector<int>>(), finite(value.at("offsetNs")),
                      finite(value.at("scaleNs"))};
  need(product.exponents.size() == numbers &&
           std::ranges::all_of(product.exponents, [](int one) { return one >= -1 && one <= 1; }),
       "the exponents do not fit");
  return product;
}

std::vector<Trees::Node> tree_from(const json& value, std::size_t inputs) {
  need(value.is_array() && !value.empty() && value.size() <= kMostNodes, "a tree is empty or too large");
  std::vector<Trees::Node> tree;
  for (const json& node : value) {
    const std::vector<double> row = row_of(node, 4);
    const auto index = [&](double number, double least, double most) {
      need(number >= least && number < most && number == std::floor(number), "a tree points outside of itself");
      return static_cast<int>(number);
    };
    Trees::Node made{index(row[0], -1, static_cast<double>(inputs)), row[1], 0, 0};
    if (made.feature >= 0) {  // children come later: a walk ends
      const auto after = static_cast<double>(tree.size() + 1);
      made.lower = index(row[2], after, static_cast<double>(value.size()));
      made.higher = index(row[3], after, static_cast<double>(value.size()));
    }
    tree.push_back(made);
  }
  return tree;
}

Trees trees_from(const json& value, std::size_t inputs) {
  Trees trees{finite(value.at("mean")), {}};
  need(value.at("trees").size() <= kMostTrees, "there are too many trees");
  for (const json& tree : value.at("trees")) {
    trees.trees.push_back(tree_from(tree, inputs));
  }
  return trees;
}

Perceptron perceptron_from(const json& value, std::size_t inputs) {
  Perceptron net{row_of(value.at("mean"), inputs), row_of(value.at("scale"), inputs), {}};
  need(std::ranges::none_of(net.scale, [](double one) { return one == 0; }), "a scale is 0");
  const json& layers = value.at("layers");
  need(layers.is_array() && !layers.empty() && layers.size() <= kMostLayers, "there are no layers, or too many");
  for (const json& layer : layers) {
    const json& weight = layer.at("weight");
    need(weight.is_array() && !weight.empty() && weight.size() <= kMostWidth, "a layer is empty or too wide");
    Perceptron::Layer made{{}, row_of(layer.at("bias"), weight.size())};
    for (const json& row : weight) {
      made.weight.push_back(row_of(row, inputs));
    }
    inputs = made.bias.size();
    net.layers.push_back(std::move(made));
  }
  need(inputs == 1, "the last layer has several outputs");
  return net;
}

/// All but the group.
OperatorModel model_from(const json& value, Group group, int rows) {
  OperatorModel model{.group = std::move(group), .rows = rows};
  const std::size_t numbers = model.group.learnt.size();
  const std::size_t features = model.group.seen.empty() ? numbers + 2 : model.group.seen.size();
  const std::size_t inputs = features + 1;  // and the product form
  model.product = product_from(value.at("product"), numbers);
  model.low = finite(value.at("low"));
  model.high = finite(value.at("high"));
  need(model.low <= model.high, "the interval is upside down");
  for (std::size_t i = 0; i < kModelKinds.size(); ++i) {
    model.errors.at(i) = finite(value.at("errors").at(kModelKinds.at(i)));
  }
  const std::string kind = value.at("kind").get<std::string>();
  need(std::ranges::count(kModelKinds, kind) > 0, "the kind of a model is not known");
  if (kind == "trees") {
    model.trees = trees_from(value.at("trees"), inputs);
  }
  if (kind == "mlp") {
    model.perceptron = perceptron_from(value.at("mlp"), inputs);
  }
  return model;
}

json group_json(const Group& group) {
  json learnt = json::array();
  for (const LearntParameter& one : group.learnt) {
    learnt.push_back({{"name", one.name}, {"isDimension", one.is_dimension}, {"low", one.low}, {"high", one.high}});
  }
  return {{"mode", group.mode},          {"selected", group.selected}, {"equal", group.equal},
          {"learnt", std::move(learnt)}, {"seen", group.seen},         {"joulesPerFlop", group.joules_per_flop}};
}

Group group_from(const json& value) {
  Group group{value.at("mode").get<std::string>(),
              value.at("selected").get<decltype(Group::selected)>(),
              value.at("equal").get<decltype(Group::equal)>(),
              {},
              value.at("seen").get<decltype(Group::seen)>(),
              finite(value.at("joulesPerFlop"))};
  for (const json& one : value.at("learnt")) {
    group.learnt.push_back({one.at("name").get<std::string>(), one.at("isDimension").get<bool>(), finite(one.at("low")),
                            finite(one.at("high"))});
  }
  return group;
}

json trees_json(const Trees& trees) {
  json all = json::array();
  for (const std::vector<Trees::Node>& tree : trees.trees) {
    json& nodes = all.emplace_back(json::array());
    for (const Trees::Node& node : tree) {
      nodes.push_back({node.feature, node.value, node.lower, node.higher});
    }
  }
  return {{"mean", trees.mean}, {"trees", std::move(all)}};
}

json perceptron_json(const Perceptron& net) {
  json layers = json::array();
  for (const Perceptron::Layer& layer : net.layers) {
    layers.push_back({{"weight", layer.weight}, {"bias", layer.bias}});
  }
  return {{"mean", net.mean}, {"scale", net.scale}, {"layers", std::move(layers)}};
}

json model_json(const OperatorModel& model) {
  json made = {{"group", group_json(model.group)},
               {"rows", model.rows},
               {"kind", kind_of(model)},
               {"low", model.low},
               {"high", model.high},
               {"errors", json::object()},
               {"product",
                {{"exponents", model.product.exponents},
                 {"offsetNs", model.product.offset_ns},
                 {"scaleNs", model.product.scale_ns}}}};
  for (std::size_t i = 0; i < kModelKinds.size(); ++i) {
    made["errors"][kModelKinds.at(i)] = model.errors.at(i);
  }
  if (model.trees) {
    made["trees"] = trees_json(*model.trees);
  }
  if (model.perceptron) {
    made["mlp"] = perceptron_json(*model.perceptron);
  }
  return made;
}

/// Runs `read`, which throws Problem or what the JSON library does.
template <typename Read>
auto checked(const std::string& name, Read read) -> base::Result<decltype(read())> {
  try {
    return read();
  } catch (const Problem& problem) {
    return base::error(name + ": " + problem.message + ". Train the estimators again.");
  } catch (const json::exception& problem) {
    return base::error(name + " holds no estimators: " + base::json_problem(problem.what()) + ". Train them again.");
  }
}

}  // namespace

json training_plan(std::span<const TrainingGroup> groups, bool with_product) {
  json all = json::array();
  for (const TrainingGroup& group : groups) {
    json dimensions = json::array();
    for (const LearntParameter& parameter : group.group.learnt) {
      dimensions.push_back(parameter.is_dimension);
    }
    all.push_back({{"parameters", group.numbers},
                   {"dimensions", std::move(dimensions)},
                   {"features", group.features},
                   {"folds", group.folds},
                   {"leastNs", group.least_ns},
                   {"ns", group.ns}});
  }
  return {{"groups", std::move(all)}, {"withoutProduct", !with_product}};
}

base::Result<std::vector<OperatorModel>> trained_models(std::string_view text, std::span<const TrainingGroup> groups) {
  return checked("The trainer's answer", [&] {
    const json read = json::parse(text);
    const json& models = read.at("models");
    need(models.size() == groups.size(), "it is not about the groups that were sent");
    std::vector<OperatorModel> made;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (!models[i].is_null()) {
        made.push_back(model_from(models[i], groups[i].group, static_cast<int>(groups[i].keys.size())));
      }
    }
    return made;
  });
}

std::string estimators_json(std::span<const Estimators> all) {
  json devices = json::array();
  for (const Estimators& one : all) {
    json models = json::array();
    for (const OperatorModel& model : one.models) {
      models.push_back(model_json(model));
    }
    devices.push_back({{"device", one.conditions.device},
                       {"threads", one.conditions.threads},
                       {"torch", one.conditions.torch},
                       {"devices", one.devices},
                       {"trained", one.trained_s},
                       {"models", std::move(models)}});
  }
  return json{{"version", kVersion}, {"estimators", std::move(devices)}}.dump(-1, ' ', false,
                                                                              json::error_handler_t::replace) +
         "\n";
}

base::Result<std::vector<Estimators>> parse_estimators(std::string_view text, const std::string& name) {
  if (text.size() > kMaxEstimatorBytes) {
    return base::error(name + " is too large for estimators");
  }
  return checked(name, [&] {
    const json read = json::parse(text);
    need(read.at("version").get<int>() == kVersion, "it was made by another version of Ridgeline");
    std::vector<Estimators> all;
    std::size_t count = 0;
    for (const json& device : read.at("estimators")) {
      Estimators one{{device.at("device").get<std::string>(), device.at("threads").get<int>(),
                      device.at("torch").get<std::string>()},
                     device.at("trained").get<std::int64_t>(),
                     {},
                     device.at("devices").get<std::vector<std::string>>()};
      for (const json& model : device.at("models")) {
        need(++count <= kMostModels, "there are too many models");
        one.models.push_back(model_from(model, group_from(model.at("group")), model.at("rows").get<int>()));
      }
      all.push_back(std::move(one));
    }
    return all;
  });
}

}  // namespace ridgeline::operations
