#include "report/observation_text.h"

#include <fmt/format.h>

#include "analysis/observations/observations.h"

#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::Figure;
using analysis::Observation;

std::string observed_figure(const Figure& one) {
  std::string name = printable(one.name);  // it may name a file
  switch (one.unit) {
    case analysis::Unit::kShare:
      return name + " " + unbroken(share(one.value));
    case analysis::Unit::kSamples:
      return fmt::format("{} {:.0f}", name, one.value);
    case analysis::Unit::kSamplesPerSecond:
      return name + " " + figure(one.value) + " samples/s";
  }
  return name;
}

std::string observed_sentence(const Observation& observation) {
  std::string figures;
  for (const Figure& one : observation.figures) {
    figures += (figures.empty() ? "" : ", ") + observed_figure(one);
  }
  const bool holds = observation.verdict == analysis::Verdict::kHolds;
  return fmt::format("{} ({}): {}.", holds ? observation.statement : observation.negation, figures,
                     observation.consequence);
}

}  // namespace

std::vector<LineObservation> line_observations(const analysis::Profile& profile, const analysis::Outlook& outlook) {
  std::vector<LineObservation> found;
  for (const Observation& one : analysis::observe(profile, outlook)) {
    if (!one.location.file.empty() && one.verdict == analysis::Verdict::kHolds && !one.consequence.empty()) {
      found.push_back({one.location, observed_sentence(one)});
    }
  }
  return found;
}

std::vector<Item> observation_notes(const analysis::Profile& profile, const analysis::Outlook& outlook) {
  std::vector<Item> notes;
  for (const Observation& observation : analysis::observe(profile, outlook)) {
    if (!observation.consequence.empty()) {
      notes.push_back({"advice", observed_sentence(observation)});
    }
  }
  return notes;
}

}  // namespace ridgeline::report
