// Breakdowns as Markdown, for what an editor shows over a line, a function, a class or a provider. Pure.
//
// Names that come from user code stand in code spans, which nothing in them can end; all else is escaped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "protocol/shown_text.h"

namespace ridgeline::report {

/// A code span that shows exactly `text`, on one line, at most `width` columns.
protocol::Markdown code_span(std::string_view text, int width = 60);

/// A line that a part of the code leads to.
struct LineBelow {
  std::string place;  ///< "net.py:42"
  std::string uri;    ///< of the line; empty: unknown
  std::string text;   ///< of the line
  double ms = 0;
};

/// A module or an operation that a part of the code calls, or what runs inside of it.
struct Called {
  const analysis::Node* node = nullptr;
  std::string uri{};  ///< of the module's class, or of the line that calls it; empty: unknown
};

/// What a part of the code costs, whatever the part is.
struct Cost {
  std::string title;  ///< as in the source: "self.conv2", "Net.forward"
  double calls = 0;   ///< 0: unknown
  double self_ms = 0;
  double total_ms = 0;  ///< with what it calls
  analysis::ByPhase self_by_phase{};
  std::uint64_t weights_bytes = 0;
  std::uint64_t gradients_bytes = 0;
  std::uint64_t activations_bytes = 0;
  std::uint64_t peak_bytes = 0;
  analysis::LineDeviceCost device{};
  std::vector<const analysis::Node*> parents{};         ///< modules that it runs in, of which the share is, too
  std::vector<Called> inside;                           ///< calls of modules and operations, most time first
  std::vector<Called> modules_below;                    ///< the costliest inside of the only call, most time first
  std::vector<LineBelow> below;                         ///< the costliest lines that it leads to, most time first
  const std::vector<analysis::Piece>* model = nullptr;  ///< of self_ms; may be null
  /// In libraries that it calls, in place of a single call; may be null.
  const std::vector<analysis::LibraryModule>* modules = nullptr;
  /// By how much the step is shorter when the line takes half the time; absent: not known.
  std::optional<double> saved_twice_as_fast_ms{};
  std::string counted;                       ///< what the total has in common with those of other lines; empty: nothing
  const analysis::LineWork* work = nullptr;  ///< of its operations; may be null
  std::string change;                        ///< of self_ms from the profile before; empty: none
};

/// "**`self.conv2`** — 16 calls in one iteration, batch 16", the tables, and what else is known.
protocol::Markdown cost_markdown(const analysis::Profile& profile, const Cost& cost);

/// A module, as the breakdown has it: all instances of a class, or one.
protocol::Markdown module_markdown(const analysis::Profile& profile, const std::vector<const analysis::Node*>& nodes);

/// What is known of the batch size in the code, where that is not the profiled one; `note`: what goes on about it.
protocol::Markdown batch_markdown(const analysis::BatchPrediction& batch, const std::string& note);

/// The key figures, over a provider.
protocol::Markdown summary_markdown(const analysis::Profile& profile, const analysis::Outlook& outlook);

}  // namespace ridgeline::report
