#include "step/changes/change_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "step/changes/change_table.h"

namespace ridgeline::step {

namespace {

/// How a step is answered: "step: predicted, tried", "step, trace: by rule".
std::string how_for_steps(const ChangeKind& kind) {
  if (!kind.on_step) {
    return kind.is_research ? "step, trace: from papers, predicted only" : "step, trace: by rule";
  }
  return std::string(kind.predictable ? "step: predicted, tried" : "step: tried") +
         (kind.fits(Subject::kTrace) ? "; trace: by rule" : "");
}

}  // namespace

std::string list_of_changes() {
  std::string text;
  for (const ChangeKind& kind : change_table()) {
    std::vector<std::string> fits;
    if (kind.fits(Subject::kStep)) {
      fits.push_back(how_for_steps(kind));
    }
    for (const auto& [subject, name] : {std::pair(Subject::kJob, "job"), std::pair(Subject::kSearch, "search"),
                                        std::pair(Subject::kCluster, "cluster")}) {
      if (kind.fits(subject)) {
        fits.emplace_back(name);
      }
    }
    text += fmt::format("{:<35} {} ({})\n", usage_of(kind), kind.title, fmt::join(fits, "; "));
  }
  return text +
         "\n"
         "step: an entry point or a training script of `ridgeline what-if`\n"
         "trace: a trace of `ridgeline what-if`\n"
         "job: `ridgeline job show`\n"
         "search: `ridgeline job optimize`\n"
         "cluster: `ridgeline job predict`\n"
         "\n"
         "A change \"by rule\" is estimated from the graph of the step and cannot be tried.\n"
         "One \"from papers\" is, too, and you would have to write it yourself.\n";
}

}  // namespace ridgeline::step
