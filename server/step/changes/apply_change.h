// Makes a change that the user wrote (change_file.h) of a graph.
#pragma once

#include "base/result.h"
#include "step/changes/change_file.h"
#include "step/changes/graph_change.h"

namespace ridgeline::step {

/// An error names the step of the change that cannot be made. Pure.
base::Result<ChangedGraph> apply(const UserChange& change, ChangedGraph changed, Bound bound);

}  // namespace ridgeline::step
