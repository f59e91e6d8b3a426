// Damaged recordings, by chance and always the same ones: refused or harmless, but never a crash. What makes this a
// test is the address sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "analysis/build_profile.h"
#include "protocol/recording.h"
#include "tests/unit/protocol/small_recording.h"

namespace ridgeline::recording {
namespace {

/// Touches every value that a reader could.
std::uint64_t read_all(const Recording& recording) {
  std::uint64_t sum = 0;
#define RIDGELINE_COLUMN(name, number, type)  \
  for (const type value : recording.name()) { \
    sum += value > 0 ? 1U : 0U;               \
  }
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
  for (std::uint32_t i = 0; i < recording.string_ends().size(); ++i) {
    sum += recording.string(i).size();
  }
  return sum;
}

/// Everything that the daemon does with a recording.
void analyse(const Recording& recording) {
  analysis::RunInput input;
  input.scope = {"/project", {"/env"}};
  input.batch_size = 1;
  input.runs = {{1, 0, {1e6, 2e6}, recording}};
  const analysis::Profile profile = analysis::build_profile(input);
  std::uint64_t categories = 0;
  for (const std::uint64_t bytes : profile.by_category) {
    categories += bytes;
  }
  EXPECT_EQ(categories, profile.peak_bytes);
  EXPECT_TRUE(std::isfinite(profile.scale));
}

/// Flips, sets or copies a few bytes anywhere behind `first`. Returns how many of the results were accepted.
int mutate(std::size_t first, unsigned seed, int rounds) {
  const std::string whole = serialise(testing::small_columns());
  std::mt19937 random(seed);
  int accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = whole;
    for (auto change = 1 + random() % 3; change > 0; --change) {
      const std::size_t place = first + random() % (bytes.size() - first);
      switch (random() % 4) {
        case 0:
          bytes[place] = static_cast<char>(bytes[place] ^ (1 << (random() % 8)));
          break;
        case 1:
          bytes[place] = static_cast<char>(random() % 2 == 0 ? 0xFF : random() % 256);
          break;
        case 2:
          std::memset(bytes.data() + place, 0xFF, std::min<std::size_t>(8, bytes.size() - place));
          break;
        default:
          bytes[place] = bytes[first + random() % (bytes.size() - first)];
      }
    }
    if (const auto recording = Recording::parse(std::move(bytes))) {
      ++accepted;
      read_all(*recording);
      analyse(*recording);
    }
  }
  return accepted;
}

TEST(RecordingMutation, AnywhereIsHarmless) { mutate(0, 1, 4000); }

TEST(RecordingMutation, InTheDirectoryIsHarmless) {
  mutate(sizeof(Header), 2, 2000);  // the first half of a small recording is its directory
}

TEST(RecordingMutation, InTheColumnsIsHarmless) {
  const std::string whole = serialise(testing::small_columns());
  Header header{};
  std::memcpy(&header, whole.data(), sizeof(header));
  const int accepted = mutate(sizeof(Header) + header.column_count * sizeof(DirectoryEntry), 3, 6000);
  EXPECT_GT(accepted, 1000);  // else nothing was analysed
}

}  // namespace
}  // namespace ridgeline::recording
