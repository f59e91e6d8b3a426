#include "ingest/import_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/build_profile.h"
#include "ingest/import_error.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::ingest {
namespace {

using analysis::LineCost;
using analysis::Profile;
using ::testing::AllOf;
using ::testing::Contains;
using testing::event;
using ::testing::HasSubstr;
using testing::import;
using testing::memory;
using ::testing::Not;

using Events = std::vector<std::string>;

Profile profile_of(const Events& events, std::string_view head = "") {
  return analysis::build_profile(import(events, head));
}

const LineCost* line(const Profile& profile, std::string_view file, std::uint32_t number) {
  const auto found =
      std::ranges::find(profile.lines, analysis::Location{std::string(file), number}, &LineCost::location);
  return found == profile.lines.end() ? nullptr : &*found;
}

/// One step of 100 µs on a GPU: forward launches a kernel of 20 µs, backward one of 30 on another thread, and .item()
/// waits for both.
Events gpu_step() {
  return {event("user_annotation", "ProfilerStep#1", 0, 100),
          event("python_function", "train.py(3): step", 0, 100, R"("Python id": 1)"),
          event("python_function", "nn.Module: Net_0", 1, 19, R"("Python module id": 0)"),
          event("python_function", "torch/nn/modules/module.py(1500): _call_impl", 2, 18),
          event("python_function", "model.py(8): forward", 3, 17),
          event("cpu_op", "aten::linear", 4, 10, R"("External id": 1, "Sequence number": 7, "Fwd thread id": 0)"),
          event("cuda_runtime", "cudaLaunchKernel", 6, 2, R"("correlation": 100, "External id": 1)"),
          event("kernel", "gemm", 10, 20, R"("correlation": 100, "External id": 1, "device": 0, "stream": 7)"),
          event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 30, 10,
                R"("Sequence number": 7, "Fwd thread id": 1)", 11),
          event("cpu_op", "AddmmBackward0", 31, 8, R"("Sequence number": 7, "Fwd thread id": 1)", 11),
          event("cpu_op", "aten::mm", 32, 5, R"("External id": 2)", 11),
          event("cuda_runtime", "cudaLaunchKernel", 33, 1, R"("correlation": 101)", 11),
          event("kernel", "gemm_backward", 40, 30, R"("correlation": 101, "device": 0, "stream": 7)"),
          event("cpu_op", "aten::item", 50, 25),
          event("cuda_runtime", "cudaStreamSynchronize", 51, 23, R"("correlation": 102)")};
}

TEST(ImportTrace, GivesKernelsToTheLinesThatAskedForThem) {
  const Profile profile = profile_of(gpu_step());
  ASSERT_TRUE(profile.device.has_value());
  EXPECT_DOUBLE_EQ(profile.iteration.ms.value, 0.1);
  EXPECT_DOUBLE_EQ(profile.device->kernel_ms, 0.05);
  const LineCost* forward = line(profile, "model.py", 8);
  ASSERT_NE(forward, nullptr);
  EXPECT_NEAR(forward->device.by_phase[static_cast<std::size_t>(analysis::Phase::kForward)], 0.02, 1e-12);
  EXPECT_NEAR(forward->device.by_phase[static_cast<std::size_t>(analysis::Phase::kBackward)], 0.03, 1e-12);
  EXPECT_NEAR(line(profile, "train.py", 3)->device.wait_ms, 0.023, 1e-12);
  EXPECT_NEAR(line(profile, "train.py", 3)->device.total_ms, 0.05, 1e-12);
  EXPECT_NEAR(forward->device.total_ms, 0.05, 1e-12);
  const auto wait = [&](analysis::Wait what) { return profile.device->waits[static_cast<std::size_t>(what)]; };
  EXPECT_NEAR(wait(analysis::Wait::kDeviceBound), 0.019, 1e-12);  // 51 to 70
  EXPECT_NEAR(wait(analysis::Wait::kOverlapped), 0.031, 1e-12);
  EXPECT_NEAR(wait(analysis::Wait::kSync), 0.004, 1e-12);  // 70 to 74
  EXPECT_EQ(profile.environment.device, "cuda");
}

