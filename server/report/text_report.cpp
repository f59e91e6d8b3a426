#include "report/text_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/breakdown_text.h"
#include "report/compilation_text.h"
#include "report/device_text.h"
#include "report/energy_text.h"
#include "report/library_text.h"
#include "report/line_table.h"
#include "report/observation_text.h"
#include "report/out_of_memory_text.h"
#include "report/outlook_text.h"
#include "report/page.h"
#include "report/places.h"
#include "report/schedule_text.h"
#include "report/script_text.h"
#include "report/table.h"
#include "report/units.h"
#include "report/wording.h"
#include "report/work_text.h"

namespace ridgeline::report {
namespace {

using analysis::Profile;

// ---- The head: what was profiled, and its key figures.

void title(Page& page, const Profile& profile) {
  const std::string rest = clip(" · " + setting_text(profile), page.width() - 20);
  const std::string path = clip_front(entry_name(profile), page.width() - columns(rest));
  page.line(page.bold(path) + page.dim(rest));
  if (const std::string made = provenance_text(profile); !made.empty()) {
    page.line(page.dim(clip(made, page.width())));
  }
  page.line();
}

void key_figures(Page& page, const Profile& profile) {
  const analysis::Measured& time = profile.iteration.ms;
  const std::string rate = throughput_text(profile);
  const std::string iteration = iteration_text(profile);
  const auto capacity = static_cast<double>(profile.capacity_bytes);

  const int value_width = std::max({14, columns(rate), columns(iteration)});
  const int start = kBeside + value_width + 2;
  const int cells = std::clamp(page.width() - start - 28, 10, 40);
  const auto head = [&](std::string_view label, std::string_view value) {
    return "  " + page.bold(left(label, kBeside - 2)) + right(value, value_width) + "  ";
  };
  const auto limited = [&](const std::optional<Limited>& part, const std::string& unknown) {
    if (!part) {
      return page.dim(unknown);
    }
    return page.full_bar(part->fraction, cells, "░") + "  " + share(part->fraction) + page.dim(part->limit);
  };

  page.line(head("throughput", rate) + limited(throughput_limit(profile), "maximum unknown"));
  page.flow(head("iteration", iteration), start,
            phases(
                profile.iteration.by_phase, [&](double ms) { return share(ratio(ms, time.value)); }, 0));
  page.line(head("peak memory", peak_text(profile)) +
            limited(memory_limit(profile), capacity > 0 ? "of " + bytes(capacity) : "capacity unknown"));
  if (const auto items = peak_items(profile); profile.peak_known && !items.empty()) {
    page.flow(head("at the peak", ""), start, items);
  }
  if (profile.energy) {
    page.flow(head("energy", energy_text(profile)), start, energy_items(profile));
  }
  device_figures(page, profile);
}

void tables(Page& page, const Profile& profile, const SourceLines& source, const TextOptions& options) {
  Layout layout = layout_for(page.width());
  constexpr auto kRecomputation = static_cast<std::size_t>(analysis::Phase::kRecomputation);
  layout.recomputed = profile.iteration.by_phase[kRecomputation] > kNegligible * profile.iteration.ms.value;
  layout.energy = profile.energy.has_value();
  const Places places(profile);
  std::vector<Table> all = {breakdown_table(page, profile, places, options),
                            line_table(page, profile, places, source, options, layout)};
  std::ranges::move(library_tables(page, profile, places, source), std::back_inserter(all));
  all.push_back(other_table(profile));
  // An imported trace may have no memory events: then nothing is known, rather than 0 B in every line.
  layout.memory = profile.peak_known || std::ranges::any_of(all, [](const Table& table) {
                    return std::ranges::any_of(table.rows, [](const Row& row) { return row.bytes > 0; });
                  });
  line_up(layout, all, page.width());
  for (const Table& table : all) {
    if (!table.rows.empty()) {
      print(page, table, layout, profile.iteration.ms.value);
    }
  }
  device_tables(page, profile, places, source);
  schedule_table(page, profile, places, source);
  work_table(page, profile, places, source);
}

// ---- What a reader must know, and may do next.

/// How the iteration time was taken, and how much two measurements of it differ.
std::string timing_text(const Profile& profile) {
  const auto own = std::find_if(profile.time_samples.begin(), profile.time_samples.end(),
                                [&](const auto& sample) { return sample.batch_size == profile.batch_size; });
  if (own == profile.time_samples.end() || own->rounds < 2) {
    return {};
  }
  std::string text =
      fmt::format("{} in {}{}; two halves of a measurement differ by {}", plural(own->iterations, "iteration"),
                  plural(own->rounds, "round"), profile.time_samples.size() > 1 ? ", in turns with other batches" : "",
                  unbroken(share(profile.aa_noise)));
  if (own->outliers.count > 0) {
    text += fmt::format("; {} took up to {} times the median", own->outliers.count, figure(own->outliers.worst));
  }
  if (const auto used = profile.environment.processor_share) {
    text += fmt::format("; the process used {} of the processors", unbroken(share(*used)));
  }
  if (profile.environment.high_mhz > 1.05 * profile.environment.low_mhz) {
    text += fmt::format("; the processor ran at {} to {} MHz", figure(profile.environment.low_mhz),
                        figure(profile.environment.high_mhz));
  }
  return text;
}

/// Throughput weighted by the lengths of the inputs (Zhu's thesis, section 3.3.4).
std::string length_note(const Profile& profile) {
  if (!profile.length || profile.iteration.ms.value <= 0) {
    return {};
  }
  const protocol::BatchLength& length = *profile.length;
  const std::string unit = printable(length.unit);
  return fmt::format("{} {}/s; the batch has {} {}", figure(length.total / profile.iteration.ms.value * 1e3), unit,
                     figure(length.total), unit);
}

std::string recording_text(const Profile& profile) {
  if (profile.recorded_iterations == 0) {
    return {};
  }
  const std::string iterations = plural(profile.recorded_iterations, "iteration");
  const std::string owned = unbroken(share(profile.user_line_share));
  if (analysis::is_imported(profile)) {  // nothing was timed beside the recording
    return fmt::format("{} of the trace, those in the middle by duration; your lines own {} of the iteration",
                       iterations, owned);
  }
  return fmt::format(
      "{}, {} than a bare one; times scaled by {}; your lines own {} of the iteration", iterations,
      unbroken(share(std::abs(profile.recording_overhead))) + (profile.recording_overhead < 0 ? " faster" : " slower"),
      figure(profile.scale), owned);
}

void print_observations(Page& page, const Profile& profile, const analysis::Outlook& outlook) {
  for (const Item& note : observation_notes(profile, outlook)) {
    page.prose(note.word, note.value, kBeside);
  }
}

void print_notes(Page& page, const Profile& profile, ShownWarnings warnings) {
  constexpr int kMostRows = 3;  // of a message of the user's code
  page.line();
  for (const Item& note : notes(profile, warnings)) {
    const bool is_foreign = note.word == "skipped";
    page.prose(note.word, is_foreign ? clip(note.value, kMostRows * (page.width() - kBeside)) : note.value, kBeside);
  }
}

}  // namespace

std::vector<Item> notes(const Profile& profile, ShownWarnings warnings) {
  std::vector<Item> notes;
  for (const analysis::Skipped& skipped : profile.skipped) {
    notes.push_back({"skipped", fmt::format("batch {} ({}): {}", skipped.batch_size, protocol::name_of(skipped.kind),
                                            printable(skipped.message))});
  }
  if (profile.out_of_memory) {
    std::ranges::move(out_of_memory_notes(*profile.out_of_memory), std::back_inserter(notes));
  }
  if (profile.script) {
    std::ranges::move(script_notes(*profile.script, profile.peak_bytes, profile.batch_size_known),
                      std::back_inserter(notes));
  }
  if (profile.compilation) {
    std::ranges::move(compilation_notes(*profile.compilation), std::back_inserter(notes));
  }
  for (std::string& warning : shown_warnings(profile.warnings, warnings)) {
    notes.push_back({"warning", std::move(warning)});
  }
  if (std::string text = library_note(profile); !text.empty()) {
    notes.push_back({"library", printable(text)});
  }
  if (std::string text = step_work_note(profile); !text.empty()) {
    notes.push_back({"work", printable(text)});
  }
  if (std::string text = length_note(profile); !text.empty()) {
    notes.push_back({"lengths", std::move(text)});
  }
  if (std::string text = energy_note(profile); !text.empty()) {
    notes.push_back({"energy", std::move(text)});
  }
  for (const analysis::Padding& padding : profile.work ? profile.work->paddings : std::vector<analysis::Padding>()) {
    notes.push_back({"padding", padding_text(padding)});
  }
  for (const auto& program : profile.work ? profile.work->own_programs : std::vector<analysis::OwnProgram>()) {
    notes.push_back({"kernel", own_program_text(program, profile.iteration.ms.value)});
  }
  if (std::string text = timing_text(profile); !text.empty()) {
    notes.push_back({"timing", std::move(text)});
  }
  if (std::string text = recording_text(profile); !text.empty()) {
    notes.push_back({"recording", std::move(text)});
  }
  return notes;
}

std::string text_report(const Profile& profile, const analysis::Outlook& outlook, const SourceLines& source,
                        const TextOptions& options) {
  Page page(std::clamp(options.width, kLeastWidth, 140), options.color);
  title(page, profile);
  key_figures(page, profile);
  tables(page, profile, source, options);
  print_notes(page, profile, options.warnings);
  print_observations(page, profile, outlook);
  print_outlook(page, profile, outlook);
  return page.take();
}

std::string notes_text(const Profile& profile, const analysis::Outlook& outlook, int width, ShownWarnings warnings) {
  Page page(width, false);
  print_notes(page, profile, warnings);
  print_outlook(page, profile, outlook);
  return page.take();
}

}  // namespace ridgeline::report
