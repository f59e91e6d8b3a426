// What an iteration takes of energy, as people read it.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/profile.h"
#include "report/page.h"

namespace ridgeline::report {

/// "12.3 J"; empty where it was not measured.
std::string energy_text(const analysis::Profile& profile);

/// The energy of a sample, the power, what the machine takes idle, and CO2; empty where it was not measured.
std::vector<Item> energy_items(const analysis::Profile& profile);

/// What the figure is of, and how much it varied; empty where it was not measured.
std::string energy_note(const analysis::Profile& profile);

}  // namespace ridgeline::report