TEST(ImportTrace, MakesModulesOfTheirCalls) {
  const Profile profile = profile_of(gpu_step());
  const auto net = std::ranges::find(profile.breakdown.children, "Net_0", &analysis::Node::name);
  ASSERT_NE(net, profile.breakdown.children.end());
  EXPECT_EQ(net->type, "Net");
  EXPECT_EQ(net->calls, 1U);
  EXPECT_NEAR(net->device_ms, 0.05, 1e-12);
}

TEST(ImportTrace, FindsTheOpOfAKernelWithoutItsCall) {
  Events events = gpu_step();
  std::erase_if(events, [](const std::string& text) {
    return text.find("\"correlation\": 100, \"Ext") != std::string::npos &&
           text.find("cuda_runtime") != std::string::npos;
  });
  const Profile profile = profile_of(events);
  EXPECT_NEAR(line(profile, "model.py", 8)->device.ms, 0.05, 1e-12);
}

TEST(ImportTrace, GivesAKernelToNoOperationThatHasItsCorrelationForItsNumber) {
  Events events = gpu_step();
  events.push_back(event("kernel", "asked_for_before", 0, 5, R"("correlation": 1, "External id": 1, "device": 0)"));
  const Profile profile = profile_of(events);
  EXPECT_NEAR(line(profile, "model.py", 8)->device.ms, 0.05, 1e-12);
  EXPECT_NEAR(profile.device->kernel_ms, 0.055, 1e-12);
}

TEST(ImportTrace, NamesADeviceByItsProperties) {
  const analysis::RunInput input =
      import(gpu_step(), R"("deviceProperties":[{"id":0,"name":"NVIDIA A100","totalGlobalMem":42}],)");
  EXPECT_EQ(input.environment.device_name, "NVIDIA A100");
  EXPECT_EQ(input.capacity_bytes, 42U);
}

