#include "ingest/recorded_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ingest/import_error.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::ingest {
namespace {

using testing::event;
using ::testing::HasSubstr;

const std::string kProduct = R"("Input Dims":[[64,32],[32,16]],"Input type":["float","float"])";
const std::string kAttention =
    R"("Input Dims":[[2,4,8,16],[2,4,8,16],[2,4,8,16]],"Input type":["float","float","float"])";

RecordedStep step_of(const std::vector<std::string>& events, bool inputs = true) {
  const std::string head = R"("deviceProperties":[{"id":0,"name":"Tesla T4","totalGlobalMem":16}],)";
  ImportOptions options;
  options.exists = [](const std::string&) { return false; };
  return recorded_step(read_trace(testing::bytes_of(testing::trace_of(events, head)), {.inputs = inputs}), options);
}

std::string why_not(const std::vector<std::string>& events, bool inputs = true) {
  try {
    step_of(events, inputs);
  } catch (const ImportError& error) {
    return error.what();
  }
  return "read";
}

/// An op from `start` that launches one kernel, which takes `us` from `runs` on; "external" ids are not needed.
void add(std::vector<std::string>& events, const std::string& op, const std::string& inputs, double start, int id,
         double runs, double us, const std::string& kernel = "gemm", const std::string& category = "kernel") {
  events.push_back(event("cpu_op", op, start, 4, inputs));
  events.push_back(event("cuda_runtime", "cudaLaunchKernel", start + 1, 1, fmt::format("\"correlation\":{}", id)));
  events.push_back(event(category, kernel, runs, us, fmt::format(R"("correlation":{},"device":0,"stream":7)", id), 7));
}

std::vector<std::string> three_steps() {
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) {
    const double start = 100.0 * i;
    events.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", i), start, 100));
    add(events, "aten::mm", kProduct, start + 10, 10 * i + 1, start + 15, 5 + i);
    add(events, "aten::mm", kProduct, start + 20, 10 * i + 2, start + 120, 7);  // in the next step: counts in this one
    add(events, "mine::op", "", start + 30, 10 * i + 3, start + 40, 1);
    add(events, "record_param_comms", "", start + 40, 10 * i + 4, start + 50, 9, "ncclDevKernel_AllReduce");
    add(events, "aten::copy_", "", start + 50, 10 * i + 5, start + 60, 3, "Memcpy HtoD (Pinned -> Device)",
        "gpu_memcpy");
  }
  return events;
}

