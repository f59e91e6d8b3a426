#include "operations/estimators/groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "operations/estimators/estimator_parameters.h"

namespace ridgeline::operations {

namespace {

struct Row {
  const ListedTime* time;
  std::vector<Parameter> numbers;
};

/// An earlier number that equals number `at` in all rows.
std::optional<std::size_t> earlier_twin(const std::vector<Row>& rows, std::size_t at) {
  for (std::size_t other = 0; other < at; ++other) {
    if (std::ranges::all_of(rows, [&](const Row& row) { return row.numbers[other].value == row.numbers[at].value; })) {
      return other;
    }
  }
  return std::nullopt;
}

bool selects_mode(const std::vector<Row>& rows, std::size_t at) {
  std::set<double> values;
  for (const Row& row : rows) {
    values.insert(row.numbers[at].value);
    if (values.size() > kMostModeValues) {
      return false;
    }
  }
  return true;
}

TrainingGroup group_of(const std::string& mode, const std::vector<const Row*>& rows,
                       const std::vector<std::pair<std::string, std::string>>& equal,
                       const std::vector<std::size_t>& selecting, const std::vector<std::size_t>& learnt) {
  TrainingGroup made{.group = {.mode = mode, .equal = equal}};
  for (const std::size_t at : selecting) {
    made.group.selected.emplace_back(rows[0]->numbers[at].name, rows[0]->numbers[at].value);
  }
  for (const std::size_t at : learnt) {
    const auto [low, high] = std::ranges::minmax(rows, {}, [&](const Row* row) { return row->numbers[at].value; });
    made.group.learnt.push_back({rows[0]->numbers[at].name, rows[0]->numbers[at].is_dimension, low->numbers[at].value,
                                 high->numbers[at].value});
  }
  for (const Row* row : rows) {
    made.keys.push_back(row->time->time.key);
    made.ns.push_back(row->time->time.ns);
    std::vector<double>& numbers = made.numbers.emplace_back();
    for (const std::size_t at : learnt) {
      numbers.push_back(row->numbers[at].value);
    }
    made.features.push_back(features_of(row->time->time.key, numbers));
  }
  return made;
}

void split_by_mode(const std::string& mode, const std::vector<Row>& rows, std::vector<TrainingGroup>& groups) {
  std::vector<std::pair<std::string, std::string>> equal;
  std::vector<std::size_t> selecting;
  std::vector<std::size_t> learnt;
  for (std::size_t at = 0; at < rows[0].numbers.size(); ++at) {
    if (const auto twin = earlier_twin(rows, at); twin && !selects_mode(rows, at)) {
      equal.emplace_back(rows[0].numbers[at].name, rows[0].numbers[*twin].name);
    } else {
      (selects_mode(rows, at) ? selecting : learnt).push_back(at);
    }
  }
  std::map<std::vector<double>, std::vector<const Row*>> by_values;
  for (const Row& row : rows) {
    std::vector<double> values;
    for (const std::size_t at : selecting) {
      values.push_back(row.numbers[at].value);
    }
    by_values[values].push_back(&row);
  }
  for (const auto& [values, some] : by_values) {
    groups.push_back(group_of(mode, some, equal, selecting, learnt));
  }
}

}  // namespace

std::vector<TrainingGroup> training_groups(std::span<const ListedTime> rows) {
  std::map<std::string, std::vector<Row>> by_mode;
  for (const ListedTime& row : rows) {
    auto parameters = row.time.reason.empty() ? parameters_of(row.time.key) : std::nullopt;
    if (parameters) {
      by_mode[parameters->mode].push_back({&row, std::move(parameters->numbers)});
    }
  }
  std::vector<TrainingGroup> groups;
  for (const auto& [mode, some] : by_mode) {
    split_by_mode(mode, some, groups);
  }
  return groups;
}

}  // namespace ridgeline::operations
