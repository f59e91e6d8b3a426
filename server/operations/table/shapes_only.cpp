#include "operations/table/shapes_only.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "operations/device/operation_call.h"

namespace ridgeline::operations {

namespace {

constexpr std::array<std::string_view, 2> kNamespaces = {"aten::", "prims::"};

// Values of arguments of torch's operators: approximations, roundings, reductions, triangles, norms, sides, paddings
// and interpolations.
constexpr std::array<std::string_view, 40> kSettings = {
    "",         "none",    "tanh",  "trunc", "floor",    "add",     "multiply",  "sum",      "prod",     "mean",
    "max",      "min",     "amax",  "amin",  "L",        "U",       "r",         "reduced",  "complete", "fro",
    "nuc",      "gels",    "gelsy", "gelsd", "gelss",    "left",    "right",     "linear",   "lower",    "higher",
    "midpoint", "nearest", "same",  "valid", "constant", "reflect", "replicate", "circular", "ij",       "xy"};

/// Arguments nest at most four deep.
bool is_told(const Argument& argument) {
  if (const auto* list = argument.list()) {
    return std::ranges::all_of(*list, is_told);
  }
  const auto* text = std::get_if<std::string>(&argument.value);
  if (text == nullptr || text->starts_with("d:") || text->starts_with("v:")) {
    return true;
  }
  return text->starts_with("s:") && std::ranges::count(kSettings, std::string_view(*text).substr(2)) > 0;
}

bool holds_shapes_only(const std::string& key) {
  const auto call = parse_call(key);
  return call &&
         std::ranges::any_of(kNamespaces, [&](std::string_view own) { return call->operation.starts_with(own); }) &&
         std::ranges::all_of(call->arguments, is_told) &&
         std::ranges::all_of(call->keywords, [](const auto& keyword) { return is_told(keyword.second); });
}

}  // namespace

std::vector<std::string> shapes_only(std::span<const std::string> keys) {
  std::vector<std::string> told;
  std::ranges::copy_if(keys, std::back_inserter(told), holds_shapes_only);
  return told;
}

}  // namespace ridgeline::operations
