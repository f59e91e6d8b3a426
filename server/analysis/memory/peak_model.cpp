#include "analysis/memory/peak_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/memory/allocation_growth.h"
#include "analysis/memory/envelope.h"
#include "analysis/memory/ledger.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;

constexpr std::size_t kMaxNamed = 8;

/// What the model is fitted to.
struct ModelInputs {
  std::vector<int> sizes;
  const Ledger& ledger;
  std::vector<std::optional<Bend>> bends;  ///< of each allocation
  std::vector<MemoryLabel> labels;         ///< likewise

  Ends ends(std::size_t allocation, const Stretch& stretch, Bound bound) const {
    return ends_of(ledger.allocations[allocation].bytes, bends[allocation], sizes, stretch, bound);
  }
  /// The curve with these ends: the line through them plus (x - left) (x - right) (square + cube (x + left + right)),
  /// which is 0 at both ends.
  Curve curve(const Ends& ends, const Stretch& stretch) const {
    const double left = sizes[stretch.left];
    const double right = sizes[stretch.right];
    const auto& [square, cube] = ends.bend;
    const double slope = (ends.right - ends.left) / (right - left);
    const double bend = square + cube * (left + right);
    return {slope - (left + right) * bend + left * right * cube, ends.left - slope * left + left * right * bend, square,
            cube};
  }
};

void add_to(Ends& sum, const Ends& ends, double factor) {
  sum.left += factor * ends.left;
  sum.right += factor * ends.right;
  sum.bend.square += factor * ends.bend.square;
  sum.bend.cube += factor * ends.bend.cube;
}

bool may_fall(const Ends& change) {
  return change.left < 0 || change.right < 0 || change.bend.square < 0 || change.bend.cube < 0;
}

/// The live bytes at each instant that may be the peak of a stretch. The curves' ids are the instants.
std::vector<Curve> tops_in(const ModelInputs& inputs, const Stretch& stretch, Bound bound) {
  const std::size_t instants = inputs.ledger.instants;
  std::vector<Ends> change(instants);
  for (std::size_t i = 0; i < inputs.ledger.allocations.size(); ++i) {
    const Allocation& allocation = inputs.ledger.allocations[i];
    const Ends ends = inputs.ends(i, stretch, bound);
    add_to(change[allocation.birth], ends, 1);
    if (allocation.death != kNeverFreed) {
      add_to(change[allocation.death], ends, -1);
    }
  }
  std::vector<Curve> tops;
  Ends live;
  for (std::size_t here = 0; here < instants; ++here) {
    add_to(live, change[here], 1);
    if (here + 1 == instants || may_fall(change[here + 1])) {
      tops.push_back(inputs.curve(live, stretch));
      tops.back().id = here;
    }
  }
  return tops;
}

/// What is alive at an instant, by category and line; most bytes at the stretch's right sample first.
std::vector<PeakPart> parts_at(const ModelInputs& inputs, const Stretch& stretch, std::size_t instant) {
  std::map<std::tuple<Category, std::string, std::uint32_t>, Ends> groups;
  for (std::size_t i = 0; i < inputs.ledger.allocations.size(); ++i) {
    const Allocation& allocation = inputs.ledger.allocations[i];
    if (allocation.birth <= instant && (allocation.death == kNeverFreed || allocation.death > instant)) {
      const MemoryLabel& label = inputs.labels[i];
      add_to(groups[{label.category, label.location.file, label.location.line}], inputs.ends(i, stretch, Bound::kValue),
             1);
    }
  }
  std::vector<std::pair<double, PeakPart>> sized;
  for (const auto& [key, ends] : groups) {
    const auto& [category, file, line] = key;
    const Curve part = inputs.curve(ends, stretch);
    sized.push_back({ends.right, {category, {file, line}, part.slope, part.intercept, part.square, part.cube}});
  }
  std::ranges::stable_sort(sized, std::greater(), &std::pair<double, PeakPart>::first);
  std::vector<PeakPart> parts;
  for (auto& [bytes, part] : sized) {
    parts.push_back(std::move(part));
  }
  return parts;
}

/// The peak at every batch size; with `parts`, what is alive at each piece's peak.
std::vector<Piece> peak_everywhere(const ModelInputs& inputs, bool all_known, Bound bound,
                                   std::vector<std::vector<PeakPart>>* parts) {
  std::vector<Piece> pieces;
  for (const Stretch& stretch : stretches_of(inputs.sizes, all_known)) {
    for (const EnvelopePiece& piece : upper_envelope(tops_in(inputs, stretch, bound), stretch.low, stretch.high)) {
      const Curve& curve = piece.curve;
      pieces.push_back({piece.from, curve.slope, curve.intercept, curve.square, curve.cube});
      if (parts != nullptr) {
        parts->push_back(parts_at(inputs, stretch, curve.id));
      }
    }
  }
  return pieces;
}

bool is_straight(const std::optional<Bend>& bend) { return bend && bend->is_straight(); }

