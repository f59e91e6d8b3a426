// Which operations of a trace are nodes of autograd.
#pragma once

#include <string_view>

#include "ingest/trace.h"

namespace ridgeline::ingest {

/// Before the name of a node that is recorded with its hooks.
inline constexpr std::string_view kNodeWithHooks = "autograd::engine::evaluate_function: ";

/// With its hooks, or by itself.
inline bool is_autograd_node(const TraceEvent& event, std::string_view name) {
  return name.starts_with(kNodeWithHooks) || (event.number > 0 && event.sequence >= 0);
}

}  // namespace ridgeline::ingest
