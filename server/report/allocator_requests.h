// The requests of a step to a device's allocator as one line of a report.
#pragma once

#include <string>
#include <string_view>

#include "analysis/profile.h"

namespace ridgeline::report {

/// `+8/16/32` asks for so many bytes at each sampled batch size (`+8/16/32@1` on stream 1), `-3` frees the block of the
/// fourth request. Blanks between them.
std::string requests_text(const analysis::AllocatorModel& model);

/// Reads it again: sets `requests` and `order`, for `sizes` and `alive`, which are set. False when the text is none,
/// when it frees a block twice or before it is there, or does not begin with `alive` requests.
bool read_requests(std::string_view text, analysis::AllocatorModel& model);

}  // namespace ridgeline::report
