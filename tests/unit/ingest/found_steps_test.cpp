#include "ingest/found_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ingest/import_error.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::ingest {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using testing::event;
using ::testing::HasSubstr;
using testing::import;
using ::testing::SizeIs;

using Events = std::vector<std::string>;
using By = StepBoundary::By;

/// What a step that begins at `at` does: `add(category, name, start, duration, arguments)`.
using Add = std::function<void(std::string_view, std::string_view, double, double, std::string_view)>;

/// `count` steps of 100 µs.
Events steps_of(int count, const std::function<void(const Add&, int)>& step) {
  Events events;
  for (int i = 0; i < count; ++i) {
    const Add add = [&](std::string_view category, std::string_view name, double start, double duration,
                        std::string_view arguments) {
      events.push_back(event(category, name, 100 * i + start, duration, arguments));
    };
    step(add, i);
  }
  return events;
}

std::string numbers(int sequence, int forward_thread) {
  return fmt::format(R"("Sequence number": {}, "Fwd thread id": {})", sequence, forward_thread);
}

void forward_and_backward(const Add& add, int i) {
  add("cpu_op", "aten::linear", 10, 20, numbers(10 * i, 0));
  add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 40, 20, numbers(10 * i, 1));
  add("cpu_op", "aten::mm", 42, 10, "");
}

StepSearch search(const Events& events, const StepBoundary& boundary = {}) {
  const Trace trace = testing::read(events);
  return find_steps(trace, step_events(trace), boundary);
}

/// In µs.
std::vector<double> lengths(const StepSearch& found) {
  std::vector<double> result;
  for (const auto& [start, end] : found.steps ? found.steps->spans : FoundSteps().spans) {
    result.push_back(static_cast<double>(end - start) / 1000);
  }
  return result;
}

TEST(FoundSteps, GoFromOneStepOfTheOptimizerToTheNext) {
  const Events events = steps_of(5, [](const Add& add, int i) {
    add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 5, "");
    forward_and_backward(add, i);
    add("user_annotation", "Optimizer.step#SGD.step", 70, 20, "");
    add("cpu_op", "aten::add_", 75, 5, "");
  });
  const StepSearch found = search(events);
  EXPECT_THAT(lengths(found), SizeIs(4)) << "what comes before the first and after the last is no complete step";
  EXPECT_EQ(found.steps->spans.front(), std::pair(std::uint64_t{90'000}, std::uint64_t{190'000}));
  const analysis::RunInput input = import(events);
  EXPECT_THAT(input.runs[0].times_ns, Each(100'000));
  EXPECT_THAT(input.warnings,
              Contains(HasSubstr("from the end of one “Optimizer.step#SGD.step” to the end of the next")));
  EXPECT_THAT(input.warnings, Contains(HasSubstr("--step-boundary")));
}

TEST(FoundSteps, HaveAllOptimizersThatTakeTurns) {
  // A critic that steps twice for each step of the generator; their optimizers differ in nothing but the operations.
  const Events events = steps_of(12, [](const Add& add, int i) {
    forward_and_backward(add, i);
    add("user_annotation", "Optimizer.step#Adam.step", 70, 20, "");
    add("cpu_op", "aten::add_", 75, 5, "");
    if (i % 3 == 2) {
      add("cpu_op", "aten::add_", 82, 5, "");
    }
  });
  EXPECT_THAT(lengths(search(events)), ::testing::ElementsAre(300, 300, 300));
  EXPECT_EQ(search(events).steps->spans.front().first, 290'000U) << "the one that steps least often ends a step";
  EXPECT_THAT(lengths(search(events, {By::kOptimizer})), SizeIs(11)) << "after any of them";
}

/// Two optimizers of one class take turns, and prepare their states when they first step.
void step_in_turns(const Add& add, int i) {
  add("user_annotation", "Optimizer.step#Adam.step", 70, 20, "");
  add("cpu_op", "aten::add_", 75, 5, "");
  if (i < 2) {
    add("cpu_op", "aten::zeros_like", 82, 5, "");
  }
}

TEST(FoundSteps, HaveBothOptimizersOfATraceOfTwoSteps) {
  for (const int count : {4, 6}) {
    const Events backward_tells = steps_of(count, [](const Add& add, int i) {
      forward_and_backward(add, i);
      if (i % 2 == 1) {
        add("cpu_op", "autograd::engine::evaluate_function: MulBackward0", 62, 5, numbers(10 * i + 1, 1));
      }
      step_in_turns(add, i);
    });
    EXPECT_THAT(lengths(search(backward_tells)), AllOf(SizeIs(count / 2 - 1), Each(200)));
    const Events loader_tells = steps_of(count, [](const Add& add, int i) {
      if (i % 2 == 0) {
        add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 5, "");
      }
      forward_and_backward(add, i);
      step_in_turns(add, i);
    });
    EXPECT_THAT(lengths(search(loader_tells)), AllOf(SizeIs(count / 2 - 1), Each(200)));
    EXPECT_THAT(lengths(search(loader_tells, {By::kOptimizer})), SizeIs(count - 1));
  }
}

/// A first step that prepares more is no second optimizer.
TEST(FoundSteps, AreOfOneOptimizerWhereOnlyItsFirstStepDiffers) {
  for (const bool loads : {false, true}) {
    const Events events = steps_of(3, [&](const Add& add, int i) {
      if (loads) {
        add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 5, "");
      }
      forward_and_backward(add, i);
      step_in_turns(add, 2 * i);
    });
    EXPECT_THAT(lengths(search(events)), ::testing::ElementsAre(100, 100)) << loads;
  }
}

