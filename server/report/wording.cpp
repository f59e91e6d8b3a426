#include "report/wording.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "report/units.h"

namespace ridgeline::report {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string plural(double count, std::string_view noun) {
  return fmt::format("{} {}{}", report::count(count), noun, count == 1 ? "" : "s");
}

std::string sentence(std::string text) {
  if (!text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    text += '.';
  }
  return text;
}

std::string unbroken(std::string text) {
  for (std::size_t at = 0; (at = text.find(' ')) != std::string::npos;) {
    text.replace(at, 1, "\u00A0");
  }
  return text;
}

std::string estimated(const analysis::Estimate& estimate, base::FunctionRef<std::string(double)> format) {
  const auto& interval = estimate.interval;
  switch (estimate.certainty) {
    case analysis::Certainty::kKnown:
      return format(estimate.value);
    case analysis::Certainty::kAtLeast:
      if (interval) {
        return "≥\u00A0" + format(interval->low);
      }
      break;
    case analysis::Certainty::kAtMost:
      if (interval && interval->high) {
        return "≤\u00A0" + format(*interval->high);
      }
      break;
    case analysis::Certainty::kAbout:
      break;
  }
  return "≈\u00A0" + format(estimate.value);
}

std::string needed_memory(const analysis::BatchPrediction& batch) {
  const auto needed = needed_bytes(batch);
  if (!needed) {
    return "unknown memory";
  }
  const bool measured = batch.measured && !batch.reserved_bytes;
  const bool known = measured || (batch.peak_bytes && batch.peak_bytes->certainty == analysis::Certainty::kKnown);
  return estimated({*needed, std::nullopt, known ? analysis::Certainty::kKnown : analysis::Certainty::kAbout}, bytes);
}

bool has_uncertain_batch(const analysis::Profile& profile) {
  return profile.batch_size_known && profile.script && profile.script->samples &&
         !profile.script->samples->doubt.empty();
}

std::string throughput_text(const analysis::Profile& profile) {
  const std::string about = has_uncertain_batch(profile) || analysis::is_uncertain(profile) ? "≈\u00A0" : "";
  return profile.samples_per_second ? about + figure(*profile.samples_per_second) + " samples/s" : "unknown";
}

std::string peak_text(const analysis::Profile& profile) {
  return profile.peak_known ? bytes(static_cast<double>(profile.peak_bytes)) : "unknown";
}

std::string batch_text(const analysis::Profile& profile) {
  if (!profile.batch_size_known) {
    return "unknown";
  }
  std::string text = (has_uncertain_batch(profile) ? "≈\u00A0" : "") + std::to_string(profile.batch_size);
  if (const auto* script = profile.script ? &*profile.script : nullptr;
      script && script->samples && script->samples->vary()) {
    text += fmt::format(" ({} to {})", script->samples->least, script->samples->most);
  }
  return text;
}

std::string iteration_text(const analysis::Profile& profile) {
  const analysis::Measured& time = profile.iteration.ms;
  constexpr double kNarrow = 0.01;  // three digits do not show the ends of a narrower interval
  constexpr double kEven = 1.5;     // one half is at most so many times the other
  const double above = ratio(time.high - time.value, time.value);
  const double below = ratio(time.value - time.low, time.value);
  const double larger = std::max(above, below);
  if (larger >= kNarrow && larger > kEven * std::min(above, below)) {
    return duration_interval(time);
  }
  const std::string about = analysis::has_too_few_iterations(profile) ? "≈\u00A0" : "";
  return about + duration(time.value) + (larger > 0 ? " ± " + share(larger) : "");
}

std::optional<Limited> throughput_limit(const analysis::Profile& profile) {
  const double maximum = profile.max_samples_per_second.value_or(0);
  if (maximum <= 0 || !profile.samples_per_second) {
    return std::nullopt;
  }
  return Limited{ratio(*profile.samples_per_second, maximum), " of the maximum " + figure(maximum)};
}

std::optional<Limited> memory_limit(const analysis::Profile& profile) {
  const auto capacity = static_cast<double>(profile.capacity_bytes);
  if (capacity <= 0 || !profile.peak_known) {
    return std::nullopt;
  }
  return Limited{ratio(static_cast<double>(profile.peak_bytes), capacity), " of " + bytes(capacity)};
}

std::string setting_text(const analysis::Profile& profile) {
  const std::string torch = printable(profile.environment.torch);  // an imported trace does not have it
  return fmt::format("batch {} · {}{}", batch_text(profile), device_label(profile.environment),
                     torch.empty() ? "" : " · torch " + torch);
}

std::string utc_text(std::uint64_t seconds) {
  constexpr std::uint64_t kLatest = 253402300799;  // the last second of the year 9999
  const std::chrono::sys_seconds moment{std::chrono::seconds(std::min(seconds, kLatest))};
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(moment - day);
  return fmt::format("{}-{:02}-{:02} {:02}:{:02} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count());
}

std::string provenance_text(const analysis::Profile& profile) {
  if (!profile.provenance) {
    return {};
  }
  constexpr std::size_t kShownDigits = 7;
  const analysis::Provenance& made = *profile.provenance;
  std::string text = utc_text(made.began_s);
  if (!made.commit.empty()) {
    text += " · commit " + printable(made.commit.substr(0, kShownDigits));
  }
  text += " · Ridgeline " + printable(made.version);
  return made.processor.empty() ? text : text + " · " + printable(made.processor);
}

std::string device_label(const analysis::Environment& environment) {
  if (!environment.in_place_of.empty()) {
    return printable(environment.device + " in place of " + environment.in_place_of);
  }
  const bool cpu = environment.device == "cpu";
  const std::string threads = environment.threads > 0 ? plural(environment.threads, "thread") : "";
  const std::string detail = cpu ? threads : printable(environment.device_name);
  return printable(environment.device) + (detail.empty() ? "" : " (" + detail + ")");
}

std::string machine_text(double machine_speed) {
  const double slower = machine_speed > 0 ? 1 / machine_speed - 1 : 0;
  return fmt::format("the machine was {} {} than in the profile, and the time is scaled to it",
                     unbroken(share(std::abs(slower))), slower < 0 ? "faster" : "slower");
}

std::vector<Item> phases(const analysis::ByPhase& by_phase, base::FunctionRef<std::string(double)> format,
                         double least) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < by_phase.size(); ++i) {
    if (by_phase[i] > least) {
      items.push_back({analysis::kPhaseNames[i], format(by_phase[i])});
    }
  }
  return items;
}

std::vector<Item> peak_items(const analysis::Profile& profile) {
  std::vector<std::pair<std::uint64_t, Item>> sized;
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    const std::uint64_t size = profile.by_category[i];
    if (size > 0) {
      sized.push_back({size, {analysis::kCategoryLabels[i], bytes(static_cast<double>(size))}});
    }
  }
  std::stable_sort(sized.begin(), sized.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Item> items;
  for (auto& [size, item] : sized) {
    items.push_back(std::move(item));
  }
  return items;
}

std::string duration_interval(const analysis::Measured& ms) {
  return fmt::format("{} ({} to {})", duration(ms.value), duration(ms.low), duration(ms.high));
}

}  // namespace ridgeline::report
