#include "app/profiling/module_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ridgeline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<PlannedModule> equal_modules(int count) {
  std::vector<PlannedModule> modules;
  for (int i = 0; i < count; ++i) {
    modules.push_back({"h." + std::to_string(i), {{"checkpoint", 100, 3}, {"selective-checkpoint", 40, 1}}});
  }
  return modules;
}

/// The least cost of all choices that save enough; below 0: none does.
double least_cost(const std::vector<PlannedModule>& modules, double bytes, std::size_t from = 0) {
  if (from == modules.size()) {
    return bytes <= 0 ? 0 : -1;
  }
  double least = least_cost(modules, bytes, from + 1);
  for (const ModuleOption& option : modules[from].options) {
    const double rest = least_cost(modules, bytes - option.saved_bytes, from + 1);
    if (rest >= 0 && (least < 0 || rest + option.ms < least)) {
      least = rest + option.ms;
    }
  }
  return least;
}

TEST(ModulePlan, TakesTheEarlierModulesOfEqualOnes) {
  const auto modules = equal_modules(4);
  const auto plan = cheapest_plan(modules, 250);
  ASSERT_TRUE(plan);
  EXPECT_DOUBLE_EQ(plan->ms, 8);  // two of 100 bytes and two of 40, where three of 100 would cost 9
  EXPECT_THAT(request_of(modules, *plan), ElementsAre("checkpoint:h.0..1", "selective-checkpoint:h.2..3"));
  EXPECT_FALSE(cheapest_plan(modules, 401));
  ASSERT_TRUE(cheapest_plan(modules, 400));
  EXPECT_THAT(request_of(modules, *cheapest_plan(modules, 0)), IsEmpty());
}

TEST(ModulePlan, IsMadeCheaperByOneModule) {
  const auto modules = equal_modules(4);
  const ModulePlan plan{{0, std::nullopt, 1, std::nullopt}, 140, 4};
  std::vector<std::vector<std::string>> cheaper;
  for (const ModulePlan& one : cheaper_by_one(modules, plan, 12)) {
    cheaper.push_back(request_of(modules, one));
  }
  EXPECT_THAT(cheaper, ElementsAre(ElementsAre("selective-checkpoint:h.2"), ElementsAre("selective-checkpoint:h.0,h.2"),
                                   ElementsAre("checkpoint:h.0")));
  const auto two = cheaper_by_one(modules, plan, 2);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_DOUBLE_EQ(two[0].saved_bytes, 40);
  EXPECT_DOUBLE_EQ(two[1].ms, 2);
  EXPECT_THAT(cheaper_by_one(modules, {{std::nullopt, std::nullopt, std::nullopt, std::nullopt}, 0, 0}, 12), IsEmpty());
}

TEST(ModulePlan, CostsAsLittleAsTheBestOfAllChoices) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 40; ++round) {
    std::vector<PlannedModule> modules;
    double most = 0;
    const int count = std::uniform_int_distribution(1, 8)(random);
    for (int i = 0; i < count; ++i) {
      const auto draw = [&] { return static_cast<double>(std::uniform_int_distribution(1, 1000)(random)); };
      modules.push_back(
          {"m" + std::to_string(i), {{"checkpoint", draw(), draw()}, {"selective-checkpoint", draw(), draw()}}});
      most += std::max(modules.back().options[0].saved_bytes, modules.back().options[1].saved_bytes);
    }
    double cheaper = 0;  // costs do not fall as more has to be saved
    for (double bytes = 1; bytes <= most + 1; bytes += most / 17) {
      const auto plan = cheapest_plan(modules, bytes);
      const double least = least_cost(modules, bytes);
      ASSERT_EQ(plan.has_value(), least >= 0) << round << " " << bytes;
      if (plan.has_value()) {
        EXPECT_GE(plan->saved_bytes, bytes);
        EXPECT_DOUBLE_EQ(plan->ms, least) << round << " " << bytes;
        EXPECT_GE(plan->ms, cheaper);
        cheaper = plan->ms;
      }
    }
  }
}

