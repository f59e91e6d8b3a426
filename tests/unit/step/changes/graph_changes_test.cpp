#include "step/changes/graph_changes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "step/changes/change_table.h"
#include "step/changes/predict_on_graph.h"
#include "step/changes/steady_state.h"
#include "step/changes/task_classes.h"
#include "step/simulate/schedule_analysis.h"
#include "step/simulate/simulate.h"
#include "step_graph.h"

namespace ridgeline::step {
namespace {

using analysis::Phase;
using ::testing::HasSubstr;
using testing::StepGraph;

const StepFacts kNoFacts;
constexpr std::int64_t kMillisecond = 1'000'000;

std::int64_t length_of_step(const Graph& graph) { return simulate(graph)->total_ns; }

base::Result<ChangedGraph> made(GraphFunction change, const Graph& graph, std::string_view argument = "",
                                const StepFacts& facts = kNoFacts, Bound bound = Bound::kMiddle) {
  return change({.graph = graph}, {argument, bound, facts});
}

std::string reason(GraphFunction change, const Graph& graph, std::string_view argument = "") {
  const auto result = made(change, graph, argument);
  return result ? "" : result.error().message();
}

/// Loads data for 40, computes on the device for 30 + 10 + 20, and waits for it.
Graph training_step() {
  StepGraph step;
  step.host(Kind::kMark, 0, Phase::kOther);
  step.host(Kind::kPython, 40 * kMillisecond, Phase::kData);
  step.kernel("volta_sgemm_128x64_nn", 30 * kMillisecond, Phase::kForward);
  const TaskId backward = step.kernel("volta_sgemm_128x64_nt", 10 * kMillisecond, Phase::kBackward);
  step.wait_for(backward, Phase::kBackward);
  step.kernel("vectorized_elementwise_kernel<AddFunctor<float>>", 12 * kMillisecond, Phase::kOptimizer);
  const TaskId last =
      step.kernel("vectorized_elementwise_kernel<MulFunctor<float>>", 8 * kMillisecond, Phase::kOptimizer);
  step.wait_for(last, Phase::kOther);
  return step.finish();
}

TEST(TaskClasses, NamesTellWorkAndFormat) {
  const auto is = [](const char* name, Work work, Precision precision) {
    const TaskClass found = class_of_name(name);
    EXPECT_EQ(found.work, work) << name;
    EXPECT_EQ(found.precision, precision) << name;
  };
  is("volta_sgemm_128x64_nn", Work::kCompute, Precision::kFloat32);
  is("fmha_cutlassF_f32_aligned_64x64_rf_sm80(AttentionKernel<float>)", Work::kCompute, Precision::kFloat32);
  is("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>", Work::kCompute,
     Precision::kTensorFloat32);
  is("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc", Work::kCompute, Precision::kTensorFloat32);
  is("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f", Work::kCompute, Precision::kHalf);
  is("volta_fp16_s884gemm_fp16_64x64", Work::kCompute, Precision::kHalf);
  is("turing_fp16_s1688gemm_fp16_128x128", Work::kCompute, Precision::kHalf);
  is("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512>", Work::kBatchNorm, Precision::kFloat32);
  is("at::native::vectorized_layer_norm_kernel<float, float>", Work::kNorm, Precision::kFloat32);
  is("ncclDevKernel_AllReduce_Sum_f32_RING_LL", Work::kCommunication, Precision::kFloat32);
  is("Memcpy HtoD (Pageable -> Device)", Work::kCopy, Precision::kUnknown);
  is("void at::native::CatArrayBatchedCopy<c10::BFloat16>", Work::kElementwise, Precision::kHalf);
}

TEST(SteadyState, AHostThatWaitsForNothingIsAsFastAsItsDevice) {
  StepGraph step;
  step.host(Kind::kMark, 0, Phase::kOther);
  step.kernel("gemm", 50, Phase::kForward);
  const ChangedGraph changed{.graph = step.finish()};
  EXPECT_EQ(length_of_step(changed.graph), 1) << "the host alone";
  EXPECT_EQ(*period_ns(changed), 50);
}

TEST(SteadyState, WhatOneIterationLeavesToTheNextDelaysIt) {
  StepGraph step;
  const TaskId first = step.host(Kind::kPython, 10, Phase::kForward);
  step.kernel("gemm", 20, Phase::kForward);
  ChangedGraph changed{.graph = step.finish()};
  changed.into_next.push_back({3, first, 0});
  ASSERT_EQ(changed.graph.tasks[3].kind, Kind::kMark);
  changed.into_next.front() = {2, first, 5};
  EXPECT_EQ(*period_ns(changed), 10 + 1 + 20 + 5);
}

TEST(GraphChanges, AmpScalesByFormatAndAddsCasts) {
  const Graph before = training_step();
  const auto after = made(amp, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->graph.tasks[3].duration_ns, 30 * kMillisecond / 4) << "from float32";
  EXPECT_GT(after->graph.tasks.size(), before.tasks.size()) << "casts";
  EXPECT_EQ(after->graph.tasks[8].duration_ns, 12 * kMillisecond) << "the optimizer stays float32";
  StepGraph tensor;
  tensor.kernel("cutlass_80_tensorop_s1688gemm", 160, Phase::kForward);
  EXPECT_EQ(made(amp, tensor.finish())->graph.tasks[1].duration_ns, 100) << "TensorFloat-32 gains less";
  StepGraph half;
  half.kernel("ampere_bf16_s16816gemm", 160, Phase::kForward);
  EXPECT_THAT(reason(amp, half.finish()), HasSubstr("16 bits already"));
  EXPECT_THAT(reason(amp, StepGraph().finish()), HasSubstr("nothing of the step ran on a device"));
}

TEST(GraphChanges, FusedOptimizerIsOneKernel) {
  const auto after = made(fused_optimizer, training_step());
  ASSERT_TRUE(after);
  EXPECT_EQ(after->graph.tasks[8].duration_ns, 0);
  EXPECT_EQ(after->graph.tasks[10].duration_ns, (12 + 8) * kMillisecond * 6 / 10);
  StepGraph one;
  one.kernel("multi_tensor_apply_kernel", 5, Phase::kOptimizer);
  EXPECT_THAT(reason(fused_optimizer, one.finish()), HasSubstr("no more than one kernel"));
  StepGraph fused;
  fused.kernel("multi_tensor_apply_kernel<FusedAdamMathFunctor>", 5, Phase::kOptimizer);
  EXPECT_THAT(reason(fused_optimizer, fused.finish()), HasSubstr("fused already"));
}

TEST(GraphChanges, AnotherOptimizerOfAStepOnTheHostIsBoundedByItsTime) {
  StepGraph step;
  step.host(Kind::kOperation, 90 * kMillisecond, Phase::kForward, "aten::addmm");
  step.host(Kind::kOperation, 10 * kMillisecond, Phase::kOptimizer, "aten::addcdiv_");
  const Graph graph = step.finish();
  const auto basis = graph_basis(graph, 100, {}, std::nullopt);
  ASSERT_TRUE(basis);
  for (const char* change : {"foreach-optimizer", "fused-optimizer"}) {
    const auto predicted = predict_on_graph(*basis, {change});
    ASSERT_TRUE(predicted) << predicted.error().message();
    EXPECT_NEAR(predicted->speed_up.value, 1, 1e-9);
    EXPECT_NEAR(predicted->speed_up.high, 100.0 / 90, 0.03) << "it takes no time";
    EXPECT_NEAR(predicted->speed_up.low, 100.0 / 110, 0.03) << "it takes twice the time";
  }
  EXPECT_THAT(reason(fused_optimizer, StepGraph().finish()), HasSubstr("no optimizer ran"));
}

TEST(GraphChanges, ReconstructedBatchnormHalvesItAndDropsTheActivation) {
  StepGraph step;
  step.host(Kind::kMark, 0, Phase::kOther);
  step.kernel("cudnn::convolve_sgemm", 10, Phase::kForward);
  step.kernel("bn_fw_tr_1C11", 20, Phase::kForward);
  const TaskId relu = step.kernel("relu_kernel", 6, Phase::kForward);
  const TaskId other = step.kernel("relu_kernel", 6, Phase::kForward);
  const TaskId wait = step.wait_for(other, Phase::kOther);
  const Graph before = step.finish();
  ASSERT_EQ(before.tasks[wait].kind, Kind::kWait);
  const auto after = made(reconstructed_batchnorm, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->graph.tasks[relu].duration_ns, 0);
  EXPECT_EQ(after->graph.tasks[other].duration_ns, 6) << "it follows no batch normalisation";
  EXPECT_EQ(length_of_step(before) - length_of_step(after->graph), 16);
  EXPECT_THAT(reason(reconstructed_batchnorm, training_step()), HasSubstr("no batch normalisation"));
}

TEST(GraphChanges, MetaFlowKeepsWhatTheSecondPatternNames) {
  StepGraph step;
  const TaskId kept = step.kernel("conv", 10, Phase::kForward);
  const TaskId gone = step.kernel("bias", 4, Phase::kForward);
  const TaskId lone = step.kernel("conv", 10, Phase::kForward);
  const Graph before = step.finish();
  const auto after = made(metaflow, before, "conv>bias=conv");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->graph.tasks[kept].duration_ns, 10);
  EXPECT_EQ(after->graph.tasks[gone].duration_ns, 0);
  EXPECT_EQ(after->graph.tasks[lone].duration_ns, 10);
  EXPECT_THAT(reason(metaflow, before, "bias>relu=bias"), HasSubstr("nothing in it follows"));
  for (const char* wrong : {"", "conv", "conv>=conv", "conv>bias=relu", "=conv"}) {
    EXPECT_THAT(reason(metaflow, before, wrong), HasSubstr("pair of patterns")) << wrong;
  }
}

TEST(GraphChanges, WorkersLoadWhileTheStepRuns) {
  const Graph before = training_step();
  EXPECT_NEAR(static_cast<double>(*period_ns({.graph = before})), 100e6, 10);
  const auto one = made(loader_workers, before, "1");
  ASSERT_TRUE(one);
  EXPECT_NEAR(static_cast<double>(*period_ns(*one)), 60.8e6, 10) << "2 % of 40 ms stay for receiving the batch";
  // A worker that the step waits for: a batch takes it 100 ms, two of them 50 at best.
  const auto two = made(loader_workers, before, "2,1", kNoFacts, Bound::kOptimistic);
  EXPECT_NEAR(static_cast<double>(*period_ns(*two)), 60e6, 10);
  EXPECT_THAT(reason(loader_workers, before, "0"), HasSubstr("number of workers"));
  EXPECT_THAT(reason(loader_workers, before, "2,x"), HasSubstr("number of workers"));
  EXPECT_THAT(reason(loader_workers, StepGraph().finish(), "2"), HasSubstr("hardly waits"));
}

/// Python between operations is no loading of data by itself.
TEST(GraphChanges, WorkersHideNothingWhereNothingIsLoaded) {
  StepGraph step;
  step.host(Kind::kMark, 0, Phase::kOther);
  step.host(Kind::kPython, 40'000'000, Phase::kOther);
  step.host(Kind::kOperation, 60'000'000, Phase::kForward);
  const Graph before = step.finish();
  EXPECT_THAT(reason(loader_workers, before, "4"), HasSubstr("no loading was recorded"));
  EXPECT_THAT(reason(prefetch, before, ""), HasSubstr("no loading was recorded"));
}

TEST(GraphChanges, PrefetchHidesLoading) {
  const auto after = made(prefetch, training_step(), "", kNoFacts, Bound::kOptimistic);
  ASSERT_TRUE(after);
  EXPECT_NEAR(static_cast<double>(*period_ns(*after)), 60e6, 10);
}

TEST(GraphChanges, PinnedMemoryCopiesFasterAndNoOneWaits) {
  StepGraph step;
  step.host(Kind::kMark, 0, Phase::kOther);
  const TaskId call = step.host(Kind::kCall, 1, Phase::kData, "cudaMemcpyAsync");
  const TaskId copy = step.kernel("Memcpy HtoD (Pageable -> Device)", 40, Phase::kData);
  step.graph.tasks[copy].kind = Kind::kCopy;
  step.wait_for(copy, Phase::kData);
  step.host(Kind::kPython, 100, Phase::kForward);
  const Graph before = step.finish();
  ASSERT_EQ(before.tasks[call].resource, 0);
  const auto after = made(pinned_memory, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->graph.tasks[copy].duration_ns, 20);
  EXPECT_EQ(length_of_step(before) - length_of_step(after->graph), 40);
  EXPECT_THAT(reason(pinned_memory, training_step()), HasSubstr("pageable"));
}

TEST(GraphChanges, WithoutWaitsTheHostRunsAhead) {
  const auto after = made(no_sync, training_step());
  ASSERT_TRUE(after);
  EXPECT_NEAR(static_cast<double>(*period_ns(*after)), 60e6, 10) << "the device alone";
  EXPECT_THAT(reason(no_sync, training_step(), "train.py:9"), HasSubstr("nothing in it"));
  EXPECT_THAT(reason(no_sync, after->graph), HasSubstr("does not wait"));
}

TEST(GraphChanges, CudaGraphsNeedAStepWithoutWaits) {
  EXPECT_THAT(reason(cuda_graphs, training_step()), HasSubstr("waits for the device"));
  StepGraph step;
  step.host(Kind::kMark, 0, Phase::kOther);
  for (int i = 0; i < 3; ++i) {
    step.host(Kind::kOperation, 30'000, Phase::kForward);
    step.kernel("gemm", 10'000, Phase::kForward);
  }
  step.wait_for(7, Phase::kOther);
  step.wait_for(9, Phase::kOther);
  const Graph before = step.finish();
  const auto after = made(cuda_graphs, before, "", kNoFacts, Bound::kOptimistic);
  ASSERT_TRUE(after);
  EXPECT_EQ(length_of_step(after->graph), 10'000 + 3 * 10'000) << "one launch, and kernels without gaps";
  Graph captured = before;
  std::ranges::replace(captured.names, std::string("cudaLaunchKernel"), std::string("cudaGraphLaunch"));
  EXPECT_THAT(reason(cuda_graphs, captured),
              HasSubstr("100 % of the device's work is launched as CUDA graphs already"));
}

TEST(GraphChanges, ALineOrAModuleIsFaster) {
  Graph graph = training_step();
  graph.tasks[3].line = 1;
  graph.tasks[5].module = 2;
  EXPECT_EQ(made(faster, graph, "train.py:7=2")->graph.tasks[3].duration_ns, 15 * kMillisecond);
  EXPECT_EQ(made(faster, graph, "features=5")->graph.tasks[5].duration_ns, 2 * kMillisecond);
  EXPECT_THAT(reason(faster, graph, "rain.py:7=2"), HasSubstr("nothing in it")) << "part of a file's name";
  EXPECT_THAT(reason(faster, graph, "train.py:7"), HasSubstr("FILE:LINE=K"));
  EXPECT_THAT(reason(faster, graph, "train.py:7=0"), HasSubstr("FILE:LINE=K"));
  graph.modules[2] = "Net.body.0";
  EXPECT_EQ(made(faster, graph, "body=5")->graph.tasks[5].duration_ns, 2 * kMillisecond) << "without the model's class";
  EXPECT_THAT(reason(faster, graph, "bod=5"), HasSubstr("nothing in it"));
  graph.modules[2] = "features.0";
  EXPECT_EQ(made(without_module, graph, "features")->graph.tasks[5].duration_ns, 0);
  EXPECT_THAT(reason(without_module, graph, "tail"), HasSubstr("no module"));
}

TEST(GraphChanges, DataParallelWaitsForTheAllReduces) {
  const Graph before = training_step();
  // Two workers, 100 MB, 1 GB/s: half goes round twice, over 0.85 of the bandwidth, in four buckets.
  const auto after = made(data_parallel, before, "2,1,100MB");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->samples, 2);
  const double sent = 100e6 / 0.85;
  const auto schedule = simulate(after->graph);
  std::size_t buckets = 0;
  double busy = 0;
  for (TaskId id = 0; id < after->graph.tasks.size(); ++id) {
    if (after->graph.tasks[id].kind == Kind::kCommunication) {
      ++buckets;
      busy += static_cast<double>(after->graph.tasks[id].duration_ns);
      EXPECT_LE(schedule->end[id], schedule->start[8]) << "the optimizer waits";
    }
  }
  EXPECT_EQ(buckets, 4U);
  EXPECT_NEAR(busy, sent + 4 * 2 * 8'000, 10);
  EXPECT_THAT(reason(data_parallel, before, "2"), HasSubstr("how large the gradients are"));
  EXPECT_THAT(reason(data_parallel, before, "1,1,1MB"), HasSubstr("workers"));
  StepFacts facts;
  facts.gradients = 1e6;
  EXPECT_TRUE(made(data_parallel, before, "2", facts));
}

TEST(GraphChanges, P3HidesWhatDataParallelWaitsFor) {
  const Graph before = training_step();
  const auto waiting = made(data_parallel, before, "2,10,100MB");
  const auto sliced = made(p3, before, "2,10,100MB");
  ASSERT_TRUE(waiting && sliced);
  EXPECT_LT(*period_ns(*sliced), *period_ns(*waiting));
  EXPECT_GE(*period_ns(*sliced), *period_ns({.graph = before}));
}

TEST(GraphChanges, BlueConnectSendsLessBetweenMachines) {
  const auto after = made(blueconnect, training_step(), "2x4,1,100,100MB");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->samples, 8);
  const auto flat = made(data_parallel, training_step(), "8,1,100MB");
  EXPECT_LT(length_of_step(after->graph), length_of_step(flat->graph));
  EXPECT_THAT(reason(blueconnect, training_step(), "8,1"), HasSubstr("MACHINESxDEVICES"));
}

TEST(GraphChanges, CompressionScalesWhatIsSent) {
  const auto sent = made(data_parallel, training_step(), "2,1,100MB");
  const auto compressed = made(dgc, training_step(), "2,1,100MB");
  ASSERT_TRUE(sent && compressed);
  EXPECT_LT(length_of_step(compressed->graph), length_of_step(sent->graph));
}

TEST(GraphChanges, LargerBucketsAreFewerAllReduces) {
  StepGraph step;
  std::vector<TaskId> reduces;
  for (int i = 0; i < 5; ++i) {
    reduces.push_back(step.kernel("ncclKernel_AllReduce_RING_LL_Sum_float", 100'000, Phase::kBackward));
  }
  step.wait_for(reduces.back(), Phase::kOther);
  const Graph before = step.finish();
  const auto after = made(bucket_size, before, "50MiB");
  const auto slowest = made(bucket_size, before, "50MiB", kNoFacts, Bound::kPessimistic);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->graph.tasks[reduces[1]].duration_ns, 100'000 + 48'000) << "of 80 µs 0.6 are sent";
  EXPECT_EQ(after->graph.tasks[reduces[0]].duration_ns, 0);
  EXPECT_EQ(after->graph.tasks[reduces[4]].duration_ns, 100'000);
  EXPECT_EQ(length_of_step(before) - length_of_step(slowest->graph), -1)
      << "all is sent, and the second is launched 1 later";
  EXPECT_THAT(reason(bucket_size, before, "10MiB"), HasSubstr("only larger"));
  EXPECT_THAT(reason(bucket_size, training_step(), "50MiB"), HasSubstr("no more than one"));
}

/// 64 MiB that forward keeps for backward; kernels of 100 ms.
Graph with_activations() {
  StepGraph step;
  step.host(Kind::kMark, 0, Phase::kOther);
  const TaskId made_at = step.host(Kind::kOperation, 1, Phase::kForward);
  step.kernel("gemm", 100 * kMillisecond, Phase::kForward);
  const TaskId wait = step.kernel("gemm", 100 * kMillisecond, Phase::kForward);
  step.wait_for(wait, Phase::kForward);
  step.kernel("gemm", 100 * kMillisecond, Phase::kBackward);
  const TaskId freed_at = step.host(Kind::kOperation, 1, Phase::kBackward);
  step.wait_for(8, Phase::kOther);
  step.graph.memory = {{made_at, 0, 64 << 20}, {freed_at, 1, -(64 << 20)}};
  return step.finish();
}

TEST(GraphChanges, VdnnMovesActivationsAndBack) {
  const Graph before = with_activations();
  const auto after = made(vdnn, before);
  ASSERT_TRUE(after);
  const auto schedule = simulate(after->graph);
  std::int64_t moved = 0;
  for (const MemoryChange& change : after->graph.memory) {
    moved += change.bytes;
  }
  EXPECT_EQ(moved, 0);
  EXPECT_LE(memory_peak(after->graph, *schedule).bytes, 64 << 20);
  EXPECT_GE(length_of_step(after->graph), length_of_step(before));
  Graph none = before;
  none.memory.clear();
  EXPECT_THAT(reason(vdnn, none), HasSubstr("no events of the allocator"));
  EXPECT_THAT(reason(gist, none), HasSubstr("no events of the allocator"));
}

TEST(GraphChanges, GistEncodesForTime) {
  const auto after = made(gist, with_activations());
  ASSERT_TRUE(after);
  EXPECT_GT(length_of_step(after->graph), length_of_step(with_activations()));
  EXPECT_EQ(after->graph.memory[2].bytes, -(32 << 20));
  EXPECT_EQ(after->graph.memory[3].bytes, 32 << 20);
}

TEST(GraphChanges, ZeroSharesTheState) {
  const auto after = made(zero, training_step(), "1=4,400MB");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->peak_bytes, -300'000'000);
  EXPECT_THAT(reason(zero, training_step(), "1=4"), HasSubstr("no state of an optimizer"));
  EXPECT_THAT(reason(zero, training_step(), "3=4"), HasSubstr("stage 1 of ZeRO, the number of workers"));
}

TEST(PredictOnGraph, TheIntervalHoldsTheMiddleAndChangesCombine) {
  const Graph graph = training_step();
  const GraphBasis unchanged = *graph_basis(graph, 200, {}, {});
  const auto one = predict_on_graph(unchanged, {"loader-workers:1"});
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->step_ms, 200 * 0.608, 0.01) << "in proportion to the measured step";
  EXPECT_LT(one->speed_up.low, one->speed_up.value);
  EXPECT_GT(one->speed_up.high, one->speed_up.value);
  const auto both = predict_on_graph(unchanged, {"loader-workers:1", "fused-optimizer"});
  ASSERT_TRUE(both);
  EXPECT_LT(both->step_ms, one->step_ms);
  EXPECT_FALSE(predict_on_graph(unchanged, {"compile"}));
}

TEST(PredictOnGraph, TheIntervalIsWiderByTheNoiseOfTheSteps) {
  const Graph graph = training_step();
  GraphBasis unchanged = *graph_basis(graph, 200, {}, {});
  const auto quiet = predict_on_graph(unchanged, {"loader-workers:1"});
  unchanged.noise = 0.5;
  const auto noisy = predict_on_graph(unchanged, {"loader-workers:1"});
  ASSERT_TRUE(quiet && noisy);
  EXPECT_DOUBLE_EQ(noisy->speed_up.value, quiet->speed_up.value);
  EXPECT_DOUBLE_EQ(noisy->speed_up.low, quiet->speed_up.low / 1.5);
  EXPECT_DOUBLE_EQ(noisy->speed_up.high, quiet->speed_up.high * 1.5);
}

TEST(PredictOnGraph, TheIntervalEndsWhereTheStepExcludesMore) {
  const Graph graph = training_step();
  const double step = static_cast<double>(length_of_step(graph));
  GraphBasis unchanged = *graph_basis(graph, step / 1e6, {}, {});
  unchanged.others = std::vector(12, unchanged);
  for (GraphBasis& other : unchanged.others) {
    other.step_ms *= 20;
  }
  const auto data = predict_on_graph(unchanged, {"loader-workers:1"});
  ASSERT_TRUE(data);
  EXPECT_LE(data->speed_up.high, step / (step - 40e6) + 1e-9) << "without any loading";
  const auto optimizer = predict_on_graph(unchanged, {"fused-optimizer"});
  ASSERT_TRUE(optimizer);
  EXPECT_LE(optimizer->speed_up.high, step / (step - 20e6 - 2) + 1e-9) << "without the optimizer";
  EXPECT_GE(optimizer->speed_up.low, step / (step + 20e6)) << "with it a second time";
}

TEST(PredictOnGraph, TheIntervalHasWhatTheChangeBringsInOtherSteps) {
  const Graph graph = training_step();
  Graph longer = graph;
  longer.tasks[1].duration_ns = 30 * kMillisecond;  // to load
  GraphBasis unchanged = *graph_basis(graph, 100, {}, {});
  const auto alone = predict_on_graph(unchanged, {"loader-workers:1"});
  unchanged.others.push_back(*graph_basis(longer, 90, {}, {}));
  unchanged.others.push_back(*graph_basis(graph, 100, {}, {}));
  const auto with_others = predict_on_graph(unchanged, {"loader-workers:1"});
  ASSERT_TRUE(alone && with_others);
  EXPECT_DOUBLE_EQ(with_others->speed_up.value, alone->speed_up.value);
  EXPECT_LT(with_others->speed_up.low, alone->speed_up.low) << "there is less to gain";
  EXPECT_DOUBLE_EQ(with_others->speed_up.high, alone->speed_up.high);
}

TEST(PredictOnGraph, EveryChangeOfATraceHasWhatTheTableSays) {
  for (const ChangeKind& kind : change_table()) {
    EXPECT_TRUE(kind.fits(Subject::kStep) || kind.fits_job || kind.fits_cluster) << kind.name;
    EXPECT_FALSE(kind.title.empty()) << kind.name;
  }
  for (const auto& request : usual_changes_on_traces()) {
    EXPECT_TRUE(is_possible_on_graph(request, {})) << request.front();
  }
}

}  // namespace
}  // namespace ridgeline::step
