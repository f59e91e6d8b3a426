#include "analysis/peak_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/envelope.h"
#include "analysis/ledger.h"

namespace ridgeline::analysis {

namespace {

using recording::kNone;

constexpr std::size_t kNamed = 8;

/// Whether all samples lie on the line through the first and the last, exactly, and it does not fall.
bool is_linear(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const auto rise = static_cast<double>(bytes.back()) - static_cast<double>(bytes.front());
  const double run = sizes.back() - sizes.front();
  if (rise < 0) {
    return false;
  }
  for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
    const auto part = static_cast<double>(bytes[i]) - static_cast<double>(bytes.front());
    if (part * run != rise * (sizes[i] - sizes.front())) {
      return false;
    }
  }
  return true;
}

/// One stretch of batch sizes, and the two samples that lines are drawn through there.
struct Stretch {
  int low = 1;
  int high = 0;
  std::size_t left = 0;
  std::size_t right = 0;
  bool inside = false;  ///< between two samples
};

std::vector<Stretch> stretches_of(const std::vector<int>& sizes, bool all_linear) {
  const int most = std::numeric_limits<int>::max();
  const std::size_t last = sizes.size() - 1;
  if (all_linear) {
    return {{1, most, 0, last, false}};
  }
  std::vector<Stretch> stretches;
  if (sizes.front() > 1) {
    stretches.push_back({1, sizes.front() - 1, 0, 1, false});
  }
  for (std::size_t i = 0; i < last; ++i) {
    stretches.push_back({sizes[i], i + 1 == last ? sizes[last] : sizes[i + 1] - 1, i, i + 1, true});
  }
  stretches.push_back({sizes.back() + 1, most, last - 1, last, false});
  return stretches;
}

/// Beyond the samples a size may lie so many times as far off as the samples themselves lie off their line.
constexpr double kDoubt = 4;

/// The most that a sample lies off the line through the first and the last.
double departure(const std::vector<std::uint64_t>& bytes, const std::vector<int>& sizes) {
  const double rise = static_cast<double>(bytes.back()) - static_cast<double>(bytes.front());
  double most = 0;
  for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
    const double part = static_cast<double>(sizes[i] - sizes.front()) / (sizes.back() - sizes.front());
    most = std::max(most, std::abs(static_cast<double>(bytes[i]) - static_cast<double>(bytes.front()) - part * rise));
  }
  return most;
}

enum class Bound : std::uint8_t { kValue, kLow, kHigh };

/// A line through two points: its values at the left and right sample of a stretch.
struct Ends {
  double left = 0;
  double right = 0;
};

/// The bytes of an allocation in a stretch. What is linear has one line. Of the rest, inside: the line between the
/// neighbours, bounded by the lesser and the greater of them; outside: that line as far as it grows, bounded by what
/// stays as it is and what vanishes with the batch or grows in proportion to it.
Ends ends_of(const std::vector<std::uint64_t>& bytes, bool linear, const std::vector<int>& sizes,
             const Stretch& stretch, Bound bound) {
  const auto left = static_cast<double>(bytes[stretch.left]);
  const auto right = static_cast<double>(bytes[stretch.right]);
  if (linear) {
    return {left, right};
  }
  if (stretch.inside) {
    const double constant = bound == Bound::kLow ? std::min(left, right) : std::max(left, right);
    return bound == Bound::kValue ? Ends{left, right} : Ends{constant, constant};
  }
  const bool below = stretch.high < sizes.front();
  const double near = below ? left : right;
  const double ratio = static_cast<double>(sizes[stretch.left]) / sizes[stretch.right];
  const Ends constant{near, near};
  const Ends proportional = below ? Ends{left, left / ratio} : Ends{right * ratio, right};
  const Ends chord{left, right};
  const bool shrinks = right < left;
  const bool steep = chord.right - chord.left > proportional.right - proportional.left;
  if (bound == Bound::kValue) {
    return shrinks || (below && steep) ? constant : chord;
  }
  if (bound == Bound::kLow) {
    return shrinks || below ? Ends{0, 0} : constant;
  }
  const Ends ends = below ? (shrinks ? chord : constant) : (steep ? chord : proportional);
  const double doubt = kDoubt * departure(bytes, sizes);
  return {ends.left + doubt, ends.right + doubt};
}

