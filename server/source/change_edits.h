// Changes of the training step (ridgeline what-if) as edits of an entry file or of a training script, where these are
// small and safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "source/source_tree.h"
#include "source/span_text.h"

namespace ridgeline::source {

/// What makes `changes`, each `NAME` or `NAME:ARGUMENT`, in the order of the text, without overlaps; or why it cannot
/// be written: a sentence. `device`: the type that the step runs on, "cpu". Pure.
base::Result<std::vector<TextEdit>> change_edits(const SourceTree& tree, std::span<const std::string> changes,
                                                 std::string_view device);

/// Options of a script's command line that go before the number that a change of this name edits: "--batch-size".
/// Empty: none do. Pure.
std::vector<std::string> options_behind(const SourceTree& tree, std::string_view change);

/// bucket_cap_mb=`mib` in the call that constructs DistributedDataParallel, or why it cannot be written: a sentence.
/// Pure.
base::Result<TextEdit> bucket_size_edit(const SourceTree& tree, std::string_view mib);

}  // namespace ridgeline::source
