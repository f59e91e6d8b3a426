// Progress of a profile for a person: one line that is rewritten on a terminal, plain lines elsewhere.
#pragma once

#include <string>

#include "protocol/worker_messages.h"

namespace ridgeline::cli {

/// Writes to stderr. Clears its line when it goes.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// On a terminal `timed`, which may change every second; elsewhere a line for each message of `step`.
  void show(const protocol::Progress& step, const protocol::Progress& timed);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::string last_;
};

}  // namespace ridgeline::cli
