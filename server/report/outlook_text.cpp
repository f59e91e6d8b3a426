#include "report/outlook_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/places.h"
#include "report/rendered_prediction.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::BatchPrediction;
using analysis::Estimate;
using analysis::Outlook;
using analysis::Profile;

constexpr double kGoodFit = 0.9;     // r² below which a line is not worth an answer
constexpr double kNamedShare = 0.1;  // of a growth: what is smaller is not named
constexpr std::size_t kNamedLines = 3;

/// " (extrapolated)", unless the batch size ran.
std::string beyond(const BatchPrediction& batch) {
  return batch.extrapolated && !batch.measured ? " (extrapolated)" : "";
}

/// " by prediction (not checked beyond a batch of 512)", unless so large a batch ran.
std::string until_run(const analysis::Answer& answer) {
  return analysis::is_beyond_checked_memory(answer) ? " by prediction (" + not_checked_text(answer) + ")" : "";
}

std::string memory_of(const BatchPrediction& batch) { return unbroken(needed_memory(batch)); }

/// "≈ 1.31× the throughput (1.25 to 1.38)".
std::string gain_text(const Estimate& gain) {
  const auto times = [](double value) { return figure(value) + "×"; };
  const bool is_bound =
      gain.certainty == analysis::Certainty::kAtLeast || gain.certainty == analysis::Certainty::kAtMost;
  const std::string interval =
      gain.interval && gain.interval->high && !is_bound
          ? fmt::format(" ({} to {})", figure(gain.interval->low), figure(*gain.interval->high))
          : "";
  return estimated(gain, times) + " the throughput" + unbroken(interval);
}

/// "64 gives ≈ 1.31× the throughput (1.25 to 1.38) and needs ≈ 2.30 GiB (extrapolated)".
std::string larger_text(const BatchPrediction& larger, const Estimate& gain, std::string_view gives) {
  const std::string throughput = fmt::format("{} {} {}", larger.batch_size, gives, gain_text(gain));
  return analysis::best_peak_bytes(larger)
             ? throughput + (larger.measured ? " and took " : " and needs ") + memory_of(larger) + beyond(larger)
             : throughput + beyond(larger);
}

std::string larger_trains_faster(const Profile& profile, const analysis::BatchConclusion& conclusion) {
  const BatchPrediction& larger = *conclusion.larger;
  if (conclusion.better) {
    return "a larger batch trains faster: " + larger_text(larger, *conclusion.gain, larger.measured ? "gave" : "gives");
  }
  const std::string would = fmt::format("a larger batch would train faster, but {} ", larger.batch_size);
  if (larger.failed) {
    return would + (larger.fits == false ? "ran out of memory" : "failed when it was run");
  }
  return larger.fits == false
             ? fmt::format("{}does not fit: it would need {}; this device has {}{}", would, memory_of(larger),
                           unbroken(bytes(static_cast<double>(profile.capacity_bytes))), beyond(larger))
             : "a larger batch trains faster: " + larger_text(larger, *conclusion.gain, "would give");
}

/// The line's place, or the item's name, and its share of a growth.
struct Grower {
  std::string name;
  double share = 0;
};

/// "entry.py:12 takes 43 %, net.py:7 21 %", those that take most.
std::string growers_text(std::vector<Grower> growers) {
  std::stable_sort(growers.begin(), growers.end(), [](const Grower& a, const Grower& b) { return a.share > b.share; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamedLines, growers.size()) && growers[i].share >= kNamedShare; ++i) {
    text +=
        (i == 0 ? "" : ", ") + growers[i].name + (i == 0 ? " takes " : "\u00A0") + unbroken(share(growers[i].share));
  }
  return text;
}

