// The recordings of the profiles that were stored last: files beside the store, for the user alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace ridgeline::store {

/// How much is kept at most. The oldest are removed first.
struct RecordingBounds {
  std::size_t recordings = 4;
  std::uint64_t bytes = std::uint64_t{256} << 20U;
};

/// Keeps the content for a profile of that id in `folder`/recordings, and removes what is too much then. Content that
/// alone is too much is not kept, which is no error. Thread-safe; several processes may do it at once.
base::Result<void> add_recording(const std::string& folder, const std::string& id, std::string content,
                                 const RecordingBounds& bounds = {});

/// Nothing: it is not kept, or not any more. One that was damaged on the disk is removed: an error. `id` may be any
/// text.
base::Result<std::optional<std::string>> read_recording(const std::string& folder, const std::string& id);

}  // namespace ridgeline::store