/// The allocations that are not linear, by operation and line.
std::vector<NotLinear> named(const ModelInputs& inputs, std::span<const SampledMemory> samples) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, NotLinear> groups;
  for (std::size_t i = 0; i < inputs.ledger.allocations.size(); ++i) {
    if (is_straight(inputs.bends[i])) {
      continue;
    }
    const Allocation& allocation = inputs.ledger.allocations[i];
    const recording::Recording& recording = *samples[allocation.sample].recording;
    const std::uint32_t op = recording.memory_op()[allocation.event()];
    const std::string operation(op == kNone ? "" : recording.string(recording.op_name()[op]));
    const Location& location = inputs.labels[i].location;
    NotLinear& group = groups[{operation, location.file, location.line}];
    group.operation = operation;
    group.location = location;
    group.bytes.resize(allocation.bytes.size());
    for (std::size_t sample = 0; sample < group.bytes.size(); ++sample) {
      group.bytes[sample] += allocation.bytes[sample];
    }
  }
  std::vector<NotLinear> all;
  for (auto& [key, group] : groups) {
    all.push_back(std::move(group));
  }
  const auto spread = [](const NotLinear& group) {
    const auto [low, high] = std::ranges::minmax_element(group.bytes);
    return *high - *low;
  };
  std::ranges::stable_sort(all, std::ranges::greater(), spread);
  all.resize(std::min(all.size(), kMaxNamed));
  return all;
}

/// Whole bytes.
double at(const std::vector<Piece>& pieces, int batch_size) {
  return std::max(0.0, std::round(value_at(pieces, batch_size)));
}

double peak_value(const PeakModel& model, int batch_size) {
  return at(model.value, rounded_up(batch_size, model.parts_of_batch));
}

/// How many backward passes the batch may be divided among; 1 where the samples show that it is not.
int parts_of(std::span<const SampledMemory> samples) {
  const int passes = samples.front().backward_passes;
  const bool may_be = std::ranges::all_of(samples, [&](const SampledMemory& sample) {
    return passes > 1 && sample.backward_passes == passes && sample.batch_size % passes == 0;
  });
  return may_be ? passes : 1;
}

}  // namespace

PeakModel fit_peak_model(std::span<const SampledMemory> samples, const Ledger& ledger) {
  ModelInputs inputs{{}, ledger, {}, {}};
  for (const SampledMemory& sample : samples) {
    inputs.sizes.push_back(sample.batch_size);
  }
  PeakModel model;
  model.checked = samples.size() > 2;
  model.parts_of_batch = parts_of(samples);
  model.allocations = static_cast<int>(ledger.allocations.size());
  for (const Allocation& allocation : ledger.allocations) {
    inputs.bends.push_back(bend_of(allocation.bytes, inputs.sizes));
    inputs.labels.push_back(samples[allocation.sample].label(allocation.event()));
    model.not_linear += is_straight(inputs.bends.back()) ? 0 : 1;
  }
  const bool all_known = std::ranges::all_of(inputs.bends, [](const auto& bend) { return bend.has_value(); });
  model.value = peak_everywhere(inputs, all_known, Bound::kValue, &model.parts);
  if (!all_known) {
    model.low = peak_everywhere(inputs, false, Bound::kLow, nullptr);
    model.high = peak_everywhere(inputs, false, Bound::kHigh, nullptr);
  }
  model.largest_not_linear = named(inputs, samples);
  return model;
}

Measured peak_at(const PeakModel& model, int batch_size) {
  const double value = peak_value(model, batch_size);
  const double low = at(model.low.empty() ? model.value : model.low, batch_size);  // it may not be divided
  const double high = at(model.high.empty() ? model.value : model.high, rounded_up(batch_size, model.parts_of_batch));
  return {value, std::min(value, low), std::max(value, high)};
}

std::vector<PeakPart> peak_parts(const PeakModel& model, int batch_size) {
  const int shown = rounded_up(batch_size, model.parts_of_batch);
  const auto piece = static_cast<std::size_t>(&piece_at(model.value, shown) - model.value.data());
  std::vector<PeakPart> parts;
  for (const PeakPart& part : model.parts[piece]) {
    const Curve curve{part.slope, part.intercept, part.square, part.cube};
    parts.push_back({part.category, part.location, 0, curve.at(shown)});
  }
  return parts;
}

std::array<double, kCategoryCount> peak_by_category(const PeakModel& model, int batch_size) {
  std::array<double, kCategoryCount> bytes{};
  for (const PeakPart& part : peak_parts(model, batch_size)) {
    bytes[static_cast<std::size_t>(part.category)] += part.intercept;
  }
  return bytes;
}

std::optional<int> largest_batch_within(const PeakModel& model, double bytes, int most) {
  for (std::size_t piece = model.value.size(); piece-- > 0;) {
    int low = model.value[piece].from_batch;
    int high = end_of(model.value, piece, most);
    const auto fits = [&](int batch_size) { return peak_value(model, batch_size) <= bytes; };
    if (low > high) {
      continue;
    }
    if (fits(high)) {
      return high;
    }
    if (!fits(low)) {
      continue;  // a piece never falls and rises again, so nothing between two ends that are too large fits
    }
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return low;
  }
  return std::nullopt;
}

int least_batch(const PeakModel& model, int most) {
  int least = 1;
  for (std::size_t piece = 0; piece < model.value.size() && model.value[piece].from_batch <= most; ++piece) {
    for (const int end : {model.value[piece].from_batch, end_of(model.value, piece, most)}) {
      least = peak_value(model, end) < peak_value(model, least) ? end : least;
    }
  }
  return least;
}

bool grows(const PeakModel& model) {
  const Piece& last = model.value.back();
  return last.slope > 0 || last.square > 0 || last.cube > 0;
}

}  // namespace ridgeline::analysis
