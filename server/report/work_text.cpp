#include "report/work_text.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "operations/device/data_sheets.h"
#include "operations/device/tile_model.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::LineWork;
using analysis::Profile;
using analysis::StepWork;
using analysis::WorkCost;

constexpr std::size_t kShownWorkLines = 8;
constexpr std::size_t kShownPaddedModules = 2;
constexpr int kWorkFigures = 10 + 14 + 10 + 24;  ///< columns behind the name
/// Shares of operations or of time that are worth a word.
constexpr double kWorthSaying = 0.02;
constexpr double kWellUsed = 0.95;  ///< of the multiprocessors' waves

/// "12.3 GFLOP", "102 GFLOP/s".
std::string flops_text(double count, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; count >= 999.5 && prefix + 1 < std::size(kPrefixes); ++prefix) {
    count /= 1000;
  }
  return fmt::format("{} {}{}", figure(count), kPrefixes[prefix], unit);
}

std::string flop_rate(const WorkCost& work) { return flops_text(work.flops / (work.ms / 1e3), "FLOP/s"); }

const char* limit_name(const WorkCost& work) { return work.is_compute_bound() ? "compute-bound" : "memory-bound"; }

std::string bounds_device(const analysis::WorkDevice& device) {
  return device.measured ? fmt::format("{}, {}, measured", printable(device.name), plural(device.units, "thread"))
                         : printable(device.name) + ", by its data sheet";
}

/// What the figures leave out.
std::string left_out(const StepWork& work) {
  std::string text;
  if (work.found < work.listed * (1 - kWorthSaying)) {
    text += fmt::format(" Of {} operations, {} were found in the recording: the times are of these.", work.listed,
                        work.found);
  }
  if (work.total.not_modelled_ms > kWorthSaying * work.total.ms) {
    text += fmt::format(" {} of this time is of operations without a model.",
                        share(ratio(work.total.not_modelled_ms, work.total.ms)));
  }
  return text;
}

std::string bounds_sentence(const Profile& profile) {
  const StepWork& work = *profile.work;
  if (!work.device.has_value()) {
    const bool is_imported = analysis::is_imported(profile);
    return is_imported && profile.environment.device == "cpu" ? " How close they come to the limits is not known: a "
                                                                "trace does not say which processor it was recorded on."
           : profile.environment.device == "cpu"
               ? " How close they come to the limits is not known: `ridgeline machine measure` measures what this "
                 "processor can do, and "
                 "the next "
                 "profile compares."
               : " How close they come to the limits is not known: there is no data sheet of this device.";
  }
  std::string text;
  if (const auto attained = attained_text(work.total)) {
    text += fmt::format(" They attain {} ({}).", *attained, bounds_device(*work.device));
  }
  if (work.model_flop_utilisation.has_value()) {
    text += fmt::format(" Model FLOP utilisation: {}.", share(*work.model_flop_utilisation));
  }
  return text;
}

}  // namespace

std::optional<std::string> attained_text(const WorkCost& work) {
  const auto attained = work.attained();
  return attained ? std::optional(share(*attained) + " of the roofline, " + limit_name(work)) : std::nullopt;
}

std::string rate_text(const WorkCost& work) {
  if (work.flops <= 0 || work.ms <= 0) {
    return {};
  }
  const auto intensity = work.intensity();
  return flop_rate(work) + (intensity ? ", " + figure(*intensity) + " FLOP per byte" : "");
}

const LineWork* work_of_line(const Profile& profile, const analysis::Location& location) {
  if (!profile.work.has_value()) {
    return nullptr;
  }
  const auto found = std::ranges::find(profile.work->lines, location, &LineWork::location);
  return found == profile.work->lines.end() ? nullptr : &*found;
}

std::string padding_text(const analysis::Padding& padding) {
  const std::string names = padding.modules.empty() ? "linear layers" : printable(padding.modules.front());
  const std::string others =
      padding.modules.size() > 1 ? fmt::format(" and {} more", padding.modules.size() - 1) : std::string();
  const auto left_of = [&](double saved_ms) { return 1 - ratio(saved_ms, padding.ms); };
  const double fill = padding.last_vector_fill();
  const std::string cause =
      fill < 1 ? fmt::format(", which leaves the last vector of {} {} full", analysis::kPaddingVector, share(fill))
               : std::string();
  std::string text = fmt::format(
      "out_features of {}{} is {}{}: the products with this width take {} of the step. With {} they are predicted to "
      "take {:.2f}× ({:.2f}–{:.2f})",
      names, others, padding.size, cause, duration(padding.ms), padding.padded, left_of(padding.saved_ms),
      left_of(padding.saved_high_ms), left_of(padding.saved_low_ms));
  if (padding.modules.empty()) {
    return text + ".";
  }
  text += "; `ridgeline what-if ENTRY --try";
  for (std::size_t i = 0; i < std::min<std::size_t>(padding.modules.size(), kShownPaddedModules); ++i) {
    text += fmt::format(" --change set:{}:out_features={}", printable(padding.modules[i]), padding.padded);
  }
  return text + (padding.modules.size() > kShownPaddedModules ? " …" : "") + "` tries it.";
}

