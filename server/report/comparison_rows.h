// What a comparison has to say, as the cells of a table: text, Markdown and HTML lay the same rows out.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/comparison.h"

namespace ridgeline::report {

/// Texts are as they come: printed or escaped by who lays them out.
struct ComparisonRow {
  std::string name;    ///< "forward", "layer3.0.conv1", "net.py:41"
  std::string code;    ///< of a line
  std::string before;  ///< figures
  std::string after;
  std::string change;
  bool is_worse = false;  ///< slower, larger or new
};

struct ComparisonRows {
  std::vector<ComparisonRow> time;       ///< what differs: phases, modules, lines
  std::vector<ComparisonRow> memory;     ///< categories, modules, lines
  std::vector<std::string> undecided;    ///< names
  int without_difference = 0;            ///< how many do not differ in time
  double without_difference_beyond = 0;  ///< the most that those may differ by, a fraction
};

ComparisonRows comparison_rows(const analysis::Comparison& comparison);

/// "a.json, 3 runs".
std::string subject_text(const analysis::Subject& subject);
/// "step 135 ms → 151 ms" without the word.
std::string times_text(const analysis::TimeChange& time);
/// "12.1 J → 10.3 J"; "1.80 J less (1.10 J less to 2.20 J less)".
std::string energies_text(const analysis::EnergyChange& change);
std::string energy_change_text(const analysis::EnergyChange& change);

}  // namespace ridgeline::report
