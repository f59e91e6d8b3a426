#include "ingest/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/import_error.h"
#include "ingest/trace_number.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::ingest {
namespace {

using testing::bytes_of;
using testing::event;
using testing::gzip;
using ::testing::HasSubstr;
using testing::memory;
using testing::read;
using testing::trace_of;

std::string refusal(std::string text, const TraceLimits& limits = {}) {
  try {
    read_trace(bytes_of(std::move(text), 100), limits);
  } catch (const ImportError& error) {
    return error.what();
  }
  return "read";
}

std::uint64_t ns(std::string_view text) {
  std::uint64_t value = 0;
  EXPECT_TRUE(nanoseconds(text, value)) << text;
  return value;
}

TEST(Nanoseconds, KeepEveryDigit) {
  EXPECT_EQ(ns("1621401187223197.489"), 1621401187223197489U) << "a double knows quarters of a microsecond there";
  EXPECT_EQ(ns("4461776201128.308"), 4461776201128308U);
  EXPECT_EQ(ns("0.0019"), 1U);
  EXPECT_EQ(ns("12"), 12000U);
  EXPECT_EQ(ns("1.5e3"), 1'500'000U);
}

TEST(Nanoseconds, RefuseWhatIsNoTime) {
  std::uint64_t value = 0;
  for (const char* text : {"", "x", "1.x", "-1", "99999999999999999999", "9223372036854775.9", "1e300", "-1e3"}) {
    EXPECT_FALSE(nanoseconds(text, value)) << text;
  }
}

TEST(ReadTrace, KnowsTheCategories) {
  const Trace trace = read(
      {event("user_annotation", "ProfilerStep#3", 0, 100), event("cpu_op", "aten::mm", 1, 5),
       event("python_function", "a.py(3): f", 1, 9), event("cuda_runtime", "cudaLaunchKernel", 2, 1),
       event("kernel", "gemm", 4, 2), event("gpu_memcpy", "Memcpy HtoD", 4, 2), event("gpu_memset", "Memset", 4, 2),
       event("gpu_user_annotation", "ProfilerStep#3", 0, 100), event("user_annotation", "mine", 1, 1),
       event("Kernel", "old", 9, 1), memory(3, 64, 512, 512), event("ac2g", "ac2g", 1, 1)});
  std::vector<EventKind> kinds;
  std::ranges::transform(trace.events, std::back_inserter(kinds), &TraceEvent::kind);
  using K = EventKind;
  EXPECT_THAT(kinds, ::testing::ElementsAre(K::kStep, K::kOp, K::kPython, K::kCall, K::kKernel, K::kCopy, K::kSet,
                                            K::kAnnotation, K::kKernel, K::kMemory));
  EXPECT_EQ(trace.events[1].start, 1000U);
  EXPECT_EQ(trace.events[1].end, 6000U);
}

TEST(ReadTrace, ReadsTheArguments) {
  const Trace trace =
      read({event("cpu_op", "aten::mm", 1, 5, R"("External id": 7, "Sequence number": 12, "Fwd thread id": 1)"),
            event("kernel", "gemm", 4, 2, R"("device": 3, "stream": 20, "correlation": 99, "External id": "8")"),
            memory(3, 64, -512, 1024, 4096, 2)});
  EXPECT_EQ(trace.events[0].external, 7U);
  EXPECT_EQ(trace.events[0].sequence, 12);
  EXPECT_EQ(trace.events[0].number, 1U);
  EXPECT_EQ(trace.events[1].device, 3U);
  EXPECT_EQ(trace.events[1].stream, 20U);
  EXPECT_EQ(trace.events[1].correlation, 99U);
  EXPECT_EQ(trace.events[1].external, 8U);
  EXPECT_EQ(trace.events[2].bytes, -512);
  EXPECT_EQ(trace.events[2].reserved, 4096U);
  EXPECT_EQ(trace.events[2].device, 2U);
}

TEST(ReadTrace, TakesNumbersBeyondTheirRangeForNone) {
  const Trace trace =
      read({event("cpu_op", "a", 1, 5, R"("External id": 99999999999999999999, "Sequence number": 1e30)"),
            event("kernel", "k", 1, 5, R"("correlation": -4, "device": 99999999999, "stream": {"a": [1]})")});
  EXPECT_EQ(trace.events[0].external, kNoId);
  EXPECT_EQ(trace.events[0].sequence, -1);
  EXPECT_EQ(trace.events[1].correlation, kNoId);
}

TEST(ReadTrace, ReadsWhereTheArgumentsComeFirstAndNest) {
  const Trace trace = read_trace(bytes_of(
      R"([{"args":{"External id":5,"occupancy":{"name":"no","ts":9}},"ts":2,"dur":1,"cat":"cpu_op","name":"op","ph":"X"}])"));
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.strings[trace.events[0].name], "op");
  EXPECT_EQ(trace.events[0].start, 2000U);
  EXPECT_EQ(trace.events[0].external, 5U);
}

