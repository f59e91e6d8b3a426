#include "report/operation_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"
#include "report/page.h"
#include "report/units.h"

namespace ridgeline::report {
namespace {

constexpr std::size_t kShownTensors = 6;
constexpr int kAttainedWidth = 19;
constexpr std::size_t kShownMissing = 10;

/// "float32[64,784]" of "t:float32:64,784:784,1".
std::string tensor_text(const std::string& described) {
  const std::size_t dtype_end = described.find(':', 2);
  const std::size_t sizes_end = dtype_end == std::string::npos ? dtype_end : described.find(':', dtype_end + 1);
  if (sizes_end == std::string::npos) {
    return described;
  }
  return described.substr(2, dtype_end - 2) + "[" + described.substr(dtype_end + 1, sizes_end - dtype_end - 1) + "]";
}

void collect(const nlohmann::json& value, std::vector<std::string>& tensors) {
  if (value.is_string() && value.get_ref<const std::string&>().starts_with("t:")) {
    tensors.push_back(tensor_text(value.get_ref<const std::string&>()));
  } else if (value.is_array() || value.is_object()) {
    for (const nlohmann::json& item : value) {
      collect(item, tensors);
    }
  }
}

/// Only of a time that was measured on this processor.
std::optional<operations::RooflineBound> bound_of(const operations::ListedTime& listed, MeasuredDevice device) {
  if (device == nullptr || listed.conditions.device != device->name || !listed.time.reason.empty()) {
    return std::nullopt;
  }
  const auto work = operations::work_of(std::string_view(listed.time.key));
  auto bound = work ? operations::roofline_bound(*work, *device, listed.conditions.threads) : std::nullopt;
  return bound && bound->ns > 0 ? bound : std::nullopt;
}

/// "38 % of computing", "62 % of L3".
std::string attained_text(const operations::ListedTime& listed, MeasuredDevice device) {
  const auto bound = bound_of(listed, device);
  if (!bound) {
    return "–";
  }
  return share(bound->ns / listed.time.ns) + " of " +
         (bound->limit == operations::Limit::kCompute ? "computing" : printable(bound->level));
}

void add_work(nlohmann::ordered_json& made, const operations::ListedTime& listed, MeasuredDevice device) {
  if (const auto work = operations::work_of(std::string_view(listed.time.key))) {
    made["kind"] = operations::kind_name(work->kind);
    made["flops"] = work->flops;
    made["bytes"] = work->bytes();
  }
  if (const auto bound = bound_of(listed, device)) {
    made["boundNs"] = bound->ns;
    made["limit"] = bound->limit == operations::Limit::kCompute ? "compute" : bound->level;
    made["attained"] = bound->ns / listed.time.ns;
  }
}

}  // namespace

std::string operation_text(const std::string& key) {
  const nlohmann::json call = nlohmann::json::parse(key, nullptr, false);
  if (!call.is_array() || call.empty() || !call.front().is_string()) {
    return printable(key);
  }
  std::string text = call.front().get<std::string>();
  std::vector<std::string> tensors;
  collect(call, tensors);
  for (std::size_t i = 0; i < std::min(tensors.size(), kShownTensors); ++i) {
    text += " " + tensors[i];
  }
  return printable(tensors.size() > kShownTensors ? text + fmt::format(" and {} more", tensors.size() - kShownTensors)
                                                  : text);
}

std::string text_operation_times(const std::vector<operations::ListedTime>& times, std::int64_t count,
                                 MeasuredDevice device, const TextOptions& options) {
  Page page(std::clamp(options.width, kLeastWidth, 200), options.color);
  const int name_width = page.width() - 2 - 12 - 22 - kAttainedWidth;
  page.line("  " + page.bold(left("OPERATION", name_width) + right("TIME", 10) + "  " +
                             left("ATTAINED", kAttainedWidth) + "SAMPLES"));
  for (const operations::ListedTime& listed : times) {
    const operations::OperationTime& time = listed.time;
    const std::string figures =
        time.reason.empty()
            ? right(duration(time.ns / 1e6), 10) + "  " + left(attained_text(listed, device), kAttainedWidth) +
                  fmt::format("{} to {}", duration(time.low / 1e6), duration(time.high / 1e6))
            : right("–", 10) + "  " + left("–", kAttainedWidth) + clip(printable(time.reason), 22);
    page.line("  " + left(clip(operation_text(time.key), name_width - 2), name_width) + figures);
  }
  page.line();
  page.prose("", fmt::format("{} of {} operations.", times.size(), count), 2);
  page.prose("",
             device == nullptr ? "How close they come to the limits is not known: `ridgeline machine measure` measures "
                                 "what the processor can do."
                               : "Attained: the roofline bound over the time alone.",
             2);
  return page.take();
}

namespace {

/// "12.1 µs (12 to 13 µs), machine, 2.13.0".
std::string provenance(const operations::ListedTime& listed) {
  return fmt::format("{} ({} to {}; torch {}; {})", duration(listed.time.ns / 1e6), duration(listed.time.low / 1e6),
                     duration(listed.time.high / 1e6), printable(listed.conditions.torch),
                     listed.source.empty() ? "source not stated" : printable(listed.source));
}

}  // namespace

std::string text_merged(const std::string& file, const operations::Merged& merged) {
  std::string text = fmt::format("{}: {} added, {} replaced by newer times, {} not newer", printable(file),
                                 merged.added, merged.replaced, merged.older);
  if (merged.unsound > 0) {
    text += fmt::format(", {} left out because no time can be like that", merged.unsound);
  }
  if (merged.outdated > 0) {
    text += fmt::format(", {} left out because an older Ridgeline measured them in another way", merged.outdated);
  }
  text += "\n";
  if (merged.conflicts > 0) {
    text += fmt::format("{} times contradict what was known: their samples do not overlap. The newer ones are kept.\n",
                        merged.conflicts);
  }
  for (const operations::Conflict& conflict : merged.shown) {
    text += fmt::format("  {} on {}\n    kept     {}\n    dropped  {}\n", operation_text(conflict.kept.time.key),
                        printable(conflict.kept.conditions.device), provenance(conflict.kept),
                        provenance(conflict.dropped));
  }
  return text;
}

std::string text_measuring_plan(const operations::MeasuringPlan& plan, const std::string& script) {
  const std::size_t all = plan.known.size() + plan.missing.size();
  std::string text = fmt::format("{} operations, of which {} are known for {} and {} are missing.\n", all,
                                 plan.known.size(), printable(plan.device), plan.missing.size());
  for (std::size_t i = 0; i < std::min(plan.missing.size(), kShownMissing); ++i) {
    text += "  " + operation_text(plan.missing[i]) + "\n";
  }
  if (plan.missing.size() > kShownMissing) {
    text += fmt::format("  and {} more\n", plan.missing.size() - kShownMissing);
  }
  if (plan.kept_here > 0) {
    text +=
        fmt::format("{} more are not torch's own, or hold a text of yours: they are not timed on another machine.\n",
                    plan.kept_here);
  }
  if (plan.missing.empty()) {
    return text;
  }
  text += fmt::format("Timing the missing ones there takes at least {}, and the start of Python and torch.\n",
                      duration(plan.least_s * 1e3));
  if (!script.empty()) {
    text += fmt::format(
        "There: python3 {} --output times.csv; here: ridgeline operations import times.csv --format "
        "operations\n",
        printable(script));
  }
  return text;
}

std::string json_measuring_plan(const operations::MeasuringPlan& plan) {
  const nlohmann::ordered_json json = {{"device", plan.device},
                                       {"known", plan.known},
                                       {"missing", plan.missing},
                                       {"leastSeconds", plan.least_s},
                                       {"hasDataSheet", plan.has_data_sheet},
                                       {"notModelled", plan.not_modelled},
                                       {"keptHere", plan.kept_here}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string json_operation_times(const std::vector<operations::ListedTime>& times, MeasuredDevice device) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const operations::ListedTime& listed : times) {
    const operations::OperationTime& time = listed.time;
    json.push_back({{"key", time.key},
                    {"device", listed.conditions.device},
                    {"threads", listed.conditions.threads},
                    {"torch", listed.conditions.torch},
                    {"ns", time.ns},
                    {"low", time.low},
                    {"high", time.high},
                    {"samples", time.samples},
                    {"reason", time.reason},
                    {"measuredAt", listed.measured_s},
                    {"source", listed.source}});
    add_work(json.back(), listed, device);
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