const analysis::Padding* padding_of_line(const Profile& profile, const analysis::Location& location) {
  if (!profile.work.has_value()) {
    return nullptr;
  }
  const auto found = std::ranges::find(profile.work->paddings, location, &analysis::Padding::location);
  return found == profile.work->paddings.end() ? nullptr : &*found;
}

std::string own_program_text(const analysis::OwnProgram& program, double iteration_ms) {
  return fmt::format(
      "A program of your own for {} takes {:.2f}× ({:.2f}–{:.2f}) of torch's time, measured alone on this processor. "
      "The operation takes {} of the step, of which it is predicted to save {} ({} of the step); `ridgeline kernel "
      "--of PROFILE --emit-folder FOLDER` writes it.",
      printable(program.operation), program.ratio, program.ratio_low, program.ratio_high, duration(program.ms),
      duration(program.saved_ms), share(ratio(program.saved_ms, iteration_ms)));
}

const analysis::OwnProgram* own_program_of_line(const Profile& profile, const analysis::Location& location) {
  if (!profile.work.has_value() || location.file.empty()) {
    return nullptr;
  }
  const auto found = std::ranges::find(profile.work->own_programs, location, &analysis::OwnProgram::location);
  return found == profile.work->own_programs.end() ? nullptr : &*found;
}

std::string tile_text(const analysis::OperationCost& operation, const analysis::WorkDevice& device) {
  const auto sheet = device.measured ? std::nullopt : operations::find_data_sheet(device.name);
  const auto call = operations::parse_call(operation.key);
  const auto product = call ? operations::product_of(*call) : std::nullopt;
  const auto tile = sheet && product ? operations::estimate_product(*product, *sheet) : std::nullopt;
  if (!tile || tile->used() > kWellUsed) {
    return {};
  }
  return fmt::format(
      "By the white-box model, tiles of {} × {} suit the costliest product best: {} of what they compute is used, and "
      "in "
      "the last of {} {} of the multiprocessors work.",
      tile->tile_rows, tile->tile_columns, share(tile->useful), plural(static_cast<double>(tile->waves), "wave"),
      share(tile->last_wave_fill));
}

std::string step_work_note(const Profile& profile) {
  if (!profile.work.has_value()) {
    return {};
  }
  const StepWork& work = *profile.work;
  if (!work.not_listed.empty()) {
    return "What the operations compute is not known: " + work.not_listed;
  }
  return fmt::format("{} and {} of tensors in one iteration.", flops_text(work.total.flops, "FLOP"),
                     bytes(work.total.bytes)) +
         bounds_sentence(profile) + left_out(work);
}

void work_table(Page& page, const Profile& profile, const Places& places, const SourceLines& source) {
  if (!profile.work.has_value() || !profile.work->device.has_value()) {
    return;
  }
  std::vector<LineWork> lines = profile.work->lines;
  std::erase_if(lines, [&](const LineWork& line) {
    return !line.work.attained() || line.work.ms < kNegligible * profile.iteration.ms.value;
  });
  lines.resize(std::min(lines.size(), kShownWorkLines));
  if (lines.empty()) {
    return;
  }
  const int name_width = page.width() - 2 - kWorkFigures;
  page.line();
  page.line("  " + page.bold(left("OPERATIONS OF", name_width) + right("TIME", 10) + right("RATE", 14) +
                             right("FLOP/B", 10) + "  " + left("OF THE ROOFLINE", 22)));
  for (const LineWork& line : lines) {
    std::string code = printable(source ? source(line.location).value_or("") : "");
    code.erase(0, code.find_first_not_of(' '));
    const auto intensity = line.work.intensity();
    page.line("  " + left(clip(places.name(line.location) + "  " + code, name_width - 2), name_width) +
              right(duration(line.work.ms), 10) + right(flop_rate(line.work), 14) +
              right(intensity ? figure(*intensity) : "–", 10) + "  " + left(share(*line.work.attained()), 7) +
              limit_name(line.work));
  }
}

}  // namespace ridgeline::report
