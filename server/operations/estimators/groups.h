// Measured operations sorted into groups whose times one model can describe: Tianshu, section 3.2.2, step 1.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "operations/table/operation_table.h"

namespace ridgeline::operations {

/// A parameter whose values a model learns, and what it has seen of it.
struct LearntParameter {
  std::string name;
  bool is_dimension = false;
  double low = 0;
  double high = 0;
  bool operator==(const LearntParameter&) const = default;
};

/// Which operations a model is about.
struct Group {
  std::string mode;                                          ///< as OperationParameters::mode
  std::vector<std::pair<std::string, double>> selected{};    ///< mode-selecting numbers, with at most five values each
  std::vector<std::pair<std::string, std::string>> equal{};  ///< numbers that always equal an earlier one
  std::vector<LearntParameter> learnt{};
  /// By feature, the least and the largest that was seen, as logarithms. Only of models across devices, whose shapes
  /// are features.
  std::vector<std::pair<double, double>> seen{};
  double joules_per_flop = 0;  ///< likewise, of products: what the device that needs least may draw; 0: not known
  bool operator==(const Group&) const = default;
};

struct TrainingGroup {
  Group group;
  std::vector<std::string> keys{};
  std::vector<std::vector<double>> numbers{};   ///< by row: values of Group::learnt
  std::vector<std::vector<double>> features{};  ///< by row
  std::vector<double> ns{};
  std::vector<double> least_ns{};  ///< by row: no run is faster, so that no estimate is either; empty: not known
  std::vector<int> folds{};        ///< by row: those of one number are held out together; empty: at random
};

inline constexpr std::size_t kMostModeValues = 5;  ///< of a number that selects a mode

/// Groups times measured under the same conditions. Leaves out rows without a time and operations that parameters_of()
/// refuses.
std::vector<TrainingGroup> training_groups(std::span<const ListedTime> rows);

}  // namespace ridgeline::operations
