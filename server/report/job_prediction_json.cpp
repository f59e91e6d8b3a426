#include <nlohmann/json.hpp>

#include "report/measured_json.h"
#include "report/rendered_job_prediction.h"

namespace ridgeline::report {

namespace {

using Json = nlohmann::ordered_json;

Json bucket_json(const analysis::PredictedBucket& bucket) {
  Json line = nullptr;
  if (!bucket.line.file.empty()) {
    line = {{"file", bucket.line.file}, {"line", bucket.line.line}};
  }
  return {{"bytes", bucket.bytes},
          {"gradients", bucket.gradients},
          {"firstParameter", bucket.first},
          {"lastParameter", bucket.last},
          {"line", line},
          {"readyMs", bucket.ready_ms},
          {"startMs", bucket.start_ms},
          {"endMs", bucket.end_ms},
          {"exposedMs", bucket.exposed_ms}};
}

Json training_json(const analysis::PredictedTraining& training) {
  Json buckets = Json::array();
  for (const auto& bucket : training.buckets) {
    buckets.push_back(bucket_json(bucket));
  }
  return {{"bucketBytes", value_or_null(training.bucket_bytes)},
          {"overlap", training.overlap},
          {"sharding", training.sharding},
          {"stepMs", measured_json(training.step_ms)},
          {"samplesPerSecond", training.samples_per_s},
          {"efficiency", training.efficiency},
          {"computeMs", training.compute_ms},
          {"ddpMs", training.ddp_ms},
          {"communicationMs", training.communication_ms},
          {"exposedMs", training.exposed_ms},
          {"processorMs", training.processor_ms},
          {"buffersMs", training.buffers_ms},
          {"gathersMs", training.gathers_ms},
          {"peakBytes", value_or_null(training.peak_bytes)},
          {"leastPeakBytes", value_or_null(training.least_peak_bytes)},
          {"buckets", buckets}};
}

Json pipeline_json(const analysis::PredictedPipeline& pipeline) {
  Json stages = Json::array();
  for (const analysis::PredictedStage& stage : pipeline.stages) {
    stages.push_back({{"firstModule", stage.first},
                      {"lastModule", stage.last},
                      {"forwardMs", stage.forward_ms},
                      {"backwardMs", stage.backward_ms},
                      {"weightBytes", stage.weight_bytes},
                      {"sendsBytes", stage.sends_bytes}});
  }
  return {{"microBatches", pipeline.micro_batches},
          {"order", pipeline.forward_first ? "GPipe" : "1F1B"},
          {"stepMs", measured_json(pipeline.step_ms)},
          {"samplesPerSecond", pipeline.samples_per_s},
          {"efficiency", pipeline.efficiency},
          {"idle", pipeline.idle},
          {"stages", stages}};
}

}  // namespace

std::string json_job_prediction(const analysis::JobPrediction& job) {
  Json trainings = Json::array();
  for (const auto& training : job.trainings) {
    trainings.push_back(training_json(training));
  }
  Json pipelines = Json::array();
  for (const auto& pipeline : job.pipelines) {
    pipelines.push_back(pipeline_json(pipeline));
  }
  const Json json = {
      {"version", 1},
      {"entry", {{"path", job.entry_path}, {"projectRoot", job.project_root}}},
      {"cluster", job.cluster},
      {"ranks", job.ranks},
      {"machines", job.machines},
      {"batchSize", job.batch_size},
      {"device", job.device},
      {"measured", {{"stepMs", measured_json(job.step_ms)}, {"peakBytes", value_or_null(job.peak_bytes)}}},
      {"collectivesMeasured", job.collectives_measured},
      {"slowDown", value_or_null(job.slow_down)},
      {"gradientBytes", job.gradient_bytes},
      {"predicted", trainings},
      {"pipelines", pipelines},
      {"seconds", job.seconds},
      {"notModelled", job.not_modelled},
      {"warnings", job.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
