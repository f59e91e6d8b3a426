// The table of operation times, for a terminal or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operations/device/device.h"
#include "operations/table/measuring_plan.h"
#include "operations/table/operation_table.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// "aten::mm.default  f32[64,784] f32[784,512]": the operator and the tensors of an operation's key. Printable.
std::string operation_text(const std::string& key);

/// What bounds the operations: null where the processor has not been measured.
using MeasuredDevice = const operations::Device*;

/// Those listed, of `count` altogether; with the share of the roofline bound that those on `device` attain, alone.
/// Ends with a newline.
std::string text_operation_times(const std::vector<operations::ListedTime>& times, std::int64_t count,
                                 MeasuredDevice device, const TextOptions& options = {});

/// An array of objects: key, device, threads, torch, ns, low, high, samples, reason, measuredAt, source; where the
/// operation's work is known also kind, flops and bytes, and of those on `device` boundNs, limit and attained (bound
/// over time).
std::string json_operation_times(const std::vector<operations::ListedTime>& times, MeasuredDevice device);

/// What became of the rows of a file, with the times that contradict each other. Ends with a newline.
std::string text_merged(const std::string& file, const operations::Merged& merged);

/// `script`: the file that was written for measuring; empty: none. Ends with a newline.
std::string text_measuring_plan(const operations::MeasuringPlan& plan, const std::string& script);
/// As protocol/measuring_plan.schema.json describes.
std::string json_measuring_plan(const operations::MeasuringPlan& plan);

}  // namespace ridgeline::report