TEST(ModulePlan, OfManyDifferentModulesSavesEnoughAtNearlyTheLeastCost) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> draw(1, 1000);
  std::vector<PlannedModule> modules;
  double saved = 0;
  double ms = 0;
  for (int i = 0; i < 200; ++i) {
    modules.push_back({"m" + std::to_string(i), {{"checkpoint", draw(random), draw(random)}}});
    saved += modules.back().options[0].saved_bytes;
    ms += modules.back().options[0].ms;
  }
  const auto plan = cheapest_plan(modules, saved / 2);
  ASSERT_TRUE(plan);
  EXPECT_GE(plan->saved_bytes, saved / 2);
  // The relaxation, which takes parts of modules, is never dearer.
  std::ranges::sort(modules, {}, [](const auto& one) { return one.options[0].ms / one.options[0].saved_bytes; });
  double left = saved / 2;
  double bound = 0;
  for (const auto& one : modules) {
    const double part = std::min(1.0, left / one.options[0].saved_bytes);
    bound += part * one.options[0].ms;
    left -= part * one.options[0].saved_bytes;
    if (left <= 0) {
      break;
    }
  }
  EXPECT_GE(plan->ms, bound * 0.999999);
  EXPECT_LE(plan->ms, bound * 1.02);
  EXPECT_LT(plan->ms, ms / 2);
}

/// Two modules of three operations each, whose names begin alike, and one operation outside.
protocol::Captured captured(std::vector<std::uint64_t> alive) {
  protocol::Captured made;
  protocol::CapturedStep step;
  step.keys = {"a", "b"};
  step.names = {"aten::mm"};
  step.modules = {"", "h.1", "h.1.fc", "h.10"};
  for (const int module : {0, 3, 3, 3, 1, 2, 1}) {
    step.operations.push_back({module == 3 ? 1 : 0, 0, module, protocol::StepPart::kForward});
  }
  step.operations.push_back({0, 0, 0, protocol::StepPart::kBackward});
  step.alive_bytes = std::move(alive);
  made.step = std::move(step);
  return made;
}

TEST(ModulePlan, KnowsWhatModulesSaveByWhatTheyLeaveBehind) {
  const protocol::Captured unchanged = captured({10, 100, 150, 300, 400, 450, 900, 600});
  protocol::Captured all = captured({10, 100, 150, 300, 120, 450, 900, 150});
  all.changed_modules = {"h.1", "h.10"};
  const std::vector<ChangedStep> steps = {{"checkpoint", &all, 8}};
  const auto modules = planned_modules(unchanged, steps, [](const std::string& key) { return key == "b" ? 3 : 1; });
  ASSERT_EQ(modules.size(), 2U);
  EXPECT_EQ(modules[0].name, "h.10") << "it runs first";
  EXPECT_DOUBLE_EQ(modules[0].options[0].saved_bytes, 300 - 20);
  EXPECT_DOUBLE_EQ(modules[0].options[0].ms, 8 * 0.75);
  EXPECT_DOUBLE_EQ(modules[1].options[0].saved_bytes, 200 - 30);
  EXPECT_DOUBLE_EQ(modules[1].options[0].ms, 8 * 0.25);
  // What copying takes goes with what is saved: 280 and 170 bytes.
  const std::vector<ChangedStep> copying = {{"offload", &all, 9, true}};
  const auto offloaded = planned_modules(unchanged, copying, [](const std::string&) { return 1; });
  EXPECT_DOUBLE_EQ(offloaded[0].options[0].ms, 9 * 280.0 / 450);
  EXPECT_DOUBLE_EQ(offloaded[1].options[0].ms, 9 * 170.0 / 450);
  all.step->alive_bytes.clear();
  EXPECT_THAT(planned_modules(unchanged, steps, [](const std::string&) { return 1; }), IsEmpty());
}

}  // namespace
}  // namespace ridgeline::app
