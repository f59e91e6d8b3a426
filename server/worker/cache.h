// The user's cache folder: agents that were built, and the sources that they are built from.
#pragma once

#include <string>

#include "base/result.h"

namespace ridgeline::worker {

/// $RIDGELINE_CACHE, else $XDG_CACHE_HOME/ridgeline, else ~/.cache/ridgeline. Makes it (0700) when missing, and
/// closes it to others when they could read it. What lies there is loaded into the user's process, so a folder of
/// another user, or one that others can write to, is refused: then, and when it can be neither made nor closed, the
/// result is empty and `error` says what to do.
base::Result<std::string> cache_folder();

/// Takes from others what they may read in a folder of ours. False when it is no folder of this user's, when others can
/// write to it, and so may have, or when it cannot be closed to them.
bool close_to_others(const std::string& folder);

/// Why what is compiled there cannot be loaded, with what to do: it lies on a file system that is mounted noexec.
/// Mostly empty.
std::string noexec_problem(const std::string& folder);

/// Puts the embedded sources into `cache`/sources/<hash> and returns that folder; files that are there already and
/// right are left alone. Empty with `error` on failure.
base::Result<std::string> unpack_sources(const std::string& cache);

/// The path of a Python file of the runner, such as "measure/network.py", among these sources.
base::Result<std::string> runner_file(const std::string& cache, const std::string& name);

/// A short hash of the embedded sources: part of the identity of what they measured.
std::string sources_hash();

/// The same of those that an agent is compiled from: part of its identity.
std::string agent_sources_hash();

}  // namespace ridgeline::worker
