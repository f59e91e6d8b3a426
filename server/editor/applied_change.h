// What a change brought that was asked about and then written into the code: the profiles before and after it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/values/what_if.h"
#include "editor/change_actions.h"
#include "editor/figures.h"

namespace ridgeline::editor {

struct AppliedChange {
  analysis::ChangeAnswer answer;  ///< as it was before the change was written
  analysis::SpeedUp measured;     ///< samples per second now over those before; the ends are those of both intervals
};

/// The change of `changes` whose edits make the text of the entry file `path` what it is now, while no other file that
/// both profiles know has another text. `changes`: with edits of the text of `before`.
std::optional<AppliedChange> applied_change(const Figures& before, std::span<const WrittenChange> changes,
                                            const Figures& now, const std::string& path);

}  // namespace ridgeline::editor
