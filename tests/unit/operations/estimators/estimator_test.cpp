#include "operations/estimators/estimator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "operations/estimators/estimator_file.h"
#include "operations/estimators/estimator_parameters.h"
#include "operations/estimators/groups.h"
#include "operations/estimators/held_out.h"

namespace ridgeline::operations {
namespace {

using ::testing::HasSubstr;

std::string product(int m, int k, int n, const std::string& dtype = "float32") {
  return fmt::format(R"(["aten::mm.default",["t:{0}:{1},{2}:{2},1","t:{0}:{2},{3}:{3},1"],{{}}])", dtype, m, k, n);
}

ListedTime timed(std::string key, double ns) {
  return {{"a processor", 1, "2"}, {.key = std::move(key), .ns = ns, .low = ns, .high = ns, .samples = 1}, 1, ""};
}

std::vector<ListedTime> matrices() {
  std::vector<ListedTime> rows;
  for (int i = 1; i <= 30; ++i) {
    rows.push_back(timed(product(i, 2 * i + 1, 100 - i), i));
  }
  return rows;
}

/// A model of mm: 100 ns + 2 · m · k · n, and a correction of the kind that `kind` says: log 2 in both.
std::string trained(const std::string& kind) {
  return R"({"models":[{"kind":")" + kind + R"(","low":-0.1,"high":0.2,
    "errors":{"product":0.3,"trees":0.2,"mlp":0.1},
    "product":{"exponents":[1,1,1],"offsetNs":100,"scaleNs":2},
    "trees":{"mean":0,"trees":[[[0,0.5,1,2],[-1,0,0,0],[-1,0.6931471805599453,0,0]]]},
    "mlp":{"mean":[0,0,0,0,0,0],"scale":[1,1,1,1,1,1],
           "layers":[{"weight":[[0,0,0,0,0,0]],"bias":[100]},{"weight":[[0.6931471805599453]],"bias":[0]}]}}]})";
}

Estimators estimators(const std::string& kind) {
  const auto groups = training_groups(matrices());
  auto models = trained_models(trained(kind), groups);
  EXPECT_TRUE(models) << models.error().message();
  return {{"a processor", 1, "2"}, 1, *models};
}

TEST(OperationParameters, AreSizesAndNumbers) {
  const auto found = parameters_of(
      R"(["aten::convolution.default",["t:float32:8,3,32,16:1536,512,16,1","t:float32:4,3,5,5:75,25,5,1",null,[2,1],[0,0],[1,1],false,[0,0],1],{}])");
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->numbers.size(), 17U);
  EXPECT_EQ(found->numbers[2].name, "0.2");
  EXPECT_EQ(found->numbers[2].value, 32);
  EXPECT_TRUE(found->numbers[2].is_dimension);
  EXPECT_EQ(found->numbers[8].name, "3.0");
  EXPECT_EQ(found->numbers[8].value, 2);
  EXPECT_FALSE(found->numbers[8].is_dimension);
  EXPECT_THAT(found->mode, HasSubstr("float32/4/contiguous"));
}

TEST(OperationParameters, ModesDifferWithTypesAndLayouts) {
  const auto mode = [](const std::string& key) { return parameters_of(key)->mode; };
  EXPECT_EQ(mode(product(2, 3, 4)), mode(product(20, 30, 40)));
  EXPECT_NE(mode(product(2, 3, 4)), mode(product(2, 3, 4, "bfloat16")));
  EXPECT_NE(mode(R"(["aten::t.default",["t:float32:4,8:8,1"],{}])"),
            mode(R"(["aten::t.default",["t:float32:4,8:1,4"],{}])"));
  EXPECT_FALSE(parameters_of("no key").has_value());
}

TEST(TrainingGroups, FewValuesSelectAModeAndEqualNumbersAreOne) {
  std::vector<ListedTime> rows;
  for (int i = 1; i <= 20; ++i) {
    rows.push_back(timed(product(i, 50 - i, i % 2 == 0 ? 8 : 64), i));
  }
  const auto groups = training_groups(rows);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].group.selected, (std::vector<std::pair<std::string, double>>{{"1.1", 8}}));
  EXPECT_EQ(groups[0].group.equal, (std::vector<std::pair<std::string, std::string>>{{"1.0", "0.1"}}));
  ASSERT_EQ(groups[0].group.learnt.size(), 2U);
  EXPECT_EQ(groups[0].group.learnt[0], (LearntParameter{"0.0", true, 2, 20}));
  EXPECT_EQ(groups[0].keys.size(), 10U);
}

TEST(Estimate, IsTheProductFormWithWhatCorrectsIt) {
  const double form = 100 + 2.0 * 10 * 20 * 90;
  EXPECT_NEAR(estimate(estimators("product"), product(10, 20, 90))->ns, form, 1e-6);
  EXPECT_NEAR(estimate(estimators("trees"), product(10, 20, 90))->ns, 2 * form, 1e-6);
  EXPECT_NEAR(estimate(estimators("mlp"), product(10, 20, 90))->ns, 2 * form, 1e-6);
  EXPECT_NEAR(estimate(estimators("trees"), product(1, 20, 90))->ns, 100 + 2.0 * 20 * 90, 1e-6);  // log 1 is below 0.5
  const auto found = estimate(estimators("product"), product(10, 20, 90));
  EXPECT_NEAR(found->low, form * std::exp(-0.1), 1e-6);
  EXPECT_NEAR(found->high, form * std::exp(0.2), 1e-6);
  EXPECT_EQ(found->beyond, 1);
}

