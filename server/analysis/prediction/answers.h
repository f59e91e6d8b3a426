// Answers about batch sizes: the inverses of the models. Pure.
#pragma once

#include <vector>

#include "analysis/prediction/predictor.h"
#include "analysis/values/prediction.h"

namespace ridgeline::analysis {

/// kBatchSize: that batch size. kThroughput, kThroughputShare, kBalance: the smallest that gives at least so much.
/// kMemory: the largest that needs at most so much. Values must be positive and finite, a batch size whole and at most
/// kMaxBatchSize. Where a batch size was measured, its measurement decides and not the model. The figures of an answer
/// are those of predict_batch, so asking back with one of them gives the same batch size, or a smaller one that was
/// measured to give as much.
Answer answer(const Predictor& predictor, const Question& question);

/// Batch sizes by which a bar may be moved: ascending, each at most a sixty-fourth above the one before it, from 1 to
/// twice the largest that fits (kFarthest times the largest sampled, where that is not known). Each that was
/// measured is among them.
std::vector<int> batch_size_ladder(const Predictor& predictor);

/// Of the profile's batch size. Without a capacity `fits` has neither a batch size nor an obstacle.
Outlook outlook_of(const Predictor& predictor, const Profile& profile);

/// The same of a profile whose models are fitted. On a device it replays the step some ten times: compute it once.
Outlook outlook_of(const Profile& profile);

}  // namespace ridgeline::analysis