TEST(RecordedStep, IsTheOneInTheMiddle) {
  const RecordedStep step = step_of(three_steps());
  EXPECT_EQ(step.device, "Tesla T4");
  EXPECT_TRUE(step.has_steps);
  EXPECT_EQ(step.steps, 3);
  EXPECT_EQ(step.ns, 14'000);
  EXPECT_EQ(step.low_ns, 13'000);
  EXPECT_EQ(step.high_ns, 15'000);
  EXPECT_EQ(step.communication_ns, 9'000);
  EXPECT_EQ(step.transfer_ns, 3'000);
  ASSERT_EQ(step.operations.size(), 2U);
  EXPECT_EQ(step.operations[0].name, "aten::mm");
  EXPECT_EQ(step.operations[0].count, 2);
  EXPECT_EQ(step.operations[0].ns, 6'500);
  EXPECT_EQ(step.operations[0].key,
            R"(["aten::mm.default",["t:float32:64,32:32,1:cuda","t:float32:32,16:16,1:cuda"],{}])");
  EXPECT_EQ(step.operations[1].name, "mine::op");
  EXPECT_FALSE(step.operations[1].has_shapes);
  EXPECT_FALSE(step.operations[1].key.has_value());
}

TEST(RecordedStep, IsOnTheOnlyDeviceWhateverItsNumber) {
  std::vector<std::string> events = three_steps();
  for (std::string& one : events) {
    if (const std::size_t at = one.find("\"device\":0"); at != std::string::npos) {
      one.replace(at, 10, "\"device\":2");
    }
  }
  EXPECT_EQ(step_of(events).device, "Tesla T4");
}

TEST(RecordedStep, HasNothingOfTheStepBeforeTheRecording) {
  std::vector<std::string> events = three_steps();
  events.push_back(event("kernel", "earlier", 1, 50, R"("correlation":900,"device":0,"stream":8)", 8));
  EXPECT_EQ(step_of(events).ns, 14'000);
  events.push_back(event("kernel", "not launched", 130, 2, R"("correlation":901,"device":0,"stream":8)", 8));
  const RecordedStep step = step_of(events);
  EXPECT_EQ(step.high_ns, 16'000) << "what ran later is of the step in which it began";
}

TEST(RecordedStep, HasAttentionAsAWhole) {
  std::vector<std::string> events = three_steps();
  for (int i = 0; i < 3; ++i) {
    const double start = 100.0 * i + 60;
    events.push_back(event("cpu_op", "aten::_scaled_dot_product_flash_attention", start, 20, kAttention));
    add(events, "aten::_flash_attention_forward", kAttention, start + 2, 10 * i + 6, start + 5, 4, "flash_fwd");
    add(events, "aten::fill_", "", start + 8, 10 * i + 7, start + 12, 2, "fill");
  }
  const RecordedStep step = step_of(events);
  EXPECT_EQ(step.ns, 20'000);
  ASSERT_EQ(step.operations.size(), 3U);
  EXPECT_EQ(step.operations[1].name, "aten::_scaled_dot_product_flash_attention");
  EXPECT_EQ(step.operations[1].ns, 6'000);
  EXPECT_TRUE(step.operations[1].key.has_value());
}

TEST(RecordedStep, NeedsShapesAndKernels) {
  EXPECT_THAT(why_not(three_steps(), false), HasSubstr("record_shapes=True"));
  EXPECT_THAT(why_not({event("cpu_op", "aten::mm", 1, 5, kProduct)}), HasSubstr("no kernels of a GPU"));
}

TEST(RecordedStep, RefusesATraceThatWasCut) {
  Trace trace = read_trace(testing::bytes_of(testing::trace_of(three_steps())), {.inputs = true});
  trace.losses.too_many = 3;
  EXPECT_THROW(recorded_step(std::move(trace), ImportOptions()), ImportError);
}

TEST(ReadInputs, KeepsInputsWhereTheyAreAskedFor) {
  std::string many;
  for (int i = 0; i < 10'000; ++i) {
    many += "1,";
  }
  const std::vector<std::string> events = {
      event("cpu_op", "aten::cat", 0, 1,
            R"("Input Dims":[[[2,3],[]],[],[-1,1.5]],"Input type":["Tensor\"List","Scalar"],"Input Strides":[[]],)"
            R"("Concrete Inputs":["","[1, 2]",null])"),
      event("cpu_op", "aten::mm", 2, 1, R"("Input Dims":[[)" + many + "1]]"), event("cpu_op", "aten::t", 3, 1)};
  const Trace with = read_trace(testing::bytes_of(testing::trace_of(events)), {.inputs = true});
  ASSERT_EQ(with.inputs.size(), 1U);
  EXPECT_EQ(with.inputs[0].event, 0U);
  EXPECT_EQ(with.strings[with.inputs[0].sizes], "[[[2,3],[]],[],[-1,null]]");
  EXPECT_EQ(with.strings[with.inputs[0].types], R"(["Tensor\"List","Scalar"])");
  EXPECT_EQ(with.strings[with.inputs[0].strides], "[[]]");
  EXPECT_EQ(with.strings[with.inputs[0].values], R"(["","[1, 2]",null])");
  EXPECT_TRUE(testing::read(std::vector<std::string>{events[0]}).inputs.empty());
}

}  // namespace
}  // namespace ridgeline::ingest