TEST(ImportTrace, TakesEverythingForOneIterationWithoutSteps) {
  const analysis::RunInput input = import({event("cpu_op", "aten::mm", 10, 20), event("kernel", "k", 25, 15)});
  EXPECT_THAT(input.runs[0].times_ns, ::testing::ElementsAre(30'000));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("no steps")));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("no Python stacks")));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("no memory events")));
}

TEST(ImportTrace, TellsPhasesByTheRangesOfTorchWhereThereAreNoStacks) {
  const Profile profile =
      profile_of({event("user_annotation", "ProfilerStep#1", 0, 100),
                  event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 0, 20),
                  event("cpu_op", "aten::stack", 0, 20), event("cpu_op", "aten::mm", 20, 30),
                  event("user_annotation", "Optimizer.step#SGD.step", 50, 50), event("cpu_op", "aten::add_", 50, 50)});
  const auto ms = [&](analysis::Phase phase) { return profile.iteration.by_phase[static_cast<std::size_t>(phase)]; };
  EXPECT_NEAR(ms(analysis::Phase::kData), 0.02, 1e-12);
  EXPECT_NEAR(ms(analysis::Phase::kForward), 0.03, 1e-12);
  EXPECT_NEAR(ms(analysis::Phase::kOptimizer), 0.05, 1e-12);
}

double backward_ms(const Profile& profile) {
  return profile.iteration.by_phase[static_cast<std::size_t>(analysis::Phase::kBackward)];
}

/// A step of 100 ms that runs backward on another thread from 20 to 70, in two nodes, and then an op.
Events step_with_backward_elsewhere() {
  return {event("user_annotation", "ProfilerStep#1", 0, 100'000),
          event("cpu_op", "aten::linear", 1000, 19'000, R"("Sequence number": 7, "Fwd thread id": 0)"),
          event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 20'000, 30'000,
                R"("Sequence number": 7, "Fwd thread id": 1)", 11),
          event("cpu_op", "aten::mm", 21'000, 20'000, "", 11),
          event("cpu_op", "MulBackward0", 50'000, 20'000, R"("Sequence number": 6, "Fwd thread id": 1)", 11),
          event("cpu_op", "aten::add_", 70'000, 30'000)};
}

TEST(ImportTrace, TellsBackwardOnAnotherThreadWhereThereAreNoStacks) {
  Events events = step_with_backward_elsewhere();
  EXPECT_NEAR(backward_ms(profile_of(events)), 50, 1e-9);
  events.push_back(event("user_annotation", "train_step", 500, 99'000));
  EXPECT_NEAR(backward_ms(profile_of(events)), 50, 1e-9) << "in a range of the user's";
}

TEST(ImportTrace, TellsBackwardAfterTheLastOperation) {
  Events events = step_with_backward_elsewhere();
  events.pop_back();
  EXPECT_NEAR(backward_ms(profile_of(events)), 80, 1e-9);
}

TEST(ImportTrace, BelievesStacksWhereAnotherThreadRunsBackward) {
  Events events = step_with_backward_elsewhere();
  events.push_back(event("python_function", "train.py(3): step", 0, 100'000));
  EXPECT_EQ(backward_ms(profile_of(events)), 0);
}

TEST(ImportTrace, KnowsTheCallOfTheEngineInOldVersions) {
  Events events = step_with_backward_elsewhere();
  events.push_back(event("python_function", "train.py(3): step", 0, 100'000));
  events.push_back(event("python_function", "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
                         20'000, 50'000));
  const Profile profile = profile_of(events);
  EXPECT_NEAR(backward_ms(profile), 50, 0.3);
  const auto phase = static_cast<std::size_t>(analysis::Phase::kBackward);
  EXPECT_NEAR(line(profile, "train.py", 3)->self_by_phase[phase], 50, 0.3);
}

TEST(ImportTrace, TakesTheThreadOfForwardForThatOfTheIterationsWithoutSteps) {
  Events events = step_with_backward_elsewhere();
  events.erase(events.begin());
  const Profile profile = profile_of(events);
  EXPECT_NEAR(profile.iteration.by_phase[static_cast<std::size_t>(analysis::Phase::kForward)], 49, 1e-9);
  EXPECT_NEAR(backward_ms(profile), 50, 1e-9);
}

TEST(ImportTrace, ReadsTheCallStacksOfOlderVersions) {
  const Profile profile = profile_of(
      {event("Operator", "aten::mm", 0, 100,
             R"("Call stack": "torch/nn/functional.py(9): linear;model.py(12): forward;train.py(4): step")")});
  ASSERT_NE(line(profile, "model.py", 12), nullptr);
  EXPECT_DOUBLE_EQ(line(profile, "model.py", 12)->self_ms, 0.1);
  EXPECT_DOUBLE_EQ(line(profile, "train.py", 4)->total_ms, 0.1);
}

TEST(ImportTrace, DividesPythonBetweenOperations) {
  const Profile profile =
      profile_of({event("user_annotation", "ProfilerStep#1", 0, 100'000),
                  event("python_function", "train.py(3): step", 0, 100'000),
                  event("python_function", "model.py(8): slow", 0, 80'000), event("cpu_op", "aten::mm", 99'000, 1000)});
  EXPECT_NEAR(line(profile, "model.py", 8)->self_ms, 80, 0.3);
  EXPECT_NEAR(line(profile, "train.py", 3)->self_ms, 20, 0.3);
}

TEST(ImportTrace, CountsWhatWasThereBeforeAndWhatIsReserved) {
  const Profile profile = profile_of({event("user_annotation", "ProfilerStep#1", 1, 100), event("cpu_op", "a", 1, 50),
                                      event("kernel", "k", 1, 2, R"("device": 0)"), memory(2, 0x10, 100, 1100, 4096, 0),
                                      memory(3, 0x20, 300, 1400, 8192, 0),
                                      memory(4, 0x30, -250, 1150, 8192, 0),  // allocated before the trace
                                      memory(5, 0x20, -300, 850, 8192, 0), memory(6, 0x99, 5000, 5000, 0)});
  EXPECT_EQ(profile.peak_bytes, 1400U);
  EXPECT_EQ(profile.device->peak_reserved_bytes, 8192U);
  EXPECT_EQ(profile.by_category[static_cast<std::size_t>(analysis::Category::kWeights)], 1000U);
}

TEST(ImportTrace, TakesTheCpusMemoryWithoutADevice) {
  EXPECT_EQ(profile_of({event("cpu_op", "a", 1, 50), memory(6, 0x99, 5000, 5000)}).peak_bytes, 5000U);
}

TEST(ImportTrace, KnowsNoPeakOfTheCpusMemory) {
  // Its totals are of what was allocated while memory was profiled.
  const analysis::RunInput input = import({event("cpu_op", "a", 1, 50), memory(6, 0x99, 5000, 5000)});
  EXPECT_FALSE(input.peak_known);
  EXPECT_THAT(input.warnings, Contains(HasSubstr("what was allocated before it began, so the peak is unknown")));
  EXPECT_THAT(input.warnings, Not(Contains(HasSubstr("is shown as weights"))));
}

TEST(ImportTrace, TakesTheDeviceWithMostBytesWithoutKernels) {
  const analysis::RunInput input = import(
      {event("cpu_op", "a", 1, 50), memory(6, 0x99, 5000, 5000), memory(7, 0x99, 10, 10, 512, 0),
       memory(8, 0x99, 300, 300, 512, 1), memory(9, 0x99, -300, 0, 512, 1)},
      R"("deviceProperties":[{"id":0,"name":"A","totalGlobalMem":42},{"id":1,"name":"B","totalGlobalMem":43}],)");
  EXPECT_EQ(input.environment.device, "cuda");
  EXPECT_EQ(input.environment.device_name, "B");
  EXPECT_EQ(input.capacity_bytes, 43U);
  EXPECT_THAT(input.warnings, Contains(HasSubstr("no kernels (the device was not among")));
  const Profile profile = analysis::build_profile(input);
  EXPECT_EQ(profile.peak_bytes, 300U);
  EXPECT_FALSE(profile.device.has_value());
}

TEST(ImportTrace, CallsTheDeviceWhatTorchCallsIt) {
  const auto device_of = [](const char* category, const char* call) {
    return import({event("cpu_op", "aten::mm", 0, 50), event(category, call, 6, 2, R"("correlation": 100)"),
                   event("kernel", "gemm", 10, 20, R"("correlation": 100, "device": 0, "stream": 7)", 7)})
        .environment.device;
  };
  EXPECT_EQ(device_of("cuda_runtime", "cudaLaunchKernel"), "cuda");
  EXPECT_EQ(device_of("cuda_runtime", "hipLaunchKernel"), "cuda");
  EXPECT_EQ(device_of("hip_runtime", "hipLaunchKernel"), "cuda");
  EXPECT_EQ(device_of("xpu_runtime", "urEnqueueKernelLaunch"), "xpu");
}

TEST(ImportTrace, CountsWhatAThreadWithoutOperationsFrees) {
  const Profile profile = profile_of({event("cpu_op", "a", 1, 50, "", 11), memory(6, 0x99, 5000, 5000),
                                      memory(7, 0x99, -5000, 0), memory(8, 0x98, 5000, 5000)});
  EXPECT_EQ(profile.peak_bytes, 5000U);
}

TEST(ImportTrace, SaysWhereItDoesNotKnowWhatWasThereBefore) {
  const analysis::RunInput input =
      import({event("cpu_op", "a", 1, 50), memory(6, 0x99, 512, 0), memory(7, 0x98, -512, 0)});
  EXPECT_THAT(input.warnings, Contains(HasSubstr("does not record what was allocated before it began")));
  EXPECT_THAT(input.warnings, Not(Contains(HasSubstr("stands as weights"))));
}

TEST(ImportTrace, CutsAndCountsWhatOverlaps) {
  const analysis::RunInput input =
      import({event("cpu_op", "a", 0, 100), event("cpu_op", "b", 50, 100), event("cpu_op", "c", 60, 5)});
  EXPECT_THAT(input.warnings, Contains(HasSubstr("1 event of the trace overlapping")));
  EXPECT_EQ(input.runs[0].recording.op_end()[1], 100'000U);
  EXPECT_EQ(input.runs[0].recording.op_parent()[2], 1U);
}

TEST(ImportTrace, LeavesOutThreadsThatHaveNothingButFunctions) {
  // Versions that do not know a function's thread put those of several into one.
  const analysis::RunInput input =
      import({event("cpu_op", "a", 0, 100), event("python_function", "queue.py(9): get", 10, 50, "", 12),
              event("python_function", "queue.py(9): get", 40, 50, "", 12)});
  EXPECT_THAT(input.warnings, Not(Contains(HasSubstr("overlap"))));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("no Python stacks")));
}

TEST(ImportTrace, TakesWhatIsOfNoLibraryForTheUsersWhereTheSourcesAreElsewhere) {
  const analysis::RunInput input = import(
      {event("python_function", "main.py(3): main", 0, 100), event("python_function", "threading.py(9): run", 1, 98),
       event("python_function", "<frozen os>(9): get", 2, 97), event("cpu_op", "aten::mm", 5, 50)});
  EXPECT_THAT(input.warnings, Contains(HasSubstr("None of the trace's files lie under /project")));
  const Profile profile = analysis::build_profile(input);
  ASSERT_EQ(profile.lines.size(), 1U);
  EXPECT_EQ(profile.lines[0].location, (analysis::Location{"main.py", 3}));
}

/// Where no file of the trace's is on this machine.
analysis::RunInput import_from_elsewhere(const Events& events) {
  return import_trace(testing::read(events),
                      {"/t.json", "", "/elsewhere", [](const std::string&) { return false; }, 1});
}

TEST(ImportTrace, FindsTheRootOfAbsolutePaths) {
  const analysis::RunInput input = import_from_elsewhere(
      {event("python_function", "/home/x/proj/main.py(3): main", 0, 9),
       event("python_function", "/home/x/proj/lib/net.py(3): f", 1, 8),
       event("python_function", "/usr/lib/python3.11/os.py(3): f", 1, 8), event("cpu_op", "aten::mm", 2, 5)});
  EXPECT_EQ(input.scope.project_root, "/home/x/proj");
}

TEST(ImportTrace, KnowsTheFilesOfWindows) {
  const analysis::RunInput input = import_from_elsewhere(
      {event("python_function", R"(C:\\me\\proj\\main.py(3): main)", 0, 9),
       event("python_function", "C:/me/proj/lib/net.py(5): f", 1, 8),
       event("python_function", R"(C:\\me\\lib\\site-packages\\torch\\x.py(7): g)", 2, 7),
       event("python_function", R"(torch\\nn\\functional.py(9): h)", 3, 6), event("cpu_op", "aten::mm", 4, 4)});
  EXPECT_EQ(input.scope.project_root, "C:/me/proj");
  const Profile profile = analysis::build_profile(input);
  EXPECT_EQ(profile.lines.size(), 2U);
  EXPECT_NE(line(profile, "main.py", 3), nullptr);
  EXPECT_NE(line(profile, "lib/net.py", 5), nullptr);
}

TEST(ImportTrace, FindsNoRootOfFilesOnTwoDrives) {
  const analysis::RunInput input = import_from_elsewhere(
      {event("cpu_op", "aten::mm", 2, 5, R"("Call stack": "C:\\proj\\net.py(3): f;D:\\main.py(3): main")")});
  EXPECT_EQ(input.scope.project_root, "/elsewhere");
}

TEST(ImportTrace, CountsLinesFromOne) {
  const Profile profile =
      profile_of({event("python_function", "train.py(0): <module>", 0, 9), event("cpu_op", "a", 2, 5)});
  EXPECT_NE(line(profile, "train.py", 1), nullptr);
}

TEST(ImportTrace, LooksForNoFileOutsideOfTheRoot) {
  const ImportOptions options{"/t.json", "/project", "/project", [](const std::string&) { return true; }, 1};
  const auto input = import_trace(testing::read({event("python_function", "../secret.py(1): f", 0, 9),
                                                 event("python_function", "/project/../../etc/passwd(1): f", 1, 8),
                                                 event("cpu_op", "aten::mm", 2, 5)}),
                                  options);
  EXPECT_TRUE(analysis::build_profile(input).lines.empty());
}

TEST(ImportTrace, RefusesATraceWithoutOperations) {
  EXPECT_THROW(import({}), ImportError);
  EXPECT_THROW(import({event("kernel", "k", 0, 5)}), ImportError);
  EXPECT_THROW(import({event("cuda_runtime", "cudaDeviceSynchronize", 0, 5)}), ImportError);
  EXPECT_THROW(import({event("python_function", "train.py(3): f", 0, 5), memory(1, 64, 512, 512)}), ImportError);
  EXPECT_THROW(import({event("cpu_op", "a", 3, 0)}), ImportError);
}

TEST(ImportTrace, SaysWhatATraceNeverTells) {
  EXPECT_THAT(import(gpu_step()).warnings,
              AllOf(Contains(HasSubstr("no uninstrumented times")), Contains(HasSubstr("where each function begins")),
                    Not(Contains(HasSubstr("no steps")))));
}

/// Whatever the events are, they are imported or refused, and what is imported closes.
class AnyTrace : public ::testing::TestWithParam<unsigned> {};

TEST_P(AnyTrace, IsImportedAndCloses) {
  std::mt19937 random(GetParam());
  const auto roll = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  const std::vector<std::pair<std::string, std::string>> kinds = {{"cpu_op", "aten::mm"},
                                                                  {"cpu_op", "autograd::engine::evaluate_function: X"},
                                                                  {"cpu_op", "X"},
                                                                  {"python_function", "model.py(3): f"},
                                                                  {"python_function", "nn.Module: Net_1"},
                                                                  {"python_function", "odd)("},
                                                                  {"cuda_runtime", "cudaLaunchKernel"},
                                                                  {"cuda_runtime", "cudaDeviceSynchronize"},
                                                                  {"cuda_driver", "cuMemcpy"},
                                                                  {"kernel", "k"},
                                                                  {"gpu_memcpy", "HtoD"},
                                                                  {"gpu_memset", "Memset"},
                                                                  {"user_annotation", "ProfilerStep#1"},
                                                                  {"user_annotation", "Optimizer.step#SGD"}};
  Events events;
  for (unsigned i = 0; i < 120; ++i) {
    const auto& [category, name] = kinds[roll(static_cast<unsigned>(kinds.size()))];
    events.push_back(event(category, name, roll(2000), roll(300),
                           fmt::format(R"("External id":{},"correlation":{},"Sequence number":{},"Fwd thread id":{},)"
                                       R"("device":{},"Python module id":{})",
                                       roll(20), roll(20), roll(9), roll(3), roll(2), roll(3)),
                           static_cast<int>(10 + roll(3))));
    if (roll(4) == 0) {
      events.push_back(memory(roll(2000), roll(9), static_cast<std::int64_t>(roll(1000)) - 500, roll(9999), roll(99),
                              static_cast<int>(roll(3)) - 1));
    }
  }
  const Profile profile = profile_of(events);
  const double ms = profile.iteration.ms.value;
  double host = 0;
  double device = 0;
  for (const LineCost& cost : profile.lines) {
    host += cost.self_ms;
    device += cost.device.ms;
  }
  for (const analysis::OtherCost& cost : profile.other) {
    host += cost.ms;
    device += cost.device_ms;
  }
  EXPECT_NEAR(host, ms, 1e-9);
  if (profile.device.has_value()) {
    EXPECT_NEAR(device + profile.device->idle_ms, ms, 1e-9);
  }
}

TEST_P(AnyTrace, IsImportedOrRefusedWhenItIsDamaged) {
  std::mt19937 random(GetParam());
  const std::string whole = testing::trace_of(gpu_step(), R"("deviceProperties":[{"id":0,"totalGlobalMem":42}],)");
  for (int round = 0; round < 20; ++round) {
    std::string text = whole;
    for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
      const std::size_t at = random() % text.size();
      const std::size_t length = std::min<std::size_t>(text.size() - at, random() % 12);
      static constexpr std::string_view kSpice = "0123456789-.eE\",:{}[]x";
      switch (random() % 3) {
        case 0:
          text[at] = kSpice[random() % kSpice.size()];
          break;
        case 1:
          text.erase(at, length);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
      }
    }
    try {
      ImportOptions options{"/t.json", "/project", "/project", [](const std::string&) { return true; }, 1};
      analysis::build_profile(import_trace(read_trace(testing::bytes_of(text, 64)), options));
    } catch (const ImportError&) {
      continue;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyTrace, ::testing::Range(1U, 101U));

TEST(ImportTrace, CountsFunctionsThatAreTooDeepForTheDeepestOneToldApart) {
  Events events = {event("user_annotation", "ProfilerStep#1", 0, 10'000)};
  for (int i = 0; i < 3000; ++i) {
    events.push_back(event("python_function", fmt::format("model.py({}): f", i + 1), i, 10'000 - 2 * i));
  }
  events.push_back(event("cpu_op", "aten::mm", 3000, 900));
  const Profile profile = profile_of(events);
  EXPECT_THAT(profile.warnings, Contains(HasSubstr("952 events of the trace nested too deeply")));
  EXPECT_NE(line(profile, "model.py", 2048), nullptr);
  EXPECT_EQ(line(profile, "model.py", 2049), nullptr);
}

}  // namespace
}  // namespace ridgeline::ingest
