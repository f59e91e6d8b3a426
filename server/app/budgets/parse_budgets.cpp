#include "app/budgets/parse_budgets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/budgets/quantity_text.h"
#include "base/similarity.h"
#include "base/toml.h"

namespace ridgeline::app {

namespace {

struct Key {
  std::string_view name;
  Quantity quantity;
};

constexpr std::array kStepKeys = {Key{"max-time", Quantity::kTime},
                                  Key{"min-throughput", Quantity::kThroughput},
                                  Key{"max-memory", Quantity::kPeakMemory},
                                  Key{"max-slowdown", Quantity::kSlowdown},
                                  Key{"max-growth", Quantity::kGrowth},
                                  Key{"max-energy", Quantity::kEnergy},
                                  Key{"max-energy-per-sample", Quantity::kEnergyPerSample}};
constexpr std::array kPartKeys = {Key{"max-time", Quantity::kTime}, Key{"max-memory", Quantity::kPeakMemory}};

/// Thrown within this file: the first thing that is wrong.
struct Problem {
  std::string message;
};

class BudgetsParser {
 public:
  explicit BudgetsParser(const std::string& name) : name_(name) {}

  std::vector<EntryBudgets> entries(const toml::table& document) {
    const toml::node* node = document.at_path("tool.ridgeline.budgets").node();
    std::vector<EntryBudgets> all;
    if (node == nullptr) {
      return all;
    }
    for (const auto& [key, value] : table(*node, "tool.ridgeline.budgets")) {
      all.push_back(entry(key, table(value, "the budgets of an entry file")));
    }
    std::ranges::stable_sort(
        all, {}, [](const EntryBudgets& one) { return one.budgets.empty() ? 0U : one.budgets.front().line; });
    return all;
  }

 private:
  [[noreturn]] void refuse(const toml::source_region& where, const std::string& what) const {
    throw Problem{fmt::format("{}:{}:{}: {}", name_, where.begin.line, where.begin.column, what)};
  }

  const toml::table& table(const toml::node& node, std::string_view what) const {
    if (!node.is_table()) {
      refuse(node.source(), fmt::format("{} is no table", what));
    }
    return *node.as_table();
  }

  std::string text(const toml::node& node, std::string_view example) const {
    const auto* string = node.as_string();
    if (string == nullptr || string->get().empty()) {
      refuse(node.source(), fmt::format("write a text, such as \"{}\"", example));
    }
    return string->get();
  }

  EntryBudgets entry(const toml::key& name, const toml::table& table) const {
    EntryBudgets entry{std::string(name.str()), {}, {}};
    bool needs_baseline = false;
    for (const auto& [key, value] : table) {
      if (key.str() == "baseline") {
        entry.baseline = text(value, "baseline.json");
      } else if (key.str() == "modules" || key.str() == "lines") {
        add_parts(key.str() == "modules" ? Scope::kModules : Scope::kLines, this->table(value, key.str()), entry);
      } else {
        entry.budgets.push_back(budget(key, value, kStepKeys, Scope::kStep, ""));
        const Quantity quantity = entry.budgets.back().quantity;
        needs_baseline |= quantity == Quantity::kSlowdown || quantity == Quantity::kGrowth;
      }
    }
    if (needs_baseline && entry.baseline.empty()) {
      refuse(name.source(),
             "max-slowdown and max-growth compare with a report: add baseline = \"FILE\", made with ridgeline profile "
             "ENTRY --format json --output FILE");
    }
    if (entry.budgets.empty()) {
      refuse(name.source(), "there is no budget for " + entry.entry + "; add one, such as max-time = \"150 ms\"");
    }
    std::ranges::sort(entry.budgets, {}, [](const Budget& one) { return std::pair(one.line, one.column); });
    return entry;
  }

  void add_parts(Scope scope, const toml::table& patterns, EntryBudgets& entry) const {
    for (const auto& [pattern, limits] : patterns) {
      for (const auto& [key, value] : table(limits, "what a pattern stands for")) {
        entry.budgets.push_back(budget(key, value, kPartKeys, scope, std::string(pattern.str())));
      }
    }
  }

  Budget budget(const toml::key& key, const toml::node& value, std::span<const Key> keys, Scope scope,
                std::string pattern) const {
    const auto* const known = std::ranges::find(keys, key.str(), &Key::name).base();
    if (known == keys.data() + keys.size()) {
      refuse(key.source(), fmt::format("there is no budget {}.{}", key.str(), meant(key.str(), keys, scope)));
    }
    const std::string written = text(value, example_of(known->quantity));
    const auto limit = parse_quantity(written, known->quantity);
    if (!limit) {
      refuse(value.source(), limit.error().message());
    }
    std::string shown = fmt::format("{} = {}", key.str(), written);
    if (scope != Scope::kStep) {
      shown = fmt::format("{} {}: {}", scope == Scope::kModules ? "modules" : "lines", pattern, shown);
    }
    return {known->quantity,          scope, std::move(pattern), *limit, std::move(shown), key.source().begin.line,
            key.source().begin.column};
  }

  static std::string_view example_of(Quantity quantity) {
    switch (quantity) {
      case Quantity::kTime:
        return "150 ms";
      case Quantity::kThroughput:
        return "400 samples/s";
      case Quantity::kPeakMemory:
        return "2 GiB";
      case Quantity::kEnergy:
      case Quantity::kEnergyPerSample:
        return "12 J";
      case Quantity::kSlowdown:
      case Quantity::kGrowth:
        break;
    }
    return "5 %";
  }

  /// " Did you mean max-time?", or the keys that there are.
  static std::string meant(std::string_view key, std::span<const Key> keys, Scope scope) {
    std::vector<std::string_view> names;
    for (const Key& one : keys) {
      names.push_back(one.name);
    }
    if (scope == Scope::kStep) {
      names.insert(names.end(), {"baseline", "modules", "lines"});
    }
    const auto nearest = std::ranges::max_element(names, {}, [&](auto name) { return base::similarity(name, key); });
    if (base::similarity(*nearest, key) >= base::kLeastSimilarity) {
      return fmt::format(" Did you mean {}?", *nearest);
    }
    std::string all = " There are:";
    for (const std::string_view name : names) {
      all += " " + std::string(name);
    }
    return all;
  }

  std::string name_;
};

}  // namespace

base::Result<std::vector<EntryBudgets>> parse_budgets(std::string_view text, const std::string& name) {
  const auto document = base::parse_toml(text, name);
  if (!document) {
    return document.error();
  }
  try {
    return BudgetsParser(name).entries(*document);
  } catch (const Problem& problem) {
    return base::error(problem.message);
  }
}

}  // namespace ridgeline::app
