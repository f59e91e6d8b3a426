#include "operations/table/time_csv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "operations/table/csv.h"

namespace ridgeline::operations {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kNow = 1'700'000'000;

CsvOptions matmul(std::map<std::string, std::string> columns = {}) {
  return {.format = CsvFormat::kMatmul, .columns = std::move(columns), .device = "a processor", .measured_s = kNow};
}

std::string refusal(const std::string& csv, const CsvOptions& options) {
  const auto rows = parse_times(csv, "times.csv", options);
  return rows ? "accepted" : rows.error().message();
}

TEST(Csv, ReadsQuotedFields) {
  EXPECT_THAT(*csv_fields(R"(a,"b, ""c""",,d)"), ElementsAre("a", R"(b, "c")", "", "d"));
  EXPECT_FALSE(csv_fields(R"(a,"b)"));
  EXPECT_FALSE(csv_fields(R"("a"b)"));
}

TEST(TimeCsv, ReadsMatricesWithMappedColumns) {
  const auto rows = parse_times("OPName,Latency,M,N,K,B\nbmm,0.25,4,8,16,2\nbmm,0.5,4,8,16,1\r\n", "times.csv",
                                matmul({{"time_ms", "Latency"}, {"m", "M"}, {"n", "N"}, {"k", "K"}, {"batch", "B"}}));
  ASSERT_TRUE(rows) << rows.error().message();
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ(rows->at(0).time.key,
            R"(["aten::bmm.default",["t:float32:2,4,16:64,16,1","t:float32:2,16,8:128,8,1"],{}])");
  EXPECT_DOUBLE_EQ(rows->at(0).time.ns, 250'000);
  EXPECT_EQ(rows->at(1).time.key, R"(["aten::mm.default",["t:float32:4,16:16,1","t:float32:16,8:8,1"],{}])");
  EXPECT_EQ(rows->at(1).conditions.device, "a processor");
}

TEST(TimeCsv, ReadsOperationsWithTheirIntervalAndSource) {
  const auto rows = parse_times(
      "key,time_us,low,high,samples,device,threads,torch,measured,source\n"
      R"("[""aten::add.Tensor"",[""t:float32:4:1"",""t:float32:4:1""],{}]",2,1.5,3,9,Tesla T4,1,2.1.0,1600000000,me)",
      "times.csv", {.measured_s = kNow});
  ASSERT_TRUE(rows) << rows.error().message();
  const ListedTime& row = rows->at(0);
  EXPECT_EQ(row.time.key, R"(["aten::add.Tensor",["t:float32:4:1:cuda","t:float32:4:1:cuda"],{}])");
  EXPECT_DOUBLE_EQ(row.time.low, 1500);
  EXPECT_DOUBLE_EQ(row.time.high, 3000);
  EXPECT_EQ(row.time.samples, 9);
  EXPECT_EQ(row.conditions, (Conditions{"Tesla T4", 1, "2.1.0"}));
  EXPECT_EQ(row.measured_s, 1'600'000'000);
  EXPECT_EQ(row.source, "me");
}

TEST(TimeCsv, NamesTheRowThatIsWrong) {
  EXPECT_THAT(refusal("m,n,k,time_us\n4,4,4,1\n4,4,8,-1\n", matmul()),
              HasSubstr("times.csv: row 3: time_us is \"-1\""));
  EXPECT_THAT(refusal("m,n,k,time_us\n4,4,4,nan\n", matmul()), HasSubstr("row 2: time_us"));
  EXPECT_THAT(refusal("m,n,k,time_us\n4,0,4,1\n", matmul()), HasSubstr("row 2: n is \"0\""));
  EXPECT_THAT(refusal("m,n,k,time_us\n4,4,4\n", matmul()), HasSubstr("row 2: it has 3 fields"));
  EXPECT_THAT(refusal("m,n,k,time_us\n4,4,4,1\n8,8,8,2\n4,4,4,3\n", matmul()),
              HasSubstr("row 4: it is the operation of row 2"));
  EXPECT_THAT(refusal("m,n,k,dtype,time_us\n4,4,4,float31,1\n", matmul()), HasSubstr("row 2: \"float31\" is no type"));
  EXPECT_THAT(refusal("m,n,k,time_s\n4,4,4,36000\n", matmul()), HasSubstr("row 2: time_s"));
  EXPECT_THAT(refusal("key,time_us\nmm,1\n", {.device = "x", .measured_s = kNow}), HasSubstr("row 2: the key is not"));
}

TEST(TimeCsv, NeedsOneUnitAndOneDevice) {
  EXPECT_THAT(refusal("m,n,k,time\n4,4,4,1\n", matmul()), HasSubstr("row 1: no column says the time"));
  EXPECT_THAT(refusal("m,n,k,time_us,time_ms\n4,4,4,1,1\n", matmul()), HasSubstr("one unit at a time"));
  EXPECT_THAT(refusal("m,n,k,device,time_us\n4,4,4,x,1\n", matmul()), HasSubstr("leave --device out"));
  EXPECT_THAT(refusal("m,n,time_us\n4,4,1\n", matmul()), HasSubstr("--column k=COLUMN"));
  EXPECT_THAT(refusal("m,n,k,time_us\n", matmul()), HasSubstr("there are no rows"));
}

/// 4096³ on an A100 in float32: 0.88 ms at the peak of its tensor cores.
TEST(TimeCsv, RefusesTimesInAnotherUnit) {
  CsvOptions options = matmul();
  options.device = "NVIDIA A100-SXM4-40GB";
  EXPECT_EQ(refusal("m,n,k,time_ms\n4096,4096,4096,1.1\n", options), "accepted");
  EXPECT_THAT(refusal("m,n,k,time_us\n4096,4096,4096,1.1\n", options), HasSubstr("row 2: 1.1 µs is faster than A100"));
  std::string slow = "m,n,k,time_s\n";
  for (int k = 4096; k < 4106; ++k) {
    slow += fmt::format("4096,4096,{},1.1\n", k);
  }
  EXPECT_THAT(refusal(slow, options), HasSubstr("is the unit right?"));
}

/// Half a millisecond is right for float16.
TEST(TimeCsv, RefusesTimesOfAnotherType) {
  CsvOptions options = matmul();
  options.device = "NVIDIA A100-SXM4-40GB";
  EXPECT_EQ(refusal("m,n,k,dtype,time_ms\n4096,4096,4096,float16,0.5\n", options), "accepted");
  EXPECT_THAT(refusal("m,n,k,dtype,time_ms\n4096,4096,4096,float16,0.5\n4096,4096,4096,float32,0.5\n", options),
              HasSubstr("row 3: 500 µs is faster than A100 can be, which needs 881.019 µs by its data sheet: are the "
                        "unit and the type right?"));
}

TEST(TimeCsv, KeysNameTheDeviceOfTensors) {
  const std::string cpu =
      R"(["aten::mm.default",["t:float32:4,4:4,1",["t:float32::"]],{"s":"s:t:x","d":"v:device:cpu"}])";
  const std::string cuda =
      R"(["aten::mm.default",["t:float32:4,4:4,1:cuda",["t:float32:::cuda"]],{"s":"s:t:x","d":"v:device:cuda:0"}])";
  EXPECT_EQ(key_on(cpu, "cuda"), cuda);
  EXPECT_EQ(key_on(cuda, "cpu"), cpu);
  EXPECT_EQ(key_on(cuda, "cuda"), cuda);
  const std::string from_host = R"(["aten::copy_.default",["t:float32:4:1:cuda","t:float32:4:1:pinned",true],{}])";
  EXPECT_EQ(key_on(from_host, "cuda"), from_host) << "a host's memory stays that";
  EXPECT_EQ(key_on(from_host, "cpu"), R"(["aten::copy_.default",["t:float32:4:1","t:float32:4:1",true],{}])");
}

}  // namespace
}  // namespace ridgeline::operations