/// Which lines the time of a further sample and the fixed time are spent on.
std::string growth_text(const Profile& profile) {
  constexpr double kMostNoise = 0.1;  // of the model: beyond it the shares of lines are chance
  if (profile.time_model->relative_sd > kMostNoise) {
    return {};
  }
  const Places places(profile);
  const analysis::Piece& whole = piece_at(profile.time_model->pieces, profile.batch_size);
  const auto text_of = [&](double analysis::Piece::*field) {
    std::vector<Grower> growers;
    for (const analysis::LineCost& line : profile.lines) {
      if (line.self_model.empty()) {
        continue;
      }
      growers.push_back(
          {places.name(line.location), piece_at(line.self_model, profile.batch_size).*field / whole.*field});
    }
    return growers_text(std::move(growers));
  };
  std::string text;
  if (whole.slope > 0) {
    const std::string lines = text_of(&analysis::Piece::slope);
    text = fmt::format("{} for each further sample{}", unbroken(duration(whole.slope)),
                       lines.empty() ? "" : ", of which " + lines);
  }
  if (whole.intercept > kNamedShare * profile.iteration.ms.value) {
    const std::string lines = text_of(&analysis::Piece::intercept);
    text += fmt::format("{}{} for any batch{}", text.empty() ? "" : "; ", unbroken(duration(whole.intercept)),
                        lines.empty() ? "" : ", of which " + lines);
  }
  return text;
}

/// Which line makes the memory grow faster than the batch.
std::string fast_growth_text(const Profile& profile) {
  if (!profile.peak_model) {
    return {};
  }
  const auto& model = *profile.peak_model;
  const auto piece = static_cast<std::size_t>(&piece_at(model.value, 2 * profile.batch_size) - model.value.data());
  const analysis::PeakPart* most = nullptr;
  double bytes_most = 0;
  const double size = profile.batch_size;
  for (const analysis::PeakPart& part : model.parts[piece]) {
    const double bent = size * size * (part.square + size * part.cube);
    if (bent > bytes_most) {
      bytes_most = bent;
      most = &part;
    }
  }
  if (most == nullptr || bytes_most < kNamedShare * static_cast<double>(profile.peak_bytes)) {
    return {};
  }
  const Places places(profile);
  return fmt::format("the memory grows with the {} of the batch{}", most->cube > 0 ? "cube" : "square",
                     most->location.file.empty() ? "" : ", most of all at " + places.name(most->location));
}

std::string bend_text(const Profile& profile) {
  std::string sizes;
  const auto& pieces = profile.time_model->pieces;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    sizes += fmt::format("{}{}", i == 1 ? "" : i + 1 == pieces.size() ? " and " : ", ", pieces[i].from_batch);
  }
  return sizes.empty() ? "" : "the time bends at a batch of " + sizes + ": it is modelled in straight pieces";
}

/// How far a prediction was off, and whether its interval held.
std::string off_text(const std::optional<Estimate>& predicted, double real) {
  if (!predicted) {
    return unbroken("not predicted");
  }
  const double off = ratio(predicted->value - real, real);
  const bool held = !predicted->interval || (predicted->interval->low <= real &&
                                             (!predicted->interval->high || *predicted->interval->high >= real));
  const std::string text = off == 0
                               ? "predicted exactly"
                               : "predicted " + unbroken(share(std::abs(off))) + (off < 0 ? " too low" : " too high");
  return text + (held ? "" : ", beyond its interval");
}

void add_checks(const Profile& profile, std::vector<Item>& notes) {
  for (const analysis::Check& check : profile.checks) {
    const std::string reserved =
        check.peak_reserved_bytes
            ? fmt::format("; {} reserved, {}", unbroken(bytes(static_cast<double>(*check.peak_reserved_bytes))),
                          off_text(check.predicted_reserved_bytes
                                       ? std::optional(Estimate{*check.predicted_reserved_bytes, std::nullopt})
                                       : std::nullopt,
                                   static_cast<double>(*check.peak_reserved_bytes)))
            : "";
    notes.push_back(
        {check.tried ? "tried" : "checked",
         fmt::format("batch {}{}: {} measured, {}; {} measured, {}{}", check.time.batch_size,
                     check.extrapolated ? " (extrapolated)" : "", unbroken(duration(check.time.ms.value)),
                     off_text(check.predicted_ms, check.time.ms.value),
                     unbroken(bytes(static_cast<double>(check.peak_bytes))),
                     off_text(check.predicted_peak_bytes, static_cast<double>(check.peak_bytes)), reserved)});
  }
}

}  // namespace

