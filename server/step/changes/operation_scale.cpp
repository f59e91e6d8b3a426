#include "step/changes/operation_scale.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "step/changes/arguments.h"

namespace ridgeline::step {

namespace {

/// Sizes of the tensors of a call, in order: "32,128".
std::vector<std::string> tensors_of(const std::string& key) {
  std::vector<std::string> sizes;
  // Every string of it, however deep, in order: a key comes from the user's process, and recursion would have to be
  // bounded.
  const auto take_strings = [&](int /*depth*/, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::value && value.is_string() &&
        value.get_ref<const std::string&>().starts_with("t:")) {
      const std::vector<std::string> parts = split(value.get_ref<const std::string&>(), ':');
      sizes.push_back(parts.size() > 2 ? parts[2] : "");
    }
    return event != nlohmann::json::parse_event_t::value;  // nothing is kept but the arrays and objects around it
  };
  const auto parsed = nlohmann::json::parse(key, take_strings, false);
  return parsed.is_discarded() ? std::vector<std::string>() : sizes;
}

double elements_of(std::string_view sizes) {
  double elements = 1;
  for (const std::string& size : split(sizes, ',')) {
    elements *= size.empty() ? 1 : number_of(size, 0, 1e15).value_or(1);
  }
  return elements;
}

}  // namespace

double size_ratio(const std::string& before, const std::string& after) {
  const std::vector<std::string> sizes_before = tensors_of(before);
  const std::vector<std::string> sizes_after = tensors_of(after);
  if (sizes_before.size() != sizes_after.size()) {
    return 1;
  }
  double elements_before = 0;
  double elements_after = 0;
  for (std::size_t i = 0; i < sizes_before.size(); ++i) {
    if (sizes_before[i] != sizes_after[i]) {
      elements_before += elements_of(sizes_before[i]);
      elements_after += elements_of(sizes_after[i]);
    }
  }
  return elements_before > 0 && elements_after > 0 ? elements_after / elements_before : 1;
}

}  // namespace ridgeline::step
