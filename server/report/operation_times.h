// The table of operation times, for a terminal or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "operations/operation_table.h"
#include "report/text.h"

namespace ridgeline::report {

/// "aten::mm.default  f32[64,784] f32[784,512]": the operator and the tensors of an operation's key. Printable.
std::string operation_text(const std::string& key);

/// What bounds the operations: null where the processor has not been measured.
using MeasuredDevice = const hardware::Device*;

/// Those listed, of `count` altogether; with the share of the roofline bound that those on `device` attain, alone.
/// Ends with a newline.
std::string text_operation_times(const std::vector<operations::ListedTime>& times, std::int64_t count,
                                 MeasuredDevice device, const TextOptions& options = {});

/// An array of objects: key, device, threads, torch, ns, low, high, samples, reason, measuredAt; where the operation's
/// work is known also kind, flops and bytes, and of those on `device` boundNs, limit and attained (bound over time).
std::string json_operation_times(const std::vector<operations::ListedTime>& times, MeasuredDevice device);

}  // namespace ridgeline::report
