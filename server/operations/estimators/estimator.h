// Learnt times of operations under one set of conditions: plain weights, evaluated here, trained by
// profiler/runner/ridgeline_runner/measure/train_estimators.py.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operations/estimators/groups.h"
#include "operations/table/operation_table.h"

namespace ridgeline::operations {

/// offset + scale · Π numbers^exponents, in nanoseconds: Tianshu's principal component, section 3.2.2.
struct ProductForm {
  std::vector<int> exponents{};  ///< of Group::learnt: 0 (null), 1 (linear), -1 (inverse)
  double offset_ns = 0;
  double scale_ns = 0;
};

/// A sum of trees over the features and, last, the logarithm of the product form. What they give is added to the
/// latter.
struct Trees {
  struct Node {
    int feature = -1;  ///< -1: a leaf
    double value = 0;  ///< of a leaf; else the largest that goes to `lower`
    int lower = 0;     ///< later in the tree than the node itself
    int higher = 0;    ///< likewise
  };
  double mean = 0;
  std::vector<std::vector<Node>> trees{};
};

/// A perceptron over the same inputs, normalized, with tanh between its layers.
struct Perceptron {
  struct Layer {
    std::vector<std::vector<double>> weight{};  ///< by output
    std::vector<double> bias{};
  };
  std::vector<double> mean{};
  std::vector<double> scale{};
  std::vector<Layer> layers{};
};

inline constexpr std::array<const char*, 3> kModelKinds = {"product", "trees", "mlp"};

struct OperatorModel {
  Group group{};
  int rows = 0;  ///< that it was trained with
  ProductForm product{};
  /// What corrects the product form: trees, a perceptron, or nothing.
  std::optional<Trees> trees{};
  std::optional<Perceptron> perceptron{};
  std::array<double, kModelKinds.size()> errors{};  ///< mean relative error in cross-validation, of each of kModelKinds
  /// 95 % of the times that were held out lie between exp(low) and exp(high) times the estimate.
  double low = 0;
  double high = 0;
};

struct Estimators {
  Conditions conditions{};
  std::int64_t trained_s = 0;  ///< seconds since 1970
  std::vector<OperatorModel> models{};
  /// Names of data sheets: the models are across these (across_devices.h), and the conditions say nothing. Empty: of
  /// the one device of the conditions.
  std::vector<std::string> devices{};
};

struct Estimate {
  double ns = 0;
  double low = 0;   ///< 95 %
  double high = 0;  ///< likewise
  /// The largest factor by which a parameter is beyond what was measured; 1: within. The interval is wider by it.
  double beyond = 1;
};

inline constexpr double kMostBeyond = 2;  ///< further out nothing is estimated

/// Nothing where no model is about the operation, or a parameter is beyond kMostBeyond; then `why`, if it is not null,
/// says which.
std::optional<Estimate> estimate(const Estimators& estimators, std::string_view key, std::string* why = nullptr);

/// The logarithm of nanoseconds, by the values of Group::learnt and the features.
double evaluate(const OperatorModel& model, const std::vector<double>& numbers, std::vector<double> features);

/// The name of the model's kind, one of kModelKinds.
std::string_view kind_of(const OperatorModel& model);

}  // namespace ridgeline::operations
