// The breakdown: the costliest nodes as a tree.
#pragma once

#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/places.h"
#include "report/table.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// The iteration and the costliest of what it is made of; no rows when it was not recorded. `page` says how wide, and
/// paints.
///
/// Rows are for what spends time. A leaf that only holds memory (weights, activations) is in its node's figure; it gets
/// no row and makes none, but where there is a row "… 4 more", it is counted there with the rest.
/// A node made of operations is opened only when its largest one leaves a tenth of its time, and `min_share` of the
/// iteration, to the others.
Table breakdown_table(const Page& page, const analysis::Profile& profile, const Places& places,
                      const TextOptions& options);

}  // namespace ridgeline::report