TEST(ReadTrace, ReadsTheDevices) {
  const Trace trace = read_trace(bytes_of(trace_of(
      {}, R"("deviceProperties":[{"id":1,"name":"NVIDIA H100","totalGlobalMem":102085492736,"numSms":132}],)")));
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].index, 1U);
  EXPECT_EQ(trace.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(trace.devices[0].bytes, 102085492736U);
}

TEST(ReadTrace, CountsWhatHasNoTime) {
  const Trace trace = read({R"({"ph":"X","cat":"cpu_op","name":"a","dur":1})",
                            R"({"ph":"X","cat":"cpu_op","name":"a","ts":"soon","dur":1})",
                            R"({"ph":"X","cat":"cpu_op","name":"a","ts":1e40,"dur":1})",
                            R"({"ph":"X","cat":"cpu_op","name":"a","ts":5,"dur":-1})", event("cpu_op", "b", 1, 1)});
  EXPECT_EQ(trace.losses.without_time, 3U);
  EXPECT_EQ(trace.losses.negative, 1U);
  EXPECT_EQ(trace.events.size(), 1U);
}

TEST(ReadTrace, ShiftsTimesThatBeginBeforeZero) {
  const Trace trace = read_trace(bytes_of(
      trace_of({event("cpu_op", "a", -5, 3), event("cpu_op", "b", 1, 1)}, R"("baseTimeNanoseconds":9000000,)")));
  ASSERT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events[0].start, 0U);
  EXPECT_EQ(trace.events[0].end, 3000U);
  EXPECT_EQ(trace.events[1].start, 6000U);
  EXPECT_EQ(trace.base_ns, 9'000'000U - 5000U);
  EXPECT_EQ(trace.losses.before_zero, 1U);
}

TEST(ReadTrace, LeavesOutMemoryWithoutItsAddress) {
  const Trace trace =
      read({event("cpu_op", "b", 1, 1),
            R"({"ph":"i","name":"[memory]","ts":2,"args":{"Device Type":1,"Device Id":0,"Bytes":512}})"});
  EXPECT_EQ(trace.events.size(), 1U);
}

TEST(ReadTrace, TakesACorrelationForNoOperation) {
  const Trace trace = read({event("kernel", "k", 1, 5, R"("correlation": 8, "External id": 8)"),
                            event("cuda_runtime", "cudaLaunchKernel", 1, 5, R"("correlation": 8, "External id": 8)")});
  EXPECT_EQ(trace.events[0].external, kNoId);
  EXPECT_EQ(trace.events[0].correlation, 8U);
}

TEST(ReadTrace, StopsKeepingEventsAtItsBound) {
  const Trace trace = read_trace(
      bytes_of(trace_of({event("cpu_op", "a", 1, 1), event("cpu_op", "b", 2, 1), event("cpu_op", "c", 3, 1)})),
      {2, 10'000, 9999});
  EXPECT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.losses.too_many, 1U);
}

TEST(ReadTrace, RefusesWhatIsNoTrace) {
  EXPECT_THAT(refusal(""), HasSubstr("The file is empty"));
  EXPECT_THAT(refusal("hello"), HasSubstr("not valid JSON at byte 0 (line 1, column 1), near \"hello\""));
  EXPECT_THAT(refusal("{\"traceEvents\":\n [{\"ph\":x y"), HasSubstr("at byte 26 (line 2, column 11), near"));
  EXPECT_THAT(refusal(R"({"a": 1})"), HasSubstr("no list of traceEvents"));
  EXPECT_THAT(refusal("7"), HasSubstr("no list of traceEvents"));
  EXPECT_THAT(refusal(std::string(10'000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal(trace_of({}), {100, 100, 10}), HasSubstr("larger than the limit"));
  EXPECT_THAT(refusal(R"([{"name":"aten::mm","ph":"X","ts":1,"dur":2,"tid":1,"pid":"CPU functions","args":{}}])"),
              HasSubstr("old autograd profiler"));
}

TEST(ReadTrace, InflatesGzip) {
  const std::string text = trace_of({event("cpu_op", "aten::mm", 1, 5)});
  EXPECT_EQ(read_trace(bytes_of(gzip(text), 3)).events.size(), 1U);
  const std::string members = gzip(text.substr(0, 20)) + gzip(text.substr(20));
  EXPECT_EQ(read_trace(bytes_of(members, 1000)).events.size(), 1U);
}

TEST(ReadTrace, RefusesGzipOfWhichNothingIsWhole) {
  const std::string packed = gzip(trace_of({event("cpu_op", "aten::mm", 1, 5)}));
  EXPECT_THAT(refusal(packed.substr(0, packed.size() / 2)), HasSubstr("cut off"));
  EXPECT_THAT(refusal(packed.substr(0, 5)), HasSubstr("cut off"));
  EXPECT_THAT(refusal(gzip(std::string(1'000'000, ' ')), {100, 100, 1000}), HasSubstr("larger than the limit"));
}

}  // namespace
}  // namespace ridgeline::ingest