/// What the model is made of.
struct Material {
  std::vector<int> sizes;
  Ledger ledger;
  std::vector<bool> linear;         ///< of each allocation
  std::vector<MemoryLabel> labels;  ///< likewise

  Ends ends(std::size_t allocation, const Stretch& stretch, Bound bound) const {
    return ends_of(ledger.allocations[allocation].bytes, linear[allocation], sizes, stretch, bound);
  }
  /// Slope and intercept of what has these ends in a stretch.
  StraightLine line(const Ends& ends, const Stretch& stretch) const {
    const double slope = (ends.right - ends.left) / (sizes[stretch.right] - sizes[stretch.left]);
    return {slope, ends.left - slope * sizes[stretch.left]};
  }
};

/// The live bytes at each instant that may be the peak of a stretch. The lines' ids are the instants.
std::vector<StraightLine> tops_in(const Material& material, const Stretch& stretch, Bound bound) {
  const std::size_t instants = material.ledger.instants;
  std::vector<Ends> change(instants);
  for (std::size_t i = 0; i < material.ledger.allocations.size(); ++i) {
    const Allocation& allocation = material.ledger.allocations[i];
    const Ends ends = material.ends(i, stretch, bound);
    change[allocation.birth].left += ends.left;
    change[allocation.birth].right += ends.right;
    if (allocation.death != kNeverFreed) {
      change[allocation.death].left -= ends.left;
      change[allocation.death].right -= ends.right;
    }
  }
  std::vector<StraightLine> tops;
  Ends live;
  for (std::size_t here = 0; here < instants; ++here) {
    live.left += change[here].left;
    live.right += change[here].right;
    if (here + 1 == instants || change[here + 1].left < 0 || change[here + 1].right < 0) {
      tops.push_back(material.line(live, stretch));
      tops.back().id = here;
    }
  }
  return tops;
}

/// What is alive at an instant, by category and line; most bytes at the stretch's right sample first.
std::vector<PeakPart> parts_at(const Material& material, const Stretch& stretch, std::size_t instant) {
  std::map<std::tuple<Category, std::string, std::uint32_t>, Ends> groups;
  for (std::size_t i = 0; i < material.ledger.allocations.size(); ++i) {
    const Allocation& allocation = material.ledger.allocations[i];
    if (allocation.birth <= instant && (allocation.death == kNeverFreed || allocation.death > instant)) {
      const MemoryLabel& label = material.labels[i];
      Ends& group = groups[{label.category, label.location.file, label.location.line}];
      const Ends ends = material.ends(i, stretch, Bound::kValue);
      group.left += ends.left;
      group.right += ends.right;
    }
  }
  std::vector<std::pair<double, PeakPart>> sized;
  for (const auto& [key, ends] : groups) {
    const auto& [category, file, line] = key;
    const StraightLine part = material.line(ends, stretch);
    sized.push_back({ends.right, {category, {file, line}, part.slope, part.intercept}});
  }
  std::ranges::stable_sort(sized, std::greater(), &std::pair<double, PeakPart>::first);
  std::vector<PeakPart> parts;
  for (auto& [bytes, part] : sized) {
    parts.push_back(std::move(part));
  }
  return parts;
}

/// The peak at every batch size; with `parts`, what is alive at each piece's peak.
std::vector<Piece> peak_everywhere(const Material& material, bool all_linear, Bound bound,
                                   std::vector<std::vector<PeakPart>>* parts) {
  std::vector<Piece> pieces;
  for (const Stretch& stretch : stretches_of(material.sizes, all_linear)) {
    for (const EnvelopePiece& piece : upper_envelope(tops_in(material, stretch, bound), stretch.low, stretch.high)) {
      pieces.push_back({piece.from, piece.line.slope, piece.line.intercept});
      if (parts != nullptr) {
        parts->push_back(parts_at(material, stretch, piece.line.id));
      }
    }
  }
  return pieces;
}

