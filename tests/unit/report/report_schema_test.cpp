#include "report/report_schema.h"

#include <gtest/gtest.h>

#include "expected.h"

namespace ridgeline::report {
namespace {

TEST(ReportSchema, IsGeneratedFromTheFields) {
  testing::expect_file("../../../protocol/report.schema.json", report_schema());
}

TEST(ComparisonSchema, IsGeneratedFromTheFields) {
  testing::expect_file("../../../protocol/comparison.schema.json", comparison_schema());
}

}  // namespace
}  // namespace ridgeline::report
