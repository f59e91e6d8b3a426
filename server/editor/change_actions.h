// Code actions that write a change of the training step which is known to pay: predicted, or tried.
#pragma once

#include <span>
#include <vector>

#include "analysis/values/what_if.h"
#include "editor/snapshot.h"
#include "source/span_text.h"

namespace ridgeline::editor {

/// A change, and the edits of the profiled text of the entry file that make it.
struct WrittenChange {
  analysis::ChangeAnswer answer;
  std::vector<source::TextEdit> edits;
};

/// What was tried, or else predicted: one of the two is there.
const analysis::SpeedUp& known_speed_up(const analysis::ChangeAnswer& answer);

/// Whether the whole interval of what was tried, or else predicted, is faster.
bool pays(const analysis::ChangeAnswer& answer);

/// Adds those of `changes` with an edit on the lines of `range`, or all where it touches the name of
/// iteration_provider. None unless the document is the text that ran, byte for byte: `changes` are edits of that.
/// Titles say which figures are predicted and which are tried.
void add_changes(const Snapshot& snapshot, const protocol::Range& range, std::span<const WrittenChange> changes,
                 std::vector<protocol::CodeAction>& actions);

/// Actions that write the widths which padding is predicted to pay for, on the lines of `range`: those of a call of the
/// layer and of what is edited. Under the same condition.
void add_paddings(const Snapshot& snapshot, const protocol::Range& range, std::vector<protocol::CodeAction>& actions);

}  // namespace ridgeline::editor
