// The end of the text report: what other batch sizes bring, what grows, and how far the models can be trusted.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/page.h"

namespace ridgeline::report {

/// Whether another batch size pays, as a sentence without its capital and full stop: "a larger batch trains faster: 64
/// gives ≈ 1.31× the throughput (1.25 to 1.38) and needs ≈ 2.30 GiB". Empty where nothing is known.
std::string conclusion_text(const analysis::Profile& profile, const analysis::Outlook& outlook);

/// Which batch size is the largest that fits, likewise.
std::string fits_text(const analysis::Profile& profile, const analysis::Outlook& outlook);

/// By label: "batch size", "fits", "grows", "bends", "checked", "tried".
std::vector<Item> outlook_notes(const analysis::Profile& profile, const analysis::Outlook& outlook);

void print_outlook(Page& page, const analysis::Profile& profile, const analysis::Outlook& outlook);

}  // namespace ridgeline::report
