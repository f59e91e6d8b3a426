#include "ingest/recorded_keys.h"

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ingest/recorded_key.h"

namespace ridgeline::ingest {

std::optional<analysis::RecordedKeys> recorded_keys(const Trace& trace, const std::vector<std::uint32_t>& op_event) {
  if (trace.inputs.empty()) {
    return std::nullopt;
  }
  analysis::RecordedKeys found;
  using Identity = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<Identity, int> known;  // each text is read once
  std::map<std::string, int> numbers;
  std::unordered_map<std::uint32_t, int> by_event;
  for (const TraceInputs& inputs : trace.inputs) {
    const std::uint32_t name = trace.events[inputs.event].name;
    const auto [entry, is_new] =
        known.try_emplace({name, inputs.sizes, inputs.types, inputs.strides, inputs.values}, -1);
    if (is_new) {
      const std::vector<std::string>& text = trace.strings;
      auto key =
          recorded_key(text[name], {text[inputs.sizes], text[inputs.types], text[inputs.strides], text[inputs.values]});
      if (key.has_value()) {
        const auto number = numbers.try_emplace(*key, static_cast<int>(found.keys.size()));
        if (number.second) {
          found.keys.push_back(std::move(*key));
        }
        entry->second = number.first->second;
      }
    }
    by_event[inputs.event] = entry->second;
  }
  for (const std::uint32_t event : op_event) {
    const auto key = by_event.find(event);
    found.of_op.push_back(key == by_event.end() ? -1 : key->second);
  }
  return found;
}

}  // namespace ridgeline::ingest
