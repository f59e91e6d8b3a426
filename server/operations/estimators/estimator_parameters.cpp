#include "operations/estimators/estimator_parameters.h"

#include <cmath>
#include <utility>
#include <variant>

#include "operations/device/operation_call.h"
#include "operations/device/operation_work.h"

namespace ridgeline::operations {

namespace {

constexpr std::size_t kMostNumbers = 48;

/// Order of the strides, the slowest dimension first: "021" for channels that come last.
std::string layout(const TensorShape& tensor) {
  if (tensor.is_contiguous()) {
    return "contiguous";
  }
  std::string order;
  for (const std::int64_t stride : tensor.strides) {
    int slower = 0;
    for (const std::int64_t other : tensor.strides) {
      slower += other > stride ? 1 : 0;
    }
    order += std::to_string(slower) + (stride == 0 ? "x" : "");
  }
  return order;
}

class Collector {
 public:
  explicit Collector(OperationParameters& found) : found_(found) {}

  void take(const Argument& argument, const std::string& name) {
    if (const TensorShape* tensor = argument.tensor()) {
      found_.mode += " " + tensor->dtype + "/" + std::to_string(tensor->sizes.size()) + "/" + layout(*tensor) + "/" +
                     tensor->device;
      for (std::size_t i = 0; i < tensor->sizes.size(); ++i) {
        add(name + "." + std::to_string(i), static_cast<double>(tensor->sizes[i]), true);
      }
    } else if (const auto* list = argument.list()) {
      found_.mode += " [";
      for (std::size_t i = 0; i < list->size(); ++i) {
        take((*list)[i], name + "." + std::to_string(i));
      }
      found_.mode += " ]";
    } else if (const auto whole = argument.whole()) {
      found_.mode += " #";
      add(name, static_cast<double>(*whole), false);
    } else if (const auto* text = std::get_if<std::string>(&argument.value)) {
      found_.mode += " " + *text;
    } else if (std::holds_alternative<bool>(argument.value)) {
      found_.mode += argument.is_true() ? " true" : " false";
    } else {
      found_.mode += argument.is_none() ? " none" : " number";  // numbers with fractions scale data: no time
    }
  }

 private:
  void add(std::string name, double value, bool is_dimension) {
    found_.numbers.push_back({std::move(name), value, is_dimension});
  }

  OperationParameters& found_;
};

}  // namespace

std::optional<OperationParameters> parameters_of(std::string_view key) {
  const auto call = parse_call(key);
  if (!call) {
    return std::nullopt;
  }
  OperationParameters found{call->operation + "." + call->overload, {}};
  Collector collector(found);
  for (std::size_t i = 0; i < call->arguments.size(); ++i) {
    collector.take(call->arguments[i], std::to_string(i));
  }
  for (const auto& [name, argument] : call->keywords) {
    found.mode += " " + name;
    collector.take(argument, name);
  }
  if (found.numbers.size() > kMostNumbers) {
    return std::nullopt;
  }
  return found;
}

std::vector<double> features_of(std::string_view key, const std::vector<double>& numbers) {
  std::vector<double> features;
  features.reserve(numbers.size() + 2);
  for (const double number : numbers) {
    features.push_back(number > 0 ? std::log(number) : 0.0);
  }
  const auto work = work_of(key);
  features.push_back(work ? std::log1p(work->flops) : 0.0);
  features.push_back(work ? std::log1p(work->bytes()) : 0.0);
  return features;
}

}  // namespace ridgeline::operations
