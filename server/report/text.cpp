#include "report/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/breakdown_text.h"
#include "report/line_table.h"
#include "report/page.h"
#include "report/places.h"
#include "report/table.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::Profile;

constexpr int kText = 15;  // where text begins beside a label at the margin

/// Holds the words of a sentence's figure together.
std::string unbroken(std::string text) {
  for (std::size_t at = 0; (at = text.find(' ')) != std::string::npos;) text.replace(at, 1, "\u00A0");
  return text;
}

// ---- The head: what was profiled, and its key figures.

void title(Page& page, const Profile& profile) {
  const std::string rest = clip(fmt::format(" · batch {} · {} · torch {}", profile.batch_size,
                                            device_words(profile.environment), printable(profile.environment.torch)),
                                page.width() - 20);
  const std::string path = clip_front(entry_name(profile), page.width() - columns(rest));
  page.line(page.bold(path) + page.dim(rest));
  page.line();
}

std::vector<Item> categories(const Profile& profile) {
  static constexpr std::array<const char*, analysis::kCategoryCount> kNames = {
      "weights", "gradients", "optimizer state", "activations", "inputs", "temporaries"};
  std::vector<std::pair<std::uint64_t, Item>> sized;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::uint64_t size = profile.by_category[i];
    if (size > 0) sized.push_back({size, {kNames[i], bytes(static_cast<double>(size))}});
  }
  std::stable_sort(sized.begin(), sized.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Item> items;
  for (auto& [size, item] : sized) items.push_back(std::move(item));
  return items;
}

void key_figures(Page& page, const Profile& profile) {
  const analysis::Measured& time = profile.iteration.ms;
  const double interval = ratio(std::max(time.high - time.value, time.value - time.low), time.value);
  const std::string rate = figure(profile.samples_per_second) + " samples/s";
  const std::string iteration = duration(time.value) + (interval > 0 ? " ± " + share(interval) : "");
  const auto peak = static_cast<double>(profile.peak_bytes);
  const auto capacity = static_cast<double>(profile.capacity_bytes);

  const int value_width = std::max({14, columns(rate), columns(iteration)});
  const int start = kText + value_width + 2;
  const int cells = std::clamp(page.width() - start - 28, 12, 40);
  const auto head = [&](std::string_view label, std::string_view value) {
    return "  " + page.bold(left(label, kText - 2)) + right(value, value_width) + "  ";
  };
  const auto limited = [&](double value, double limit, const std::string& words) {
    return page.full_bar(ratio(value, limit), cells, "░") + "  " + share(ratio(value, limit)) + page.dim(words);
  };

  const double maximum = profile.max_samples_per_second.value_or(0);
  page.line(head("throughput", rate) +
            (maximum > 0 ? limited(profile.samples_per_second, maximum, " of the maximum " + figure(maximum))
                         : page.dim("maximum unknown")));
  page.flow(head("iteration", iteration), start,
            phases(
                profile.iteration.by_phase, [&](double ms) { return share(ratio(ms, time.value)); }, 0));
  page.line(head("peak memory", bytes(peak)) +
            (capacity > 0 ? limited(peak, capacity, " of " + bytes(capacity)) : page.dim("capacity unknown")));
  if (const auto items = categories(profile); !items.empty()) page.flow(head("at the peak", ""), start, items);
}

void tables(Page& page, const Profile& profile, const SourceLines& source, const TextOptions& options) {
  Layout layout = layout_for(page.width());
  constexpr auto kRecomputation = static_cast<std::size_t>(analysis::Phase::kRecomputation);
  layout.recomputed = profile.iteration.by_phase[kRecomputation] > kNegligible * profile.iteration.ms.value;
  const Places places(profile);
  const std::vector<Table> all = {breakdown_table(page, profile, places, options),
                                  line_table(page, profile, places, source, options, layout), other_table(profile)};
  line_up(layout, all, page.width());
  for (const Table& table : all) {
    if (!table.rows.empty()) print(page, table, layout, profile.iteration.ms.value);
  }
}

