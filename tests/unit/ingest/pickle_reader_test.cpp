#include "ingest/pickle_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ingest/import_error.h"

namespace ridgeline::ingest {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using Kind = PickleValue::Kind;

ByteSource pickled(std::string bytes, std::size_t piece = 3) {
  return [bytes = std::move(bytes), piece](std::span<char> buffer) mutable {
    const std::size_t count = bytes.copy(buffer.data(), std::min(piece, buffer.size()));
    bytes.erase(0, count);
    return count;
  };
}

std::optional<std::uint64_t> take_no_dict(PickleReader& /*reader*/, PickleValue /*dict*/) { return std::nullopt; }

PickleValue pickle_value(std::string bytes) { return PickleReader(pickled(std::move(bytes)), take_no_dict).read(); }

std::string pickle_refusal(std::string bytes, const PickleLimits& limits = {}) {
  try {
    PickleReader(pickled(std::move(bytes)), take_no_dict, limits).read();
  } catch (const ImportError& error) {
    return error.what();
  }
  return "read";
}

TEST(PickleReader, ReadsNumbersOfEveryLength) {
  const auto integer = [](std::string bytes) { return static_cast<std::int64_t>(pickle_value(std::move(bytes)).bits); };
  EXPECT_EQ(integer("\x80\x04K\xff."s), 255);
  EXPECT_EQ(integer("\x80\x04M\x01\x02."s), 0x201);
  EXPECT_EQ(integer("\x80\x04J\xff\xff\xff\xff."s), -1);
  EXPECT_EQ(integer("\x80\x02\x8a\x02\x00\xff."s), -256);
  EXPECT_EQ(integer("\x80\x02\x8a\x06\x00\x00\x00\x00\x00\x7f."s), 0x7F0000000000);
  EXPECT_EQ(integer("\x80\x04\x88."s), 1);
  // 2^63 has a ninth byte; what is longer is no number that a snapshot has.
  EXPECT_EQ(pickle_value("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."s).bits, std::uint64_t{1} << 63U);
  EXPECT_EQ(pickle_value("\x80\x02\x8a\x0a\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01."s).kind, Kind::kNone);
  const PickleValue real = pickle_value("\x80\x04G\x3f\xf8\x00\x00\x00\x00\x00\x00."s);
  EXPECT_EQ(std::bit_cast<double>(real.bits), 1.5);
}

TEST(PickleReader, RemembersWhatItSaid) {
  // a = [5]; [a, a, ("x", "x")]
  PickleReader reader(pickled("\x80\x04]\x94(]\x94K\x05\x61h\x01\x8c\x01x\x94h\x02\x86\x65."s), take_no_dict);
  const auto values = reader.list(reader.read());
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0].bits, values[1].bits);
  EXPECT_EQ(reader.list(values[1])[0].bits, 5U);
  ASSERT_EQ(reader.list(values[2]).size(), 2U);
  EXPECT_EQ(reader.text(reader.list(values[2])[1]), "x");
}

TEST(PickleReader, GivesEachDictToTheCallerOnceItIsComplete) {
  int taken = 0;
  // d = {"a": 7}; [d, d]
  PickleReader reader(pickled("\x80\x04]\x94(}\x94\x8c\x01\x61\x94K\x07sh\x01\x65."s),
                      [&](PickleReader& from, PickleValue dict) {
                        ++taken;
                        return std::optional(from.find(dict, "a").bits + 100);
                      });
  const auto values = reader.list(reader.read());
  EXPECT_EQ(taken, 1);
  ASSERT_EQ(values.size(), 2U);
  for (const PickleValue value : values) {
    EXPECT_EQ(value.kind, Kind::kObject);
    EXPECT_EQ(value.bits, 107U);
  }
}

TEST(PickleReader, EndsWhereTheFileDoes) {
  // [1, {"a": 2, "b": ...
  PickleReader reader(pickled("\x80\x04]\x94(K\x01}\x94(\x8c\x01\x61\x94K\x02\x8c\x01\x62"s), take_no_dict);
  const auto values = reader.list(reader.read());
  EXPECT_TRUE(reader.is_cut_off());
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(reader.find(values[1], "a").bits, 2U);
  EXPECT_EQ(reader.find(values[1], "b").kind, Kind::kNone);
}

TEST(PickleReader, RefusesWhatItCannotTakeAsData) {
  EXPECT_THAT(pickle_refusal("\x80\x02"
                             "cos\nsystem\n."s),
              HasSubstr("would run code"));
  EXPECT_THAT(pickle_refusal("\x80\x04\x8c\x02os\x8c\x06system\x93."s), HasSubstr("would run code"));
  EXPECT_THAT(pickle_refusal("\x80\x09."s), HasSubstr("protocol 9"));
  EXPECT_THAT(pickle_refusal("\x80\x04\x01."s), HasSubstr("no operation 0x01"));
  EXPECT_THAT(pickle_refusal("\x80\x04h\x05."s), HasSubstr("refers to what it has not said"));
  EXPECT_THAT(pickle_refusal("\x80\x04K\x01K\x02."s), HasSubstr("amid its values"));
  EXPECT_THAT(pickle_refusal("\x80\x04K\x01K\x02\x61."s), HasSubstr("no list"));
  EXPECT_THAT(pickle_refusal("\x80\x04s."s), HasSubstr("missing"));
  EXPECT_THAT(pickle_refusal(""), HasSubstr("before it says anything"));
  EXPECT_THAT(pickle_refusal("\x80\x04X\xff\xff\xff\xff"s), HasSubstr("longer than any"));
  PickleLimits limits;
  limits.stack = 2;
  EXPECT_THAT(pickle_refusal("\x80\x04(((.", limits), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace ridgeline::ingest
