// The answer of `ridgeline predict`, for a terminal or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// Where the profile behind an answer comes from.
struct Origin {
  bool stored = false;         ///< kept from an earlier run; else made for this answer
  std::int64_t created_s = 0;  ///< seconds since 1970
  std::int64_t age_s = 0;
};

/// Why there is no answer, as a sentence or more; empty without an obstacle.
std::string obstacle_text(const analysis::Answer& answer);

/// "not checked beyond a batch of 512": of an answer by memory that is_beyond_checked_memory().
std::string not_checked_text(const analysis::Answer& answer);

/// Where activations take as much memory as weights, of the answer to that, as a sentence without its capital and full
/// stop; empty where it is unknown.
std::string balance_text(const analysis::Answer& balance);

/// What is known to fit where the largest batch size that does is not known, of the answer to that, as a sentence; of a
/// largest one that no larger batch ran to check, that it is a prediction; else empty.
std::string largest_unknown_text(const analysis::Answer& largest);

/// What the figures are of, the answer, and what to know about it. Of `options`: width and colour. Every character
/// that comes from the user's machine is made printable. `refined`: of the answer's batch size. Ends with a newline.
std::string text_prediction(const analysis::Answer& answer, const analysis::Profile& profile, const Origin& origin,
                            const TextOptions& options = {},
                            const std::optional<analysis::RefinedBatch>& refined = std::nullopt);

/// What protocol/prediction.schema.json describes: indented, in valid UTF-8, with a newline at its end. Nothing is
/// rounded. Of `profile` its identity and environment are written.
std::string json_prediction(const analysis::Answer& answer, const analysis::Profile& profile, const Origin& origin,
                            const std::optional<analysis::RefinedBatch>& refined = std::nullopt);

}  // namespace ridgeline::report