// ---- What a reader must know, and may do next.

void notes(Page& page, const Profile& profile) {
  page.line();
  for (const analysis::Skipped& skipped : profile.skipped) {
    page.prose(
        "skipped",
        clip(fmt::format("batch {} ({}): {}", skipped.batch_size, printable(skipped.kind), printable(skipped.message)),
             3 * (page.width() - kText)),
        kText);
  }
  for (const std::string& warning : profile.warnings) page.prose("warning", printable(warning), kText);
  if (profile.recorded_iterations == 0) return;
  page.prose("recording",
             fmt::format("{}, {} than a bare one; times scaled by {}; your lines own {} of the iteration",
                         plural(profile.recorded_iterations, "iteration"),
                         unbroken(share(std::abs(profile.recording_overhead))) +
                             (profile.recording_overhead < 0 ? " faster" : " slower"),
                         figure(profile.scale), unbroken(share(profile.user_line_share))),
             kText);
}

double at(const analysis::Line& line, double batch_size) { return line.slope * batch_size + line.intercept; }

/// The peak by the ledger where there is one, else by the line.
double peak_at(const Profile& profile, double batch_size) {
  if (!profile.peak_model) return at(*profile.memory_model, batch_size);
  const analysis::PeakPiece* last = nullptr;
  for (const analysis::PeakPiece& piece : profile.peak_model->value) {
    if (piece.from_batch <= batch_size) last = &piece;
  }
  return last == nullptr ? 0 : last->intercept + last->slope * batch_size;
}

/// Twice the batch by the two models, when both fit well and grow; ratios are of model to model, so that what the fit
/// misses at this batch size is not taken for a gain.
std::string advice(const Profile& profile) {
  constexpr double kGoodFit = 0.9;
  const auto usable = [](const auto& line) { return line && line->slope > 0 && line->r2 >= kGoodFit; };
  const bool known_memory = profile.peak_model || usable(profile.memory_model);
  if (!usable(profile.time_model) || !known_memory || profile.batch_size <= 0) return {};
  const double now = profile.batch_size;
  const double twice = 2 * now;
  const double gain = 2 * ratio(at(*profile.time_model, now), at(*profile.time_model, twice));
  const double need = peak_at(profile, twice);
  const auto failed = [&](const analysis::Skipped& skipped) { return skipped.batch_size <= twice; };
  if (gain <= 0 || need <= 0 || std::any_of(profile.skipped.begin(), profile.skipped.end(), failed)) return {};

  const auto capacity = static_cast<double>(profile.capacity_bytes);
  const std::string memory = unbroken(bytes(need));
  std::string text;
  if (capacity > 0 && need > capacity) {
    text = fmt::format("A batch of {} would need {}; this device has {}", twice, memory, unbroken(bytes(capacity)));
  } else if (gain < 1.02) {
    text = fmt::format("A batch of {} would give hardly more throughput and needs {}", twice, memory);
  } else {
    text = fmt::format("A batch of {} would give {}× the throughput and needs {}", twice, figure(gain), memory);
  }
  int low = profile.batch_size;
  int high = profile.batch_size;
  for (const analysis::TimeSample& sample : profile.time_samples) {
    low = std::min(low, sample.batch_size);
    high = std::max(high, sample.batch_size);
  }
  return text + (twice > high ? fmt::format(" (extrapolated from batches of {} to {}).", low, high) : ".");
}

}  // namespace

std::string text_report(const Profile& profile, const SourceLines& source, const TextOptions& options) {
  Page page(std::clamp(options.width, 80, 140), options.color);
  title(page, profile);
  key_figures(page, profile);
  tables(page, profile, source, options);
  notes(page, profile);
  if (const std::string text = advice(profile); !text.empty()) {
    page.line();
    page.prose("", text, 2);
  }
  return page.take();
}

}  // namespace ridgeline::report