TEST(FoundSteps, AreUnknownWhereOptimizersAreTooFewToTellTheirOrder) {
  const Events events = steps_of(2, [](const Add& add, int i) {
    forward_and_backward(add, i);
    add("user_annotation", i == 0 ? "Optimizer.step#SGD.step" : "Optimizer.step#Adam.step", 70, 20, "");
  });
  EXPECT_THAT(search(events).why_none, HasSubstr("in which order"));
  EXPECT_THAT(import(events).warnings, Contains(HasSubstr("its optimizers step too seldom")));
}

TEST(FoundSteps, AreNotBackwardPassesWhereAnOptimizerStepsOnce) {
  const Events events = steps_of(4, [](const Add& add, int i) {
    forward_and_backward(add, i);
    if (i == 3) {
      add("user_annotation", "Optimizer.step#SGD.step", 70, 20, "");
    }
  });
  EXPECT_EQ(search(events).why_none, "an optimizer steps in it once only");
}

TEST(FoundSteps, IgnoreOptimizersInHooks) {
  const Events events = steps_of(4, [](const Add& add, int i) {
    forward_and_backward(add, i);
    add("user_annotation", "Optimizer.step#SGD.step", 45, 3, "");
    add("user_annotation", "Optimizer.step#SGD.step", 50, 3, "");
  });
  EXPECT_THAT(lengths(search(events)), ::testing::ElementsAre(100, 100)) << "by backward passes";
}

TEST(FoundSteps, GoByZeroGradWhereStepsHaveNoRange) {
  const Events events = steps_of(3, [](const Add& add, int i) {
    add("user_annotation", "Optimizer.zero_grad#Lamb.zero_grad", 1, 2, "");
    forward_and_backward(add, i);
  });
  EXPECT_EQ(search(events).steps->spans.front(), std::pair(std::uint64_t{1'000}, std::uint64_t{101'000}));
}

TEST(FoundSteps, GoByTheDataLoader) {
  const Events events = steps_of(4, [](const Add& add, int) {
    add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 5, "");
    add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 6, 2, "");
    add("cpu_op", "aten::linear", 10, 20, "");
  });
  EXPECT_THAT(lengths(search(events)), ::testing::ElementsAre(100, 100, 100)) << "both loaders are of one step";
}

