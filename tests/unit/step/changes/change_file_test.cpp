#include "step/changes/change_file.h"

#include <gmock/gmock.h>

#include "step/changes/apply_change.h"
#include "step/simulate/simulate.h"
#include "step_graph.h"

namespace ridgeline::step {
namespace {

using analysis::Phase;
using ::testing::HasSubstr;
using testing::StepGraph;

std::string wrong(std::string_view text) {
  const auto change = parse_change(text);
  return change ? "" : change.error().message();
}

std::string step(const std::string& fields) { return R"({"title": "t", "steps": [{)" + fields + "}]}"; }

Graph three_kernels() {
  StepGraph made;
  made.host(Kind::kMark, 0, Phase::kOther);
  made.kernel("volta_sgemm", 30'000, Phase::kForward);
  made.kernel("elementwise_relu", 20'000, Phase::kForward);
  const auto last = made.kernel("volta_sgemm_nt", 10'000, Phase::kBackward);
  made.wait_for(last, Phase::kOther);
  return made.finish();
}

std::int64_t total_after(const std::string& text, Bound bound = Bound::kMiddle) {
  const auto change = parse_change(text);
  if (!change) {
    ADD_FAILURE() << change.error().message();
    return -1;
  }
  const auto changed = apply(*change, {.graph = three_kernels()}, bound);
  if (!changed) {
    ADD_FAILURE() << changed.error().message();
    return -1;
  }
  return simulate(changed->graph)->total_ns;
}

TEST(ChangeFile, DaydreamsMixedPrecision) {
  const std::string text = R"({"title": "AMP", "takes": "autocast", "steps": [
    {"select": {"kind": "kernel", "name": ["sgemm", "scudnn"]}, "do": "scale", "factor": [0.5, 0.25, 0.2]},
    {"select": {"kind": "kernel", "notName": ["sgemm", "scudnn"]}, "do": "scale", "factor": 0.5}]})";
  EXPECT_EQ(total_after(text), 1 + 7'500 + 10'000 + 2'500);
  EXPECT_EQ(total_after(text, Bound::kPessimistic), 1 + 15'000 + 10'000 + 5'000);
}

TEST(ChangeFile, RemovesSetsInsertsAndMoves) {
  EXPECT_EQ(total_after(step(R"("select": {"name": "relu"}, "do": "remove")")), 1 + 40'000);
  EXPECT_EQ(total_after(step(R"("select": {"phase": "backward", "kind": "kernel"}, "do": "set", "microseconds": 1.5)")),
            1 + 51'500);
  EXPECT_EQ(total_after(step(R"("select": {"name": "relu"}, "do": "insert", "name": "decode", "microseconds": 5)")),
            1 + 65'000);
  EXPECT_EQ(total_after(step(R"("select": {"name": "relu"}, "do": "insert", "name": "send", "microseconds": 100,
                                "on": "link:network", "before": {"kind": "kernel", "phase": "backward"})")),
            1 + 50'000 + 100'000 + 10'000);
  EXPECT_EQ(total_after(step(R"("select": {"name": "relu"}, "do": "move", "to": "link:other")")), 1 + 40'000);
}

TEST(ChangeFile, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_THAT(wrong("{"), HasSubstr("not JSON"));
  EXPECT_THAT(wrong("[]"), HasSubstr("the file must be an object"));
  EXPECT_THAT(wrong(R"({"title": "t"})"), HasSubstr("needs \"steps\""));
  EXPECT_THAT(wrong(R"({"title": "t", "steps": []})"), HasSubstr("/steps must have 1 to 256"));
  EXPECT_THAT(wrong(R"({"title": "t", "steps": [], "stps": 1})"), HasSubstr("/stps is not known here"));
  EXPECT_THAT(wrong(step(R"("select": {}, "do": "remove")")), HasSubstr("/steps/0/select must say"));
  EXPECT_THAT(wrong(step(R"("select": {"kind": "gpu"}, "do": "remove")")),
              HasSubstr("/steps/0/select/kind must be one of operation, python"));
  EXPECT_THAT(wrong(step(R"("select": {"line": "train.py"}, "do": "remove")")), HasSubstr("FILE:LINE"));
  EXPECT_THAT(wrong(step(R"("select": {"name": "a"}, "do": "grow")")), HasSubstr("must be one of scale, set"));
  EXPECT_THAT(wrong(step(R"("select": {"name": "a"}, "do": "scale")")), HasSubstr("needs \"factor\""));
  for (const char* factor : {"-1", "1e7", "\"2\"", "[1, 2]", "null", "[1, 2, -3]"}) {
    EXPECT_THAT(wrong(step(R"("select": {"name": "a"}, "do": "scale", "factor": )" + std::string(factor))),
                HasSubstr("/steps/0/factor must be a number from 0"))
        << factor;
  }
  EXPECT_THAT(wrong(step(R"("select": {"name": "a"}, "do": "priority", "value": 1e99)")), HasSubstr("whole number"));
  EXPECT_THAT(wrong(std::string(kMaxChangeFileBytes + 1, ' ')), HasSubstr("larger than 1 MiB"));
  EXPECT_THAT(wrong(std::string(100'000, '[')), HasSubstr("not JSON")) << "as deep as it is long";
}

TEST(ChangeFile, WhatDoesNotFitTheStepIsNamedToo) {
  const auto reason = [](const std::string& fields) {
    const auto changed = apply(*parse_change(step(fields)), {.graph = three_kernels()}, Bound::kMiddle);
    return changed ? "" : changed.error().message();
  };
  EXPECT_THAT(reason(R"("select": {"name": "lstm"}, "do": "remove")"), HasSubstr("/steps/0: it selects nothing"));
  EXPECT_THAT(reason(R"("select": {"name": "relu"}, "do": "move", "to": "stream 9")"),
              HasSubstr("nothing of it runs on \"stream 9\""));
}

}  // namespace
}  // namespace ridgeline::step
