#include "protocol/failure_kind.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace ridgeline::protocol {
namespace {

TEST(FailureKind, HasOneNameEach) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kFailureKinds; ++i) {
    const auto kind = static_cast<FailureKind>(i);
    EXPECT_EQ(info_of(kind).kind, kind);
    EXPECT_EQ(failure_kind_named(name_of(kind)), kind);
    EXPECT_TRUE(names.insert(name_of(kind)).second) << name_of(kind);
  }
  EXPECT_EQ(failure_kind_named("no such kind"), std::nullopt);
  EXPECT_EQ(failure_kind_named(""), std::nullopt);
}

/// docs/user/errors.md has a row for each kind, with its exit code.
TEST(FailureKind, IsDocumented) {
  std::ifstream file(RIDGELINE_SOURCE_DIR "/docs/user/errors.md");
  const std::regex row("\\| `([a-z-]+)` \\|\\s*(\\d*)\\s*\\|.*");
  std::map<std::string, int> documented;
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, found, row)) {
      documented[found[1]] = found[2].length() == 0 ? 0 : std::stoi(found[2]);
    }
  }
  std::map<std::string, int> known;
  for (std::size_t i = 0; i < kFailureKinds; ++i) {
    const FailureKindInfo& info = info_of(static_cast<FailureKind>(i));
    known[std::string(info.name)] = info.exit_code;
  }
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace ridgeline::protocol
