#include "app/profiling/further_run.h"

namespace ridgeline::app {

namespace {

constexpr const char* kHowTo = "With --allow-writes, in an editor the setting `run.allowWrites`, it runs all the same";
constexpr const char* kTimedOut =
    " It was ended at its time limit: --timeout, in an editor the setting `timeLimit`, allows more.";

}  // namespace

std::string write_obstacle(const worker::Report& guard) {
  if (!guard.unavailable.empty()) {
    return "nothing here can keep the script from writing its files again: " + guard.unavailable + ". " + kHowTo + ".";
  }
  return guard.ended_at.empty()
             ? ""
             : "the script writes files, and would have written " + guard.ended_at +
                   " again before it was measured; it was ended there (" + guard.call + "). " + kHowTo + ".";
}

std::string run_note(const worker::JobEnd& end) {
  const worker::Report& guard = end.guard;
  std::string text = end.timed_out ? kTimedOut : "";
  if (!guard.refused.empty()) {
    text += " It was kept from writing " + guard.refused + ": see --allow-writes.";
  }
  if (!guard.connection.empty()) {
    text += " It was kept from connecting to " + guard.connection + ": see --allow-writes.";
  }
  return text;
}

}  // namespace ridgeline::app