TEST(FoundSteps, GoByBackwardPasses) {
  const StepSearch found = search(steps_of(4, forward_and_backward));
  EXPECT_THAT(lengths(found), ::testing::ElementsAre(100, 100));
  EXPECT_EQ(found.steps->spans.front().first, 110'000U) << "at the first operation of forward after the first pass";
  EXPECT_THAT(search(steps_of(2, forward_and_backward)).why_none, HasSubstr("too few backward passes"));
}

TEST(FoundSteps, AreNotLayers) {
  // One pass through 12 layers, with an embedding before them.
  Events events{event("cpu_op", "aten::embedding", 0, 5)};
  for (int i = 0; i < 12; ++i) {
    for (const char* name : {"aten::mm", "aten::relu", "aten::add"}) {
      const double at = 10 + 10 * static_cast<double>(events.size());
      events.push_back(event("user_annotation", fmt::format("layer {}", i), at, 9));
      events.push_back(event("cpu_op", name, at, 5));
    }
  }
  EXPECT_EQ(search(events).why_none, "nothing in it is there once per step for certain");
}

TEST(FoundSteps, GoByWhatRepeatsInAnEvaluation) {
  const auto ranges = [](const Add& add, int) {
    add("user_annotation", "run model", 1, 80, "");
    add("cpu_op", "aten::mm", 10, 20, "");
  };
  EXPECT_THAT(lengths(search(steps_of(4, ranges))), ::testing::ElementsAre(100, 100, 100));
  const auto modules = [](const Add& add, int) {
    add("python_function", "nn.Module: Net_0", 1, 80, R"("Python module id": 0)");
    add("python_function", "nn.Module: Linear_0", 5, 30, R"("Python module id": 1)");
    add("python_function", "nn.Module: Linear_1", 40, 30, R"("Python module id": 2)");
    add("cpu_op", "aten::mm", 10, 20, "");
  };
  EXPECT_THAT(search(steps_of(4, modules)).steps->how, HasSubstr("call of the module “Net_0”"));
  EXPECT_FALSE(search(steps_of(1, modules)).steps.has_value());
  const auto operations = [](const Add& add, int) {
    add("cpu_op", "aten::mm", 10, 5, "");
    add("cpu_op", "aten::relu", 20, 5, "");
    add("cpu_op", "aten::mm", 30, 5, "");
  };
  EXPECT_THAT(lengths(search(steps_of(6, operations))), ::testing::ElementsAre(100, 100, 100, 100, 100));
}

TEST(FoundSteps, AreThoseThatTheUserNames) {
  const Events events = steps_of(4, [](const Add& add, int i) {
    add("user_annotation", "ProfilerStep#1", 0, 100, "");
    add("user_annotation", fmt::format("evaluate {}", i), 1, 5, "");
    add("python_function", "proj/train.py(12): step", 2, 60, "");
    forward_and_backward(add, i);
  });
  EXPECT_THAT(lengths(search(events, {By::kRange, "evaluate"})), SizeIs(3));
  EXPECT_THAT(lengths(search(events, {By::kLine, "train.py", 12})), SizeIs(3));
  EXPECT_THAT(lengths(search(events, {By::kBackward})), SizeIs(2));
  const auto import_by = [&](const StepBoundary& boundary) {
    ImportOptions options{"/t.json", "", "/elsewhere", [](const std::string&) { return false; }, 1};
    options.boundary = boundary;
    return import_trace(testing::read(events), options);
  };
  EXPECT_THAT(import_by({By::kLine, "train.py", 12}).runs[0].times_ns, SizeIs(3)) << "not the marks of the profiler";
  EXPECT_THAT(import_by({By::kNothing}).runs[0].times_ns, SizeIs(1));
  EXPECT_THROW(import_by({By::kOptimizer}), ImportError);
  EXPECT_THROW(import_by({By::kRange, "else"}), ImportError);
}

TEST(FoundSteps, AreNamedAsInRun) {
  EXPECT_EQ(parse_trace_boundary("")->by, By::kFound);
  EXPECT_EQ(parse_trace_boundary("dataloader")->by, By::kDataLoader);
  EXPECT_EQ(parse_trace_boundary("none")->by, By::kNothing);
  EXPECT_EQ(parse_trace_boundary("src/train.py:12")->line, 12U);
  EXPECT_EQ(parse_trace_boundary("src/train.py:12")->name, "src/train.py");
  EXPECT_FALSE(parse_trace_boundary("train.py:x").has_value());
  EXPECT_EQ(parse_trace_boundary("train step")->by, By::kRange);
}

}  // namespace
}  // namespace ridgeline::ingest
