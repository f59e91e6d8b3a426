// Findings for a terminal, for JUnit and for GitHub. Pure. Text from outside is made fit for each.
#pragma once

#include <string>
#include <vector>

#include "app/budgets/budget.h"

namespace ridgeline::app {

/// What was found of an entry file.
struct EntryFindings {
  std::string entry;
  int runs = 0;
  double seconds = 0;  ///< that its runs took
  std::vector<Finding> findings;
};

/// One line for the entry and one for each budget; printable, ends with a newline.
std::string findings_text(const EntryFindings& entry);

/// JUnit's XML: a test suite for each entry file, a test case for each budget. What is over is a failure, what fits
/// nothing an error, what is undecided is skipped.
std::string findings_junit(const std::vector<EntryFindings>& entries);

/// GitHub's workflow commands: an error for what is over or fits nothing, a warning for what is undecided, at the
/// budget's line of `file`.
std::string findings_github(const EntryFindings& entry, const std::string& file);

}  // namespace ridgeline::app
