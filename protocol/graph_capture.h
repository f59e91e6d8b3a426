// Calls of a recording that a CUDA graph captures.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace ridgeline::recording {

/// What a graph captures runs later, with the graph, if at all: such launches have no kernels of their own. Told each
/// call of a recording in its order, thread by thread.
class GraphCapture {
 public:
  /// Whether the call is captured, or begins or ends that.
  bool captures(std::uint32_t thread, std::string_view name) {
    const bool begins = base::contains(name, "BeginCapture");
    captures_ = begins || (captures_ && thread == thread_);
    thread_ = thread;
    const bool captured = captures_;
    if (base::contains(name, "EndCapture")) {
      captures_ = false;
    }
    return captured;
  }

 private:
  std::optional<std::uint32_t> thread_;
  bool captures_ = false;
};

}  // namespace ridgeline::recording
