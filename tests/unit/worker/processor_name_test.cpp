#include "worker/processor_name.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace ridgeline::worker {
namespace {

std::string name_in(const std::string& cpuinfo) {
  std::istringstream text(cpuinfo);
  return processor_name_in(text);
}

TEST(ProcessorName, IsTheModelOnX86) {
  EXPECT_EQ(name_in("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\n"
                    "model name\t: Intel(R) Xeon(R) Processor\n\nprocessor\t: 1\nmodel name\t: another\n"),
            "Intel(R) Xeon(R) Processor");
}

TEST(ProcessorName, IsThatOfThePartsOnArm) {
  const auto of = [](const char* implementer, const char* part) {
    return std::string("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: ") + implementer +
           "\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: " + part + "\nCPU revision\t: 1\n\n";
  };
  EXPECT_EQ(name_in(of("0x41", "0xd0c") + of("0x41", "0xd0c")), "Arm Neoverse N1");
  EXPECT_EQ(name_in(of("0x41", "0xd05") + of("0x41", "0xd0b")), "Arm Cortex-A55 + Arm Cortex-A76");
  EXPECT_EQ(name_in(of("0xc0", "0xac3")), "Ampere Ampere-1");
  EXPECT_EQ(name_in(of("0x41", "0xfff")), "Arm part 0xfff");
  EXPECT_EQ(name_in(of("0x77", "0x001")), "implementer 0x77 part 0x001");
}

TEST(ProcessorName, IsUnknownWhereTheTextDoesNotSay) {
  EXPECT_EQ(name_in(""), "unknown processor");
  EXPECT_EQ(name_in("CPU implementer"), "unknown processor");
}

}  // namespace
}  // namespace ridgeline::worker
