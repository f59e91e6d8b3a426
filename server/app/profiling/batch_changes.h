// Another batch size from operations that were timed at its shapes, and what makes it fit into memory. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/what_if.h"
#include "protocol/experiment.h"

namespace ridgeline::app {

/// The change to that batch size.
protocol::ChangeRequest batch_size_change(int batch_size);

/// The batch size that a request asks for; nothing: none, or not just one.
std::optional<int> requested_batch_size(const protocol::ChangeRequest& request);
protocol::ChangeRequest without_batch_size(protocol::ChangeRequest request);

/// The prediction in an answer about batch_size_change(batch_size); absent where there is none. `answer` is about a
/// step whose batch size is known.
std::optional<analysis::RefinedBatch> refined_batch(const analysis::WhatIf& answer, int batch_size);

/// Requests for that batch size alone, and with each change, or two, that lets the same samples need less memory.
/// `on_host`: the step runs on the host, where nothing can be offloaded.
std::vector<protocol::ChangeRequest> fitting_requests(int batch_size, bool on_host);

/// From an answer about fitting_requests(). `over_batch`: the same changes of the step at that batch size,
/// without it; where one is missing, its speed-up over the batch size alone has the errors of both predictions, as if
/// they were independent, which is wider than they are. `fitted_peak_bytes`: of the batch size alone, by the models of
/// the profile (on a device, what it reserves), which are better at that than operations that are not computed: then
/// the changes' differences from it count. Without a row of the batch size alone whose peak is predicted, nothing.
std::optional<analysis::MakeFit> make_fit(const analysis::WhatIf& answer,
                                          std::span<const analysis::ChangeAnswer> over_batch, int batch_size,
                                          std::uint64_t limit_bytes, std::optional<double> fitted_peak_bytes);

}  // namespace ridgeline::app
