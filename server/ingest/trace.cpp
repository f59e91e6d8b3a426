#include "ingest/trace.h"

namespace ridgeline::ingest {

void erase_events(Trace& trace, const std::vector<bool>& erased) {
  std::vector<std::uint32_t> place(trace.events.size());
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    place[i] = count;
    if (!erased[i]) {
      trace.events[count++] = trace.events[i];
    }
  }
  trace.events.resize(count);
  const auto follow = [&](auto& list) {
    std::erase_if(list, [&](const auto& entry) { return erased[entry.event]; });
    for (auto& entry : list) {
      entry.event = place[entry.event];
    }
  };
  follow(trace.collectives);
  follow(trace.inputs);
}

}  // namespace ridgeline::ingest
