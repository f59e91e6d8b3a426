// The requests of a step to a device's allocator as lines of a report.
#pragma once

#include <string>
#include <string_view>

#include "analysis/values/profile.h"

namespace ridgeline::report {

/// For each request, divided by blanks, the bytes at each sampled batch size: `8/16/32`, on another stream `8/16/32@1`.
std::string requests_text(const analysis::AllocatorModel& model);
/// `+3` asks for the block of the fourth request, `-3` frees it. Divided by blanks.
std::string events_text(const analysis::AllocatorEvents& events);

/// Reads `requests`, for `sizes`, which are set. False when the text is none.
bool read_requests(std::string_view text, analysis::AllocatorModel& model);
/// Reads `first` and `later`, for `requests` and `alive`, which are set. False when one of the texts is none, asks for
/// a block that is there, or frees one that is not.
bool read_events(std::string_view first, std::string_view later, analysis::AllocatorModel& model);

}  // namespace ridgeline::report
