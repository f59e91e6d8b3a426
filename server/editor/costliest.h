// ridgeline/costliest: the lines, operations and module classes of a step as flat lists.
#pragma once

#include <cstddef>

#include "editor/answers_json.h"
#include "editor/entries.h"
#include "protocol/json_rpc.h"

namespace ridgeline::editor {

/// Rows of one list; what does not fit in is the last row, so that the sums stay.
constexpr std::size_t kMostRows = 1000;

/// `entry` has figures; a line has what it differs by from the profile before, where there is one.
protocol::Json costliest_json(const Entry& entry, const UriOf& uri_of);

}  // namespace ridgeline::editor
