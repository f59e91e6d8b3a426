#include "report/energy_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/values/energy.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

std::string energy_text(const analysis::Profile& profile) {
  return profile.energy ? energy(profile.energy->joules) : std::string();
}

std::vector<Item> energy_items(const analysis::Profile& profile) {
  std::vector<Item> items;
  if (!profile.energy) {
    return items;
  }
  if (const auto joules = analysis::joules_per_sample(profile)) {
    items.push_back({"per sample", energy(*joules)});
  }
  items.push_back({"power", figure(analysis::watts(*profile.energy)) + " W"});
  items.push_back({"idle", figure(analysis::idle_watts(*profile.energy)) + " W"});
  if (const auto grams = analysis::co2_grams(profile)) {
    items.push_back({"CO₂", figure(*grams * 1000) + " mg"});
  }
  return items;
}

std::string energy_note(const analysis::Profile& profile) {
  if (!profile.energy) {
    return {};
  }
  std::vector<std::string> names;
  for (const protocol::EnergyCounter& counter : profile.energy->counters) {
    names.push_back(printable(counter.name));
  }
  return fmt::format("{} to {} an iteration in {}, with all else that ran on the machine; by the counters of {}",
                     unbroken(energy(profile.energy->low)), unbroken(energy(profile.energy->high)),
                     plural(profile.energy->rounds, "round"), fmt::join(names, ", "));
}

}  // namespace ridgeline::report
