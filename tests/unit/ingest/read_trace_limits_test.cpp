#include "ingest/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/import_error.h"
#include "tests/unit/ingest/trace_text.h"
#include "tests/unit/rounds.h"

namespace ridgeline::ingest {
namespace {

using ::testing::AllOf;
using testing::bytes_of;
using testing::event;
using ::testing::HasSubstr;
using testing::trace_of;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

/// `head`, then `unit` again and again to a GiB, which nobody holds; counts what was asked for.
ByteSource endless(std::string head, std::string unit, std::uint64_t& given) {
  return [head = std::move(head), unit = std::move(unit), &given](std::span<char> buffer) {
    std::size_t count = 0;
    for (; count < buffer.size() && given < kGiB; ++count, ++given) {
      buffer[count] = given < head.size() ? head[given] : unit[(given - head.size()) % unit.size()];
    }
    return count;
  };
}

std::string refusal(ByteSource source) {
  try {
    read_trace(std::move(source));
  } catch (const ImportError& error) {
    return error.what();
  }
  return "read";
}

struct Case {
  const char* head;
  const char* unit;
  const char* what;
};

TEST(ReadTrace, RefusesTokensWithoutEnd) {
  const std::string in_event = R"({"traceEvents":[{"ph":"X",)";
  int number = 0;
  for (const Case& one : std::vector<Case>{
           {"", " ", "blanks or brackets longer than 1 MiB at byte 0"},
           {"[", " \n\t", "blanks or brackets longer than 1 MiB at byte 0"},
           {"[", "[],", "blanks or brackets longer than 1 MiB at byte 0"},
           {"[", "null,", "blanks or brackets longer than 1 MiB at byte 0"},
           {"[1", " ", "blanks or brackets longer than 1 MiB at byte 2"},
           {"[", "{},", "blanks or brackets longer than 1 MiB"},
           {"[\"", "x", "string longer than 4 MiB at byte 1"},
           {"[\"", "\\\"", "string longer than 4 MiB at byte 1"},
           {"[\"", "\\u0041", "string longer than 4 MiB at byte 1"},
           {"{\"", "k", "string longer than 4 MiB at byte 1"},
           {"[", "7", "number longer than 4096 bytes at byte 1"},
           {"[-0.", "0", "number longer than 4096 bytes at byte 1"},
           {"[1e", "1", "number longer than 4096 bytes at byte 1"},
       }) {
    std::uint64_t given = 0;
    EXPECT_THAT(refusal(endless(one.head, one.unit, given)), AllOf(HasSubstr(one.what), HasSubstr("record")))
        << one.head << one.unit;
    EXPECT_LT(given, std::uint64_t{6} << 20U) << one.head << one.unit << ": read on";
    if (++number % ridgeline::testing::rounds(1, 5) != 0) {
      continue;
    }
    given = 0;
    const std::string deeper = in_event + R"("name":)" + one.head;
    EXPECT_NE(refusal(endless(deeper, one.unit, given)), "read");
    EXPECT_LT(given, std::uint64_t{6} << 20U) << deeper << one.unit << ": read on";
  }
}

TEST(ReadTrace, TakesTokensWithinItsLimits) {
  TraceLimits limits;
  limits.tokens = {8, 4, 6};
  const std::string text = R"([ "12345678", 1234 , "a\"b", -1.5 , [ [ ] ] , "" ])";
  const auto read = [&](std::size_t chunk) {
    try {
      read_trace(bytes_of(text, chunk), limits);
    } catch (const ImportError& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  for (const std::size_t chunk : {1U, 2U, 3U, 7U, 1000U}) {
    limits.tokens.gap_bytes = 6;
    EXPECT_THAT(read(chunk), HasSubstr("blanks or brackets longer than 6 bytes at byte 33 (line 1, column 34)"));
    limits.tokens.gap_bytes = 16;
    EXPECT_EQ(read(chunk), "read") << chunk;
  }
}

TEST(ReadTrace, CountsWhatStringsTakeInMemory) {
  TraceLimits limits;
  limits.string_bytes = 100'000;
  std::vector<std::string> events;
  for (int i = 0; i < 5000; ++i) {
    events.push_back(event("cpu_op", std::to_string(i), i, 1));
  }
  const Trace trace = read_trace(bytes_of(trace_of(events), 4096), limits);
  EXPECT_LT(trace.strings.size(), 1100U) << "a short string takes a hundred bytes";
  EXPECT_GT(trace.losses.too_many, 3900U);
}

TEST(ReadTrace, KeepsSoManyThreads) {
  TraceLimits limits;
  limits.threads = 3;
  std::vector<std::string> events;
  for (int i = 0; i < 10; ++i) {
    events.push_back(event("cpu_op", "a", i, 1, "", i % 5));
  }
  const Trace trace = read_trace(bytes_of(trace_of(events)), limits);
  EXPECT_EQ(trace.threads.size(), 3U);
  EXPECT_EQ(trace.events.size(), 6U);
  EXPECT_EQ(trace.losses.too_many, 4U);
}

}  // namespace
}  // namespace ridgeline::ingest
