// The table of operation times, for a terminal or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operations/operation_table.h"
#include "report/text.h"

namespace ridgeline::report {

/// "aten::mm.default  f32[64,784] f32[784,512]": the operator and the tensors of an operation's key. Printable.
std::string operation_text(const std::string& key);

/// Those listed, of `count` altogether. Ends with a newline.
std::string text_operation_times(const std::vector<operations::ListedTime>& times, std::int64_t count,
                                 const TextOptions& options = {});

/// An array of objects: key, device, threads, torch, ns, low, high, samples, reason, measuredAt.
std::string json_operation_times(const std::vector<operations::ListedTime>& times);

}  // namespace ridgeline::report
