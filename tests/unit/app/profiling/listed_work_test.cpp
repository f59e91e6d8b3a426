// What the operations of imported traces ask of their devices.
#include "app/profiling/listed_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/build_profile.h"
#include "ingest/import_trace.h"
#include "ingest/read_trace.h"
#include "operations/device/data_sheets.h"
#include "operations/device/operation_work.h"
#include "operations/device/roofline.h"
#include "step/changes/step_schedule.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::app {
namespace {

using ingest::testing::event;
using ::testing::DoubleNear;
using ::testing::HasSubstr;

constexpr const char* kShapes = R"("Input Dims":[[64,32],[32,16]],"Input type":["float","float"])";
constexpr const char* kKey = R"(["aten::mm.default",["t:float32:64,32:32,1:cuda","t:float32:32,16:16,1:cuda"],{}])";

analysis::StepWork work_of(const std::vector<std::string>& events, const std::string& device) {
  const std::string head = R"("deviceProperties":[{"id":0,"name":")" + device + R"(","totalGlobalMem":16}],)";
  ingest::ImportOptions options;
  options.exists = [](const std::string&) { return false; };
  const auto bytes = ingest::testing::bytes_of(ingest::testing::trace_of(events, head));
  const analysis::RunInput input = ingest::import_trace(ingest::read_trace(bytes, {.inputs = true}), options);
  analysis::Profile profile = analysis::build_profile(input);
  add_recorded_work(profile, *step::add_schedule(profile, input), input.recorded_keys);
  return *profile.work;
}

/// A product whose kernel takes 5 µs, in a step of 100.
std::vector<std::string> step(const std::string& shapes) {
  return {event("user_annotation", "ProfilerStep#1", 0, 100), event("cpu_op", "aten::mm", 10, 4, shapes),
          event("cuda_runtime", "cudaLaunchKernel", 11, 1, R"("correlation":1)"),
          event("kernel", "gemm", 15, 5, R"("correlation":1,"device":0,"stream":7)", 7)};
}

TEST(RecordedWork, OnAGpuIsBoundedByItsDataSheet) {
  const analysis::StepWork work = work_of(step(kShapes), "Tesla T4");
  const auto sheet = operations::find_data_sheet("Tesla T4");
  const auto bound =
      operations::roofline_bound(*operations::work_of(std::string_view(kKey)), *sheet, sheet->compute_units);
  ASSERT_TRUE(work.device.has_value());
  EXPECT_FALSE(work.device->measured);
  EXPECT_EQ(work.total.matrix_flops, 2.0 * 64 * 32 * 16);
  EXPECT_THAT(work.total.bounded_ms, DoubleNear(0.005, 1e-9));
  EXPECT_THAT(work.total.bound_ms, DoubleNear(bound->ns / 1e6, 1e-12));
}

TEST(RecordedWork, HasNoBoundOnAnUnknownDevice) {
  const analysis::StepWork work = work_of(step(kShapes), "Abacus");
  EXPECT_EQ(work.total.matrix_flops, 2.0 * 64 * 32 * 16);
  EXPECT_FALSE(work.device.has_value());
}

TEST(RecordedWork, SaysThatShapesAreMissing) {
  EXPECT_THAT(work_of(step(""), "Tesla T4").not_listed, HasSubstr("record_shapes=True"));
}

}  // namespace
}  // namespace ridgeline::app