/// The allocations that are not linear, by operation and line.
std::vector<NotLinear> named(const Material& material, std::span<const SampledMemory> samples) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, NotLinear> groups;
  for (std::size_t i = 0; i < material.ledger.allocations.size(); ++i) {
    if (material.linear[i]) {
      continue;
    }
    const Allocation& allocation = material.ledger.allocations[i];
    const recording::Recording& recording = *samples[allocation.sample].recording;
    const std::uint32_t op = recording.memory_op()[allocation.event];
    const std::string operation(op == kNone ? "" : recording.string(recording.op_name()[op]));
    const Location& location = material.labels[i].location;
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
  all.resize(std::min(all.size(), kNamed));
  return all;
}

/// Whole bytes.
double at(const std::vector<Piece>& pieces, int batch_size) {
  return std::max(0.0, std::round(value_at(pieces, batch_size)));
}

}  // namespace

std::optional<PeakModel> fit_peak_model(std::span<const SampledMemory> samples, std::string& why_not) {
  std::vector<SampledMemory> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted, {}, &SampledMemory::batch_size);
  if (sorted.size() < 2) {
    why_not = "it needs two batch sizes";
    return std::nullopt;
  }
  Material material;
  std::vector<const recording::Recording*> recordings;
  for (const SampledMemory& sample : sorted) {
    material.sizes.push_back(sample.batch_size);
    recordings.push_back(sample.recording);
  }
  std::optional<Ledger> ledger = match_allocations(recordings, why_not);
  if (!ledger.has_value()) {
    return std::nullopt;
  }
  material.ledger = std::move(*ledger);
  PeakModel model;
  model.checked = sorted.size() > 2;
  model.allocations = static_cast<int>(material.ledger.allocations.size());
  for (const Allocation& allocation : material.ledger.allocations) {
    material.linear.push_back(is_linear(allocation.bytes, material.sizes));
    material.labels.push_back(sorted[allocation.sample].label(allocation.event));
    model.not_linear += material.linear.back() ? 0 : 1;
  }
  const bool all_linear = model.not_linear == 0;
  model.value = peak_everywhere(material, all_linear, Bound::kValue, &model.parts);
  if (!all_linear) {
    model.low = peak_everywhere(material, false, Bound::kLow, nullptr);
    model.high = peak_everywhere(material, false, Bound::kHigh, nullptr);
  }
  model.largest_not_linear = named(material, sorted);
  return model;
}

Measured peak_at(const PeakModel& model, int batch_size) {
  const double value = at(model.value, batch_size);
  return {value, model.low.empty() ? value : std::min(value, at(model.low, batch_size)),
          model.high.empty() ? value : std::max(value, at(model.high, batch_size))};
}

std::array<double, kCategoryCount> peak_by_category(const PeakModel& model, int batch_size) {
  const auto piece = static_cast<std::size_t>(&piece_at(model.value, batch_size) - model.value.data());
  std::array<double, kCategoryCount> bytes{};
  for (const PeakPart& part : model.parts[piece]) {
    bytes[static_cast<std::size_t>(part.category)] += part.intercept + part.slope * batch_size;
  }
  return bytes;
}

std::optional<int> largest_batch_within(const PeakModel& model, double bytes, int most) {
  for (std::size_t piece = model.value.size(); piece-- > 0;) {
    int low = model.value[piece].from_batch;
    int high = end_of(model.value, piece, most);
    const auto fits = [&](int batch_size) { return at(model.value, batch_size) <= bytes; };
    if (low > high) {
      continue;
    }
    if (fits(high)) {
      return high;
    }
    if (!fits(low)) {
      continue;  // a piece is straight: nothing between two ends that are too much
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
      least = at(model.value, end) < at(model.value, least) ? end : least;
    }
  }
  return least;
}

bool grows(const PeakModel& model) { return model.value.back().slope > 0; }

}  // namespace ridgeline::analysis