TEST(Estimate, IsWiderALittleOutsideAndRefusedFarOutside) {
  const Estimators made = estimators("product");  // m from 1 to 30, k from 3 to 61, n from 70 to 99
  const auto outside = estimate(made, product(45, 20, 90));
  ASSERT_TRUE(outside.has_value());
  EXPECT_DOUBLE_EQ(outside->beyond, 1.5);
  EXPECT_NEAR(outside->high / outside->ns, std::exp(0.2) * 1.5, 1e-9);
  std::string why;
  EXPECT_FALSE(estimate(made, product(10, 20, 990), &why));
  EXPECT_EQ(why, "number 1.1 is 990; from 70 to 99 was measured");
  EXPECT_FALSE(estimate(made, product(10, 20, 90, "bfloat16"), &why));
  EXPECT_EQ(why, "nothing like it was measured");
}

TEST(EstimatorFile, IsReadBackAsItWas) {
  for (const char* kind : {"product", "trees", "mlp"}) {
    const Estimators made = estimators(kind);
    const auto read = parse_estimators(estimators_json(std::vector{made}), "file");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->at(0).models.at(0).group, made.models.at(0).group);
    EXPECT_EQ(estimate(read->at(0), product(7, 9, 80))->ns, estimate(made, product(7, 9, 80))->ns);
  }
}

TEST(EstimatorFile, AnUnknownKindIsToBeTrainedAgain) {
  std::string text = estimators_json(std::vector{estimators("product")});
  const std::string kind = R"("kind":"product")";
  text.replace(text.find(kind), kind.size(), R"("kind":"mean")");
  const auto read = parse_estimators(text, "estimators.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), "estimators.json: the kind of a model is not known. Train the estimators again.");
}

TEST(EstimatorFile, RefusesWeightsThatDoNotFit) {
  const auto refused = [](std::string json) {
    const auto groups = training_groups(matrices());
    const auto models = trained_models(json, groups);
    return models ? std::string("accepted") : models.error().message();
  };
  const auto with = [](const std::string& what, const std::string& instead, const std::string& kind) {
    std::string json = trained(kind);
    return json.replace(json.find(what), what.size(), instead);
  };
  EXPECT_EQ(refused(trained("mlp")), "accepted");
  EXPECT_THAT(refused(trained("oracle")), HasSubstr("the kind of a model is not known"));
  EXPECT_THAT(refused(with("[1,1,1]", "[1,1]", "product")), HasSubstr("exponents do not fit"));
  EXPECT_THAT(refused(with("[0,0.5,1,2]", "[0,0.5,0,2]", "trees")), HasSubstr("points outside of itself"));
  EXPECT_THAT(refused(with("[0,0.5,1,2]", "[6,0.5,1,2]", "trees")), HasSubstr("points outside of itself"));
  EXPECT_THAT(refused(with("[[0,0,0,0,0,0]]", "[[0,0,0]]", "mlp")), HasSubstr("another length"));
  EXPECT_THAT(refused("{}"), HasSubstr("holds no estimators"));
  EXPECT_THAT(refused(R"({"models":[]})"), HasSubstr("not about the groups"));
}

TEST(HeldOut, IsTheSameSplitWheneverItIsMade) {
  const std::vector<ListedTime> rows = matrices();
  const auto [training, held_out] = split_rows(rows, 0.3);
  EXPECT_EQ(training.size() + held_out.size(), rows.size());
  EXPECT_GT(held_out.size(), 3U);
  EXPECT_LT(held_out.size(), 16U);
  const auto [half, same] = split_rows(rows, 0.3, 0.5);
  EXPECT_EQ(same.size(), held_out.size());
  EXPECT_LT(half.size(), training.size());
}

TEST(HeldOut, ErrorsAreRelativeToTheMeasuredTime) {
  const Estimators made = estimators("product");
  const double form = 100 + 2.0 * 10 * 20 * 90;
  const std::vector<ListedTime> held_out = {timed(product(10, 20, 90), form / 1.1),
                                            timed(product(10, 20, 90), form / 1.5), timed(product(10, 20, 900), 1)};
  const auto errors = held_out_errors(made, held_out);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].operation, "aten::mm.default");
  EXPECT_EQ(errors[0].rows, 3);
  EXPECT_EQ(errors[0].refused, 1);
  EXPECT_NEAR(errors[0].mean, 0.3, 1e-9);
  EXPECT_NEAR(errors[0].worst, 0.5, 1e-9);
  EXPECT_NEAR(errors[0].within, 0.5, 1e-9);
}

}  // namespace
}  // namespace ridgeline::operations
