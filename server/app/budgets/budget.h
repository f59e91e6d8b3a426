// Budgets of a training step, as pyproject.toml has them, and what measurements say of them. Values.
//
// docs/user/check.md has the keys and their units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::app {

enum class Quantity : std::uint8_t {
  kTime,             ///< of an iteration, at most; ms
  kThroughput,       ///< at least; samples per second
  kPeakMemory,       ///< at most; bytes
  kSlowdown,         ///< of the iteration against the baseline, at most; a fraction
  kGrowth,           ///< of the peak against the baseline, at most; a fraction
  kEnergy,           ///< of an iteration, at most; joules
  kEnergyPerSample,  ///< likewise
};

/// What the time or memory is of.
enum class Scope : std::uint8_t { kStep, kModules, kLines };

struct Budget {
  Quantity quantity{};
  Scope scope{};
  std::string pattern{};     ///< of modules or lines: `*` and `?` stand for any characters and any one
  double limit = 0;          ///< in the unit of the quantity
  std::string text{};        ///< "max-time = 150 ms", with the pattern before it
  std::uint32_t line = 0;    ///< in the file, from 1
  std::uint32_t column = 0;  ///< likewise
};

struct EntryBudgets {
  std::string entry;     ///< as written: relative to the file's folder
  std::string baseline;  ///< a report in JSON, likewise; empty: none
  std::vector<Budget> budgets;
};

enum class Verdict : std::uint8_t {
  kWithin,     ///< all of the interval is within the budget
  kOver,       ///< none of it is
  kUndecided,  ///< neither
  kNoMatch,    ///< the pattern fits no module or no line
};

struct Finding {
  Budget budget;
  Verdict verdict = Verdict::kUndecided;
  std::string measured;  ///< "135 ms (133 ms to 137 ms)"
};

}  // namespace ridgeline::app
