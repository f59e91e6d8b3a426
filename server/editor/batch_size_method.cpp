#include "editor/batch_size_method.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "analysis/prediction/predictor.h"

namespace ridgeline::editor {

std::vector<BatchSizeChoice> batch_size_choices(const Figures& figures, int now) {
  std::vector<BatchSizeChoice> choices;
  const auto offer = [&](const std::optional<analysis::BatchPrediction>& batch, const std::string& why,
                         bool recommended) {
    if (!batch.has_value() || batch->batch_size == now || batch->fits == false || !batch->peak_bytes.has_value() ||
        !analysis::is_near(figures.outlook().now, batch->batch_size)) {
      return;
    }
    const auto same = std::ranges::find(choices, batch->batch_size,
                                        [](const BatchSizeChoice& choice) { return choice.batch.batch_size; });
    if (same == choices.end()) {
      choices.push_back({why, *batch, recommended});
    } else {
      same->why += same->why.find(why) == std::string::npos ? ", " + why : "";
      same->recommended |= recommended;
    }
  };
  const analysis::Outlook& outlook = figures.outlook();
  if (outlook.fits.obstacle == analysis::Obstacle::kNone) {
    offer(outlook.fits.batch, "largest that fits", false);
  } else if (outlook.fits.obstacle == analysis::Obstacle::kRanOut) {
    offer(outlook.fits.batch, "largest that is known to fit", false);
  }
  offer(outlook.enough.batch, "enough throughput", false);
  const bool is_enough = outlook.conclusion.verdict == analysis::BatchVerdict::kEnough;
  offer(outlook.conclusion.better, is_enough ? "enough throughput" : "more throughput", true);
  const auto power = [&](std::uint32_t size) {
    if (size >= 1 && size <= static_cast<std::uint32_t>(analysis::kMaxBatchSize)) {
      const analysis::BatchPrediction batch = analysis::predict_batch(figures.predictor(), static_cast<int>(size));
      if (batch.samples_per_second.has_value()) {
        offer(batch, "power of two", false);
      }
    }
  };
  const auto unsigned_now = static_cast<std::uint32_t>(std::max(now, 1));
  power(std::bit_floor(unsigned_now - (unsigned_now > 1 ? 1 : 0)));
  power(std::bit_ceil(unsigned_now + 1));
  std::ranges::sort(choices, {}, [](const BatchSizeChoice& choice) { return choice.batch.batch_size; });
  return choices;
}

std::optional<int> batch_size_in_code(const source::EntryPoint& entry_point) {
  const auto& value = entry_point.batch_size.value;
  return value.has_value() && *value >= 1 && *value <= source::kMaxBatchSize ? std::optional(static_cast<int>(*value))
                                                                             : std::nullopt;
}

std::optional<analysis::BatchPrediction> other_batch_in_code(const Snapshot& snapshot) {
  const auto& entry_point = snapshot.source->entry_point;
  if (snapshot.own == nullptr || snapshot.own->figures == nullptr || !entry_point.has_value()) {
    return std::nullopt;
  }
  const Figures& figures = *snapshot.own->figures;
  const std::optional<int> now = batch_size_in_code(*entry_point);
  return now.has_value() && *now != figures.profile().batch_size
             ? std::optional(analysis::predict_batch(figures.predictor(), *now))
             : std::nullopt;
}

base::Result<protocol::WorkspaceEdit> batch_size_edit(const lsp::Document& document, const SourceFacts& source,
                                                      int batch_size) {
  const auto& entry_point = source.entry_point;
  if (!entry_point.has_value()) {
    return base::error("The file defines no providers.");
  }
  const auto edit = source::batch_size_edit(*entry_point, static_cast<std::uint64_t>(std::max(batch_size, 0)));
  if (!edit.has_value()) {
    const std::string_view obstacle = source::describe(entry_point->batch_size.obstacle);
    return base::error("The batch size cannot be edited: " +
                       std::string(obstacle.empty() ? "there is no such batch size" : obstacle) + ".");
  }
  protocol::TextDocumentEdit change{document.uri(), document.version(), {}};
  change.edits.push_back({document.range(edit->span.begin, edit->span.end), edit->replacement});
  return protocol::WorkspaceEdit{{std::move(change)}};
}

}  // namespace ridgeline::editor
