#include "report/outlook_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
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

constexpr double kGoodFit = 0.9;      // r² below which a line is not worth an answer
constexpr double kHardlyMore = 1.02;  // times the throughput
constexpr double kNamedShare = 0.1;   // of a growth: what is smaller is not named
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

/// "1.31×", as sure as the throughput that it is of.
std::string ratio_text(const BatchPrediction& batch, double gain) {
  const auto certainty = batch.measured || batch.samples_per_second->certainty == analysis::Certainty::kKnown
                             ? analysis::Certainty::kKnown
                             : analysis::Certainty::kAbout;
  return estimated({gain, std::nullopt, certainty}, [](double times) { return figure(times) + "×"; });
}

/// Times the throughput: of measurements where both ran, else of model to model, so that what the fit misses here is
/// not taken for a gain.
std::optional<double> gain_of(const BatchPrediction& twice, const BatchPrediction& now) {
  if (twice.measured && now.measured) {
    return ratio(twice.measured->samples_per_second, now.measured->samples_per_second);
  }
  if (!twice.samples_per_second || !now.samples_per_second) {
    return std::nullopt;
  }
  return ratio(twice.samples_per_second->value, now.samples_per_second->value);
}

std::string twice_text(const Profile& profile, const Outlook& outlook) {
  const auto& now = outlook.now.batch;
  const auto& twice = outlook.twice.batch;
  const auto failed = [&](const analysis::Skipped& skipped) { return skipped.batch_size <= twice->batch_size; };
  if (!now || !twice || !analysis::best_peak_bytes(*twice) ||
      std::any_of(profile.skipped.begin(), profile.skipped.end(), failed)) {
    return {};
  }
  const std::optional<double> gain = gain_of(*twice, *now);
  if (!gain) {
    return {};
  }
  const std::string memory = memory_of(*twice);
  if (twice->fits == false) {
    return fmt::format("would need {}; this device has {}", memory,
                       unbroken(bytes(static_cast<double>(profile.capacity_bytes)))) +
           beyond(*twice);
  }
  const std::string throughput = *gain < kHardlyMore ? "hardly more" : ratio_text(*twice, *gain) + " the";
  if (twice->measured && now->measured) {
    return fmt::format("gave {} throughput and took {}", throughput, memory);
  }
  return fmt::format("would give {} throughput and needs {}", throughput, memory) + beyond(*twice);
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

std::vector<Item> outlook_notes(const Profile& profile, const Outlook& outlook) {
  std::vector<Item> notes;
  const auto add = [&](std::string label, const std::string& text) {
    if (!text.empty()) {
      notes.push_back({std::move(label), text + "."});
    }
  };
  const bool timed = profile.time_model && profile.time_model->r2 >= kGoodFit;
  if (timed) {
    add(fmt::format("batch {}", 2 * profile.batch_size), twice_text(profile, outlook));
  }
  if (timed && outlook.enough.batch) {
    const BatchPrediction& enough = *outlook.enough.batch;
    add("enough", fmt::format("a batch of {} has {} of the greatest throughput and needs {}", enough.batch_size,
                              unbroken(share(analysis::kEnoughThroughput)), memory_of(enough)) +
                      beyond(enough));
  }
  if (outlook.fits.batch && outlook.fits.obstacle == analysis::Obstacle::kNone) {
    const BatchPrediction& fits = *outlook.fits.batch;
    add("fits", fmt::format("a batch of {} is the largest that fits into {}{}", fits.batch_size,
                            unbroken(bytes(static_cast<double>(profile.capacity_bytes))), until_run(outlook.fits)));
  } else if (outlook.fits.batch && outlook.fits.obstacle == analysis::Obstacle::kTooFar) {
    add("fits", fmt::format("a batch of {} fits into {}{}; larger ones are too far from what was sampled",
                            outlook.fits.batch->batch_size,
                            unbroken(bytes(static_cast<double>(profile.capacity_bytes))), until_run(outlook.fits)));
  }
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
