#include "operations/work/linear_layers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "operations/device/padding.h"
#include "operations/device/tile_model.h"

namespace ridgeline::operations {

namespace {

using analysis::Padding;
using Sizes = std::array<std::int64_t, 3>;  ///< rows, inputs, outputs

constexpr int kMostThreads = 2;
constexpr double kNsOfMs = 1e6;
constexpr double kWorthShowing = 0.005;  ///< of the time of all products

/// A product of float32 on the processor; `by_weight`: with a transposed second matrix, as of a linear layer.
struct Product {
  ProductShape shape;
  bool by_weight = false;
};

std::optional<Product> product_of_key(const std::string& key) {
  const auto call = parse_call(key);
  const auto shape = call ? product_of(*call) : std::nullopt;
  if (!shape || shape->batches != 1 || shape->dtype != "float32" ||
      (call->operation != "aten::mm" && call->operation != "aten::addmm")) {
    return std::nullopt;
  }
  const TensorShape& right = *call->argument(call->operation == "aten::mm" ? 1 : 2).tensor();
  if (right.device != "cpu" || right.strides.size() != 2) {
    return std::nullopt;
  }
  return Product{*shape, right.strides[0] == 1 && right.strides[1] == right.sizes[0]};
}

/// "fc1" of "Net.fc1": as changes name an instance.
std::string without_model(const std::string& instance) { return instance.substr(instance.find('.') + 1); }

/// The layers of a step by their sizes: those with equal ones together.
class Layers {
 public:
  Layers(const step::Graph& graph, const protocol::CapturedStep& step, const step::Places& places) {
    for (const std::string& key : step.keys) {
      products_.push_back(product_of_key(key));
    }
    for (std::size_t i = 0; i < step.operations.size(); ++i) {
      add_forward(graph, step.operations[i], places.tasks[i], places.ns[i]);
    }
    for (std::size_t i = 0; i < step.operations.size(); ++i) {
      add_backward(step.operations[i], places.ns[i]);
    }
  }

  std::vector<Padding> paddings(double cache_bytes) const {
    std::vector<LinearLayer> all;
    double ns = 0;
    for (const auto& [sizes, layer] : layers_) {
      all.push_back(layer);
      ns += layer.ns();
    }
    std::vector<Padding> found;
    for (const auto& [size, width] : widths_) {
      std::vector<LinearLayer> with_width = all;
      std::erase_if(with_width, [&](const LinearLayer& one) { return one.in != size && one.out != size; });
      const auto best = best_padding(with_width, size, cache_bytes);
      double now = 0;
      for (const LinearLayer& one : with_width) {
        now += one.ns();
      }
      if (best && now * (1 - best->ratio) >= kWorthShowing * ns) {
        const double ms = now / kNsOfMs;
        found.push_back({width.location, width.modules, size, best->size, ms, ms * (1 - best->ratio),
                         ms * (1 - best->high), ms * (1 - best->low)});
      }
    }
    std::ranges::stable_sort(found, std::greater{}, &Padding::saved_ms);
    found.resize(std::min(found.size(), analysis::kMaxPaddings));
    return found;
  }

 private:
  struct Width {
    analysis::Location location;
    std::vector<std::string> modules;
  };

  const Product* product(const protocol::CapturedOperation& operation) const {
    const auto& found = operation.key < 0 ? nothing_ : products_[static_cast<std::size_t>(operation.key)];
    return found ? &*found : nullptr;
  }

  void add_forward(const step::Graph& graph, const protocol::CapturedOperation& operation,
                   const std::vector<step::TaskId>& tasks, double ns) {
    const Product* found = product(operation);
    if (operation.part != protocol::StepPart::kForward || found == nullptr || !found->by_weight || tasks.empty() ||
        graph.tasks[tasks.front()].module == 0) {
      return;
    }
    const step::Task& task = graph.tasks[tasks.front()];
    const ProductShape& shape = found->shape;
    LinearLayer& layer = layers_[{shape.rows, shape.depth, shape.columns}];
    layer.rows = shape.rows;
    layer.in = shape.depth;
    layer.out = shape.columns;
    layer.forward_ns += ns;
    Width& width = widths_[shape.columns];
    const std::string module = without_model(graph.modules[task.module]);
    if (std::ranges::find(width.modules, module) == width.modules.end() &&
        width.modules.size() < analysis::kMaxPaddedModules) {
      width.modules.push_back(module);
    }
    if (width.location.file.empty()) {
      width.location = graph.lines[task.line];
    }
  }

  /// dx[rows, in] = dy W, or dW[out, in] = dy^T x.
  void add_backward(const protocol::CapturedOperation& operation, double ns) {
    const Product* found = product(operation);
    if (operation.part != protocol::StepPart::kBackward || found == nullptr) {
      return;
    }
    const ProductShape& shape = found->shape;
    if (const auto input = layers_.find({shape.rows, shape.columns, shape.depth}); input != layers_.end()) {
      input->second.input_gradient_ns += ns;
    } else if (const auto weight = layers_.find({shape.depth, shape.columns, shape.rows}); weight != layers_.end()) {
      weight->second.weight_gradient_ns += ns;
    }
  }

  const std::optional<Product> nothing_{};
  std::vector<std::optional<Product>> products_;  ///< by key
  std::map<Sizes, LinearLayer> layers_;
  std::map<std::int64_t, Width> widths_;  ///< by size
};

}  // namespace

std::vector<Padding> paddings_of(const step::Graph& graph, const protocol::CapturedStep& step,
                                 const step::Places& places, const Device& device, int units) {
  if (units > kMostThreads || device.kind != DeviceKind::kCpu || device.levels.size() < 3 ||
      device.name.find("AMD") == std::string::npos) {
    return {};
  }
  return Layers(graph, step, places).paddings(device.levels[1].capacity_bytes);
}

}  // namespace ridgeline::operations
