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
#include "report/device_text.h"
#include "report/line_table.h"
#include "report/outlook_text.h"
#include "report/page.h"
#include "report/places.h"
#include "report/script_text.h"
#include "report/table.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::Profile;

// ---- The head: what was profiled, and its key figures.

void title(Page& page, const Profile& profile) {
  const std::string torch = printable(profile.environment.torch);  // an imported trace does not have it
  const std::string rest =
      clip(fmt::format(" · batch {} · {}{}", batch_text(profile), device_label(profile.environment),
                       torch.empty() ? "" : " · torch " + torch),
           page.width() - 20);
  const std::string path = clip_front(entry_name(profile), page.width() - columns(rest));
  page.line(page.bold(path) + page.dim(rest));
  page.line();
}

void key_figures(Page& page, const Profile& profile) {
  const analysis::Measured& time = profile.iteration.ms;
  const double interval = ratio(std::max(time.high - time.value, time.value - time.low), time.value);
  const std::string rate = throughput_text(profile);
  const std::string iteration = duration(time.value) + (interval > 0 ? " ± " + share(interval) : "");
  const auto peak = static_cast<double>(profile.peak_bytes);
  const auto capacity = static_cast<double>(profile.capacity_bytes);

  const int value_width = std::max({14, columns(rate), columns(iteration)});
  const int start = kBeside + value_width + 2;
  const int cells = std::clamp(page.width() - start - 28, 12, 40);
  const auto head = [&](std::string_view label, std::string_view value) {
    return "  " + page.bold(left(label, kBeside - 2)) + right(value, value_width) + "  ";
  };
  const auto limited = [&](double value, double limit, const std::string& text) {
    return page.full_bar(ratio(value, limit), cells, "░") + "  " + share(ratio(value, limit)) + page.dim(text);
  };

  const double maximum = profile.max_samples_per_second.value_or(0);
  const bool limit_known = maximum > 0 && profile.samples_per_second.has_value();
  page.line(head("throughput", rate) +
            (limit_known ? limited(*profile.samples_per_second, maximum, " of the maximum " + figure(maximum))
                         : page.dim("maximum unknown")));
  page.flow(head("iteration", iteration), start,
            phases(
                profile.iteration.by_phase, [&](double ms) { return share(ratio(ms, time.value)); }, 0));
  page.line(head("peak memory", peak_text(profile)) + (capacity <= 0 ? page.dim("capacity unknown")
                                                       : profile.peak_known
                                                           ? limited(peak, capacity, " of " + bytes(capacity))
                                                           : page.dim("of " + bytes(capacity))));
  if (const auto items = peak_items(profile); profile.peak_known && !items.empty())
    page.flow(head("at the peak", ""), start, items);
  device_figures(page, profile);
}

void tables(Page& page, const Profile& profile, const SourceLines& source, const TextOptions& options) {
  Layout layout = layout_for(page.width());
  constexpr auto kRecomputation = static_cast<std::size_t>(analysis::Phase::kRecomputation);
  layout.recomputed = profile.iteration.by_phase[kRecomputation] > kNegligible * profile.iteration.ms.value;
  const Places places(profile);
  const std::vector<Table> all = {breakdown_table(page, profile, places, options),
                                  line_table(page, profile, places, source, options, layout), other_table(profile)};
  // Of an imported trace without memory events nothing is known, rather than 0 B of every line.
  layout.memory = profile.peak_known || std::ranges::any_of(all, [](const Table& table) {
                    return std::ranges::any_of(table.rows, [](const Row& row) { return row.bytes > 0; });
                  });
  line_up(layout, all, page.width());
  for (const Table& table : all) {
    if (!table.rows.empty()) print(page, table, layout, profile.iteration.ms.value);
  }
  device_tables(page, profile, places, source);
}

// ---- What a reader must know, and may do next.

/// How the iteration time was taken, and how much two measurements of it differ.
std::string timing_text(const Profile& profile) {
  const auto own = std::find_if(profile.time_samples.begin(), profile.time_samples.end(),
                                [&](const auto& sample) { return sample.batch_size == profile.batch_size; });
  if (own == profile.time_samples.end() || own->rounds < 2) return {};
  std::string text =
      fmt::format("{} in {}{}; two halves of a measurement differ by {}", plural(own->iterations, "iteration"),
                  plural(own->rounds, "round"), profile.time_samples.size() > 1 ? ", in turns with other batches" : "",
                  unbroken(share(profile.aa_noise)));
  if (own->outliers.count > 0) {
    text += fmt::format("; {} took up to {} times the median", own->outliers.count, figure(own->outliers.worst));
  }
  if (profile.environment.high_mhz > 1.05 * profile.environment.low_mhz) {
    text += fmt::format("; the processor ran at {} to {} MHz", figure(profile.environment.low_mhz),
                        figure(profile.environment.high_mhz));
  }
  return text;
}

void notes(Page& page, const Profile& profile) {
  page.line();
  for (const analysis::Skipped& skipped : profile.skipped) {
    page.prose("skipped",
               clip(fmt::format("batch {} ({}): {}", skipped.batch_size, protocol::name_of(skipped.kind),
                                printable(skipped.message)),
                    3 * (page.width() - kBeside)),
               kBeside);
  }
  if (profile.script) script_notes(page, *profile.script);
  for (const std::string& warning : profile.warnings) page.prose("warning", printable(warning), kBeside);
  if (const std::string text = timing_text(profile); !text.empty()) page.prose("timing", text, kBeside);
  if (profile.recorded_iterations == 0) return;
  if (profile.environment.torch.empty()) {  // imported: nothing was timed beside the recording
    page.prose("recording",
               fmt::format("{} of the trace, those in the middle by duration; your lines own {} of the iteration",
                           plural(profile.recorded_iterations, "iteration"), unbroken(share(profile.user_line_share))),
               kBeside);
    return;
  }
  page.prose("recording",
             fmt::format("{}, {} than a bare one; times scaled by {}; your lines own {} of the iteration",
                         plural(profile.recorded_iterations, "iteration"),
                         unbroken(share(std::abs(profile.recording_overhead))) +
                             (profile.recording_overhead < 0 ? " faster" : " slower"),
                         figure(profile.scale), unbroken(share(profile.user_line_share))),
             kBeside);
}

}  // namespace

std::string text_report(const Profile& profile, const analysis::Outlook& outlook, const SourceLines& source,
                        const TextOptions& options) {
  Page page(std::clamp(options.width, 80, 140), options.color);
  title(page, profile);
  key_figures(page, profile);
  tables(page, profile, source, options);
  notes(page, profile);
  outlook_text(page, profile, outlook);
  return page.take();
}

std::string notes_text(const Profile& profile, const analysis::Outlook& outlook, int width) {
  Page page(width, false);
  notes(page, profile);
  outlook_text(page, profile, outlook);
  return page.take();
}

}  // namespace ridgeline::report
