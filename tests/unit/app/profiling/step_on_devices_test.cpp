#include "app/profiling/step_on_devices.h"

#include <gtest/gtest.h>

#include "operations/device/data_sheets.h"
#include "tests/unit/temporary_folder.h"

namespace ridgeline::app {
namespace {

TEST(OnDevices, ARecordedStepTakesOnItsOwnDeviceWhatWasRecorded) {
  const testing::TemporaryFolder folder;
  auto table = operations::OperationTable::open((folder.path() / "operations.sqlite").string());
  ASSERT_TRUE(table.has_value());
  const operations::Device t4 = *operations::find_data_sheet("T4");
  const operations::ListedStep recorded{
      .batch_size = 0,
      .operations = {operations::CountedOperation(
                         R"(["aten::mm.default",["t:float32:4,4:4,1:cuda","t:float32:4,4:4,1:cuda"],{}])", 3, 5e3),
                     operations::CountedOperation("a kernel of mine", 2, 1e3)},
      .recorded_on = operations::RecordedOn{t4, 0.9, 1.2}};
  const auto found =
      on_devices(recorded, {*named_device("Tesla T4"), *named_device("A100"), *named_device("P4")}, *table, {});
  ASSERT_TRUE(found.has_value());
  const operations::StepOnDevice& own = (*found)[0].steps[0];
  EXPECT_EQ(own.sources.measured, 5);
  EXPECT_DOUBLE_EQ(*own.ns, 17e3);
  EXPECT_DOUBLE_EQ(own.low_ns, 0.9 * 17e3);
  EXPECT_DOUBLE_EQ(*own.high_ns, 1.2 * 17e3);
  for (std::size_t i = 1; i < found->size(); ++i) {
    const operations::StepOnDevice& other = (*found)[i].steps[0];
    EXPECT_FALSE(other.ns.has_value());
    EXPECT_EQ(other.sources.bounded, 3);
    EXPECT_EQ(other.sources.unknown, 2);
  }
}

}  // namespace
}  // namespace ridgeline::app
