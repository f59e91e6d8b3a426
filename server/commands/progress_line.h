// Progress of a profile for a person: one line that is rewritten on a terminal, plain lines elsewhere.
#pragma once

#include <string>

#include "protocol/worker_messages.h"

namespace ridgeline::commands {

/// Writes to stderr. Clears its line when it goes.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const protocol::Progress& progress);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::string last_;
};

}  // namespace ridgeline::commands
