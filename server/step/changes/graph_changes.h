// The changes that are functions from graph to graph: no operation is captured or timed for them. Each by its rule;
// what the rule has to guess has two ends. See change_table.h for what each is.
#pragma once

#include "step/changes/graph_change.h"

namespace ridgeline::step {

// changes_kernels.cpp
base::Result<ChangedGraph> amp(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> other_optimizer(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> fused_optimizer(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> reconstructed_batchnorm(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> metaflow(ChangedGraph changed, const Asked& asked);

// changes_host.cpp
base::Result<ChangedGraph> cuda_graphs(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> loader_workers(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> prefetch(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> pinned_memory(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> no_sync(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> faster(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> without_module(ChangedGraph changed, const Asked& asked);

// changes_communication.cpp
base::Result<ChangedGraph> data_parallel(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> p3(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> blueconnect(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> dgc(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> bucket_size(ChangedGraph changed, const Asked& asked);

// changes_memory.cpp
base::Result<ChangedGraph> vdnn(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> gist(ChangedGraph changed, const Asked& asked);
base::Result<ChangedGraph> zero(ChangedGraph changed, const Asked& asked);

}  // namespace ridgeline::step
