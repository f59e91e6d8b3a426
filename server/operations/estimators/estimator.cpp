#include "operations/estimators/estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operations/estimators/estimator_parameters.h"

namespace ridgeline::operations {

namespace {

constexpr double kLeastNs = 1e-3;

/// The value of a number by its name; nothing where the call has none.
std::optional<double> value_of(const OperationParameters& parameters, const std::string& name) {
  const auto found = std::ranges::find(parameters.numbers, name, &Parameter::name);
  return found == parameters.numbers.end() ? std::nullopt : std::optional(found->value);
}

bool is_about(const Group& group, const OperationParameters& parameters) {
  return group.mode == parameters.mode &&
         std::ranges::all_of(group.selected,
                             [&](const auto& one) { return value_of(parameters, one.first) == one.second; }) &&
         std::ranges::all_of(group.equal, [&](const auto& pair) {
           return value_of(parameters, pair.first) == value_of(parameters, pair.second);
         });
}

double log_of_product(const ProductForm& product, const std::vector<double>& numbers) {
  double log = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    log += product.exponents[i] * std::log(std::max(numbers[i], 1e-300));
  }
  return std::log(std::max(product.offset_ns + product.scale_ns * std::exp(log), kLeastNs));
}

double evaluate(const Trees& trees, const std::vector<double>& inputs) {
  double total = trees.mean;
  for (const std::vector<Trees::Node>& tree : trees.trees) {
    const Trees::Node* node = &tree.front();
    while (node->feature >= 0) {
      const bool lower = inputs[static_cast<std::size_t>(node->feature)] <= node->value;
      node = &tree[static_cast<std::size_t>(lower ? node->lower : node->higher)];
    }
    total += node->value;
  }
  return total;
}

double evaluate(const Perceptron& net, const std::vector<double>& inputs) {
  std::vector<double> value(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    value[i] = (inputs[i] - net.mean[i]) / net.scale[i];
  }
  for (const Perceptron::Layer& layer : net.layers) {
    std::vector<double> next = layer.bias;
    for (std::size_t out = 0; out < next.size(); ++out) {
      for (std::size_t in = 0; in < value.size(); ++in) {
        next[out] += layer.weight[out][in] * value[in];
      }
      if (&layer != &net.layers.back()) {
        next[out] = std::tanh(next[out]);
      }
    }
    value = std::move(next);
  }
  return value.front();
}

/// How far a value is from what was measured, as a factor.
double beyond(const LearntParameter& parameter, double value) {
  if (value >= parameter.low && value <= parameter.high) {
    return 1;
  }
  if (value <= 0 || parameter.low <= 0) {
    return HUGE_VAL;
  }
  return value < parameter.low ? parameter.low / value : value / parameter.high;
}

}  // namespace

double evaluate(const OperatorModel& model, const std::vector<double>& numbers, std::vector<double> features) {
  const double base = log_of_product(model.product, numbers);
  features.push_back(base);
  return base + (model.trees        ? evaluate(*model.trees, features)
                 : model.perceptron ? evaluate(*model.perceptron, features)
                                    : 0);
}

std::optional<Estimate> estimate(const Estimators& estimators, std::string_view key, std::string* why) {
  const auto say = [&](std::string text) {
    if (why != nullptr) {
      *why = std::move(text);
    }
    return std::nullopt;
  };
  const auto parameters = parameters_of(key);
  const auto model =
      !parameters ? estimators.models.end() : std::ranges::find_if(estimators.models, [&](const OperatorModel& one) {
        return is_about(one.group, *parameters);
      });
  if (model == estimators.models.end()) {
    return say("nothing like it was measured");
  }
  std::vector<double> numbers;
  double most_beyond = 1;
  for (const LearntParameter& parameter : model->group.learnt) {
    const auto value = value_of(*parameters, parameter.name);
    if (!value) {
      return say("nothing like it was measured");
    }
    numbers.push_back(*value);
    const double factor = beyond(parameter, *value);
    most_beyond = std::max(most_beyond, factor);
    if (factor > kMostBeyond) {
      return say(fmt::format("number {} is {:g}; from {:g} to {:g} was measured", parameter.name, *value, parameter.low,
                             parameter.high));
    }
  }
  const double ns = std::exp(evaluate(*model, numbers, features_of(key, numbers)));
  if (!std::isfinite(ns) || ns <= 0) {
    return say("its model gives no number");
  }
  return Estimate{ns, ns * std::exp(std::min(model->low, 0.0)) / most_beyond,
                  ns * std::exp(std::max(model->high, 0.0)) * most_beyond, most_beyond};
}

std::string_view kind_of(const OperatorModel& model) {
  return kModelKinds.at(model.trees ? 1 : model.perceptron ? 2 : 0);
}

}  // namespace ridgeline::operations
