// The answer of `ridgeline what-if`, for a terminal or as JSON.
#pragma once

#include <string>

#include "analysis/values/what_if.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// "1.42× faster", "no change", "0.91× as fast".
std::string speed_up_text(double value);
/// The same with its interval: "1.42× faster (1.30–1.55)", "0.91× as fast (0.88–0.94)"; "unclear (0.96–1.03)"
/// where the sign is not certain.
std::string speed_up_text(const analysis::SpeedUp& speed_up);

/// What is predicted of a change, with its interval: one whose sign is not certain is neither a gain nor a loss, but
/// "unclear: try it (0.96–1.03)". Empty: nothing is predicted.
std::string predicted_text(const analysis::ChangeAnswer& row);
/// A measured speed-up: "1.42× faster (1.30–1.55)", "no clear change (0.98–1.03)".
std::string measured_text(const analysis::SpeedUp& speed_up);
std::string tried_text(const analysis::ChangeAnswer& row);

/// Why a change that applies is not predicted, and not tried if that failed; its peak where that is predicted.
std::string not_predicted_text(const analysis::WhatIf& answer, const analysis::ChangeAnswer& row);

/// The answer offers what is not certain to be tried: "To be certain, try them: about 20 s." Empty: nothing is left to
/// try.
std::string try_text(const analysis::WhatIf& answer);

/// The peak with the change: "310 MiB (−43 MiB)", of the trial where there is one; empty: not known.
std::string peak_text(const analysis::WhatIf& answer, const analysis::ChangeAnswer& row);

/// What the tried change did to the loss: "losses differ by up to 0.4 %"; empty: it was not tried.
std::string loss_text(const analysis::ChangeAnswer& row);

/// How sure the prediction is, where that is worth a word; mostly empty.
std::string certainty_text(const analysis::WhatIf& answer, const analysis::ChangeAnswer& row);

/// Where the figures are from, as a sentence.
std::string basis_text(const analysis::WhatIf& answer);

/// A table of the changes: predicted beside tried, with the memory, and what each takes. Everything from outside is
/// made printable. Ends with a newline.
std::string text_what_if(const analysis::WhatIf& answer, const TextOptions& options = {});

/// What protocol/what_if.schema.json describes. Nothing is rounded. Ends with a newline.
std::string json_what_if(const analysis::WhatIf& answer);

/// One page for a browser, which loads nothing and has no script: the table, with the intervals drawn. Everything from
/// outside is escaped. Ends with a newline.
std::string html_what_if(const analysis::WhatIf& answer);

}  // namespace ridgeline::report
