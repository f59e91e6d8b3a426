#include "editor/batch_size_method.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "analysis/prediction/predictor.h"
#include "editor/script_arguments.h"

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

std::optional<source::BatchSize> written_batch_size(const SourceFacts& source, const Entry* own) {
  if (source.entry_point.has_value()) {
    return source.entry_point->batch_size;
  }
  if (!source.script_batch_size.has_value() || own == nullptr || own->figures == nullptr) {
    return std::nullopt;
  }
  source::BatchSize size = source.script_batch_size->size;
  if (size.can_be_edited() && arguments_with(own, source.script_batch_size->options, "").has_value()) {
    size.obstacle = source::BatchSizeObstacle::kArgument;
  } else if (size.can_be_edited() && !own->figures->profile_with_sources().batch_size_literal.has_value()) {
    size.obstacle = source::BatchSizeObstacle::kOtherQuantity;
  }
  return size;
}

std::optional<int> batch_size_in_code(const SourceFacts& source, const Entry* own) {
  const auto size = written_batch_size(source, own);
  const bool is_known = size.has_value() && size->can_be_edited() && size->value.has_value();
  return is_known && *size->value >= 1 && *size->value <= source::kMaxBatchSize
             ? std::optional(static_cast<int>(*size->value))
             : std::nullopt;
}

std::optional<analysis::BatchPrediction> other_batch_in_code(const Snapshot& snapshot) {
  if (snapshot.own == nullptr || snapshot.own->figures == nullptr) {
    return std::nullopt;
  }
  const Figures& figures = *snapshot.own->figures;
  const std::optional<int> now = batch_size_in_code(*snapshot.source, snapshot.own.get());
  return now.has_value() && *now != figures.profile().batch_size
             ? std::optional(analysis::predict_batch(figures.predictor(), *now))
             : std::nullopt;
}

base::Result<protocol::WorkspaceEdit> batch_size_edit(const Snapshot& snapshot, int batch_size) {
  const auto now = written_batch_size(*snapshot.source, snapshot.own.get());
  if (!now.has_value()) {
    return base::error(snapshot.source->script.has_value() ? "Profile the script first."
                                                           : "The file defines no providers.");
  }
  const auto edit = source::batch_size_edit(*now, static_cast<std::uint64_t>(std::max(batch_size, 0)));
  if (!edit.has_value()) {
    const std::string_view obstacle = source::describe(now->obstacle);
    return base::error("The batch size cannot be edited: " +
                       std::string(obstacle.empty() ? "there is no such batch size" : obstacle) + ".");
  }
  protocol::TextDocumentEdit change{snapshot.document.uri(), snapshot.document.version(), {}};
  change.edits.push_back({snapshot.range(edit->span), edit->replacement});
  return protocol::WorkspaceEdit{{std::move(change)}};
}

std::optional<std::vector<std::string>> batch_size_arguments(const Snapshot& snapshot, int batch_size) {
  const auto& script = snapshot.source->script_batch_size;
  return script.has_value() ? arguments_with(snapshot.own.get(), script->options, std::to_string(batch_size))
                            : std::nullopt;
}

}  // namespace ridgeline::editor