std::string conclusion_text(const Profile& profile, const Outlook& outlook) {
  const analysis::BatchConclusion& conclusion = outlook.conclusion;
  switch (conclusion.verdict) {
    case analysis::BatchVerdict::kUnknown:
      return {};
    case analysis::BatchVerdict::kUnsure:
      return "the timing is too unreliable to compare batch sizes: profile again when the machine is idle";
    case analysis::BatchVerdict::kUnclear:
      return "whether a larger batch trains faster is not clear: " +
             larger_text(*conclusion.larger, *conclusion.gain, conclusion.larger->measured ? "gave" : "would give");
    case analysis::BatchVerdict::kLarger:
      return larger_trains_faster(profile, conclusion);
    case analysis::BatchVerdict::kEnough:
      break;
  }
  const std::string enough = unbroken(share(analysis::kEnoughThroughput)) + " of the greatest throughput";
  if (conclusion.better) {
    return fmt::format("a batch of {} is enough: it has {} and needs {}", conclusion.better->batch_size, enough,
                       memory_of(*conclusion.better)) +
           beyond(*conclusion.better);
  }
  if (outlook.enough.batch && outlook.enough.batch->batch_size <= profile.batch_size) {
    return fmt::format("a larger batch brings little: {} has {} or more", profile.batch_size, enough);
  }
  return "a larger batch brings little: " +
         larger_text(*conclusion.larger, *conclusion.gain, conclusion.larger->measured ? "gave" : "would give");
}

std::string fits_text(const Profile& profile, const Outlook& outlook) {
  if (!outlook.fits.batch) {
    return {};
  }
  const int size = outlook.fits.batch->batch_size;
  const std::string device = unbroken(bytes(static_cast<double>(profile.capacity_bytes)));
  switch (outlook.fits.obstacle) {
    case analysis::Obstacle::kNone:
      return fmt::format("a batch of {} is the largest that fits into {}{}", size, device, until_run(outlook.fits));
    case analysis::Obstacle::kTooFar:
      return fmt::format("a batch of {} fits into {}{}; larger ones are too far from what was sampled", size, device,
                         until_run(outlook.fits));
    case analysis::Obstacle::kRanOut:
      return fmt::format("a batch of {} fits into {}; {} ran out of memory", size, device,
                         outlook.fits.failed.front().batch_size);
    default:
      return {};
  }
}

std::vector<Item> outlook_notes(const Profile& profile, const Outlook& outlook) {
  std::vector<Item> notes;
  const auto add = [&](std::string label, const std::string& text) {
    if (!text.empty()) {
      notes.push_back({std::move(label), text + "."});
    }
  };
  const bool timed = profile.time_model && profile.time_model->r2 >= kGoodFit;
  add("batch size", conclusion_text(profile, outlook));
  add("fits", fits_text(profile, outlook));
  add("memory", fast_growth_text(profile));
  if (timed && !outlook.refitted) {
    add("grows", growth_text(profile));
    add("bends", bend_text(profile));
  }
  add_checks(profile, notes);
  return notes;
}

void print_outlook(Page& page, const Profile& profile, const Outlook& outlook) {
  const std::vector<Item> notes = outlook_notes(profile, outlook);
  if (!notes.empty()) {
    page.line();
  }
  for (const Item& note : notes) {
    page.prose(note.word, note.value, kBeside);
  }
}

}  // namespace ridgeline::report
