// Traces that were written wrongly, or came to harm: what is whole is read, and what was lost is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/import_error.h"
#include "ingest/import_warnings.h"
#include "ingest/read_trace.h"
#include "tests/unit/ingest/trace_text.h"

namespace ridgeline::ingest {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::event;
using testing::gzip;
using ::testing::HasSubstr;
using testing::trace_of;

/// "aten::mm 1000-6000", in nanoseconds.
std::vector<std::string> events_of(const Trace& trace) {
  std::vector<std::string> all;
  for (const TraceEvent& one : trace.events) {
    all.push_back(trace.strings[one.name] + " " + std::to_string(one.start) + "-" + std::to_string(one.end));
  }
  return all;
}

Trace read_text(const std::string& text, std::size_t chunk = 7) { return read_trace(bytes_of(text, chunk)); }

/// An event as text, with the name and what follows it as they are.
std::string raw_event(const std::string& name, const std::string& rest = R"(,"ts":1,"dur":5)") {
  return R"({"ph":"X","cat":"cpu_op","pid":1,"tid":1,"name":)" + name + rest + "}";
}

const std::string kBefore = event("cpu_op", "before", 0, 1);
const std::string kAfter = event("cpu_op", "after", 9, 1);

/// What is read of an event between two whole ones; these are read in any case.
struct Between {
  std::vector<std::string> events;
  TraceDamage damage;
};

Between between(const std::string& text) {
  Between result;
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{13}, std::size_t{100'000}}) {
    const Trace trace = read_text(R"({"traceEvents":[)" + kBefore + "," + text + "," + kAfter + "]}", chunk);
    std::vector<std::string> events = events_of(trace);
    EXPECT_EQ(events.front(), "before 0-1000") << text;
    EXPECT_EQ(events.back(), "after 9000-10000") << text;
    events = {events.begin() + 1, events.end() - 1};
    EXPECT_TRUE(chunk == 1 || events == result.events) << text << ": it depends on how the file is read";
    result = {events, trace.damage};
  }
  return result;
}

TEST(DamagedTrace, ReadsEventsThatAreNoJson) {
  struct Case {
    std::string text;
    std::string event;
    std::uint64_t repaired;
  };
  for (const Case& one : std::vector<Case>{
           {raw_event("\"mm\"", R"(,"ts":1,"dur":5,"args":{"a":NaN,"b":-Infinity,"c":inf,"d":nan(ind),"e":None})"),
            "mm 1000-6000", 0},
           {raw_event("\"two\nlines\tand a tab\""), "two\nlines\tand a tab 1000-6000", 0},
           {raw_event(R"("say "hi", "x" or not")"), R"(say "hi", "x" or not 1000-6000)", 1},
           {raw_event(R"x("f<"a">(b)")x"), R"(f<"a">(b) 1000-6000)", 1},
           {raw_event(R"("proj\utils\model.py(3): f")"), R"(proj\utils\model.py(3): f 1000-6000)", 1},
           {raw_event(R"("C:\new\train.py(3): f")"), R"(C:\new\train.py(3): f 1000-6000)", 0},
           {raw_event(R"("new\train.py(3): f")"), R"(new\train.py(3): f 1000-6000)", 0},
           {raw_event(R"("C:\\new\\train.py(3): f")"), R"(C:\new\train.py(3): f 1000-6000)", 0},
           {raw_event(R"("D:\data\")"), R"(D:\data\ 1000-6000)", 1},
           {raw_event("\"mm\"", R"(,"ts":"1.000","dur":" 5 ")"), "mm 1000-6000", 0},
           {raw_event("\"mm\"", R"(,"ts":"1.000","dur":"5.0.000")"), "mm 1000-6000", 0},
           {raw_event("\"mm\"", R"(,"ts":1,5,"dur":4,5)"), "mm 1500-6000", 1},
           {raw_event("\"mm\"", R"(,"ts":1,"dur":5,"args":{"a":,"b":})"), "mm 1000-6000", 1},
           {raw_event("\"mm\"", R"(,,"ts":1,"dur":+5,)"), "mm 1000-6000", 0},
           {raw_event("\"mm\"", R"(,"ts":1,"dur":5,"args":{"Input Dims":[[1,],[]],"x":"a"b"})"), "mm 1000-6000", 1},
           {R"({"ph":"X","cat":"cpu_op","name":"mm","ts":1,"dur":5,"args":{"a":1})", "mm 1000-6000", 1},
       }) {
    const Between read = between(one.text);
    EXPECT_THAT(read.events, ElementsAre(one.event)) << one.text;
    EXPECT_EQ(read.damage.repaired, one.repaired) << one.text;
    EXPECT_EQ(read.damage.lost, 0U) << one.text;
  }
}

TEST(DamagedTrace, LosesNoMoreThanTheEventThatIsDamaged) {
  const std::string half = R"({"ph":"X","cat":"cpu_op","name":"mm","ts":1,)";
  for (const std::string& text : {
           half + std::string(5000, '\0') + R"("dur":5})",  // a block of the file was not written
           half + R"("dur":"abc)",
           half + "\x01\x02\x03 garbage {{{ \"",
           half + R"("name":"another","ts":7,"dur":1 #})",  // what is left of two events
           half + R"("dur" 5})",
       }) {
    const Between read = between(text);
    EXPECT_THAT(read.events, ElementsAre()) << text;
    EXPECT_EQ(read.damage.lost, 1U) << text;
    EXPECT_THAT(read.damage.first, HasSubstr("(line 1, column ")) << text;
  }
}

TEST(DamagedTrace, GoesOnBehindWhatIsNoEvent) {
  EXPECT_THAT(between("]").events, ElementsAre());
  EXPECT_THAT(between("null, 3, \"text\", [1, {\"a\": 2}],,").events, ElementsAre());
  EXPECT_THAT(between("}}, $%&").events, ElementsAre());
  EXPECT_EQ(between("}").damage.places, 1U);
  const Trace trace = read_text(kBefore.substr(20) + ", \n" + event("cpu_op", "x", 1, 5) + kAfter + "]}");
  EXPECT_THAT(events_of(trace), ElementsAre("x 1000-6000", "after 9000-10000")) << "its beginning is missing";
}

TEST(DamagedTrace, CountsNothingAsLostWhereNothingWas) {
  for (const std::string& text : {
           "[" + kBefore + "," + kAfter + ",]",
           "\xEF\xBB\xBF{\"traceEvents\":[" + kBefore + kAfter + "],}\n\n",
           R"({"traceName":"C:\traces\a.json","traceEvents":[)" + kBefore + "," + kAfter + "]}",
       }) {
    const Trace trace = read_text(text);
    EXPECT_EQ(trace.events.size(), 2U) << text;
    EXPECT_EQ(what_damaged(trace.damage, trace.losses), "") << text;
  }
}

TEST(DamagedTrace, LeavesOutWhatFollowsItsEnd) {
  for (const std::string& more : {std::string(3000, '\0'), std::string("}"), std::string("\n{\"traceEvents\":[]}"),
                                  std::string("Saved the trace.")}) {
    const Trace trace = read_text(trace_of({kBefore, kAfter}) + more);
    EXPECT_EQ(trace.events.size(), 2U) << more;
    EXPECT_TRUE(trace.damage.has_more) << more;
    EXPECT_EQ(trace.damage.lost, 0U) << more;
  }
}

TEST(DamagedTrace, ShowsBytesThatAreNotUtf8) {
  const Between read = between(raw_event("\"caf\xE9 \xC3\xA9\""));
  EXPECT_THAT(read.events, ElementsAre("caf\uFFFD \u00E9 1000-6000"));
  EXPECT_EQ(read.damage.not_utf8, 1U);
  EXPECT_THAT(what_damaged(read.damage, {}), HasSubstr("1 name has bytes that are not UTF-8"));
}

/// The events that end within so many bytes of the trace.
std::size_t whole_events(const std::string& text, std::size_t size) {
  std::size_t count = 0;
  for (std::size_t at = text.find("}}"); at != std::string::npos; at = text.find("}}", at + 1)) {
    count += at + 2 <= size ? 1U : 0U;
  }
  return count;
}

TEST(DamagedTrace, ReadsWhatIsWholeWhereItIsCutOff) {
  const std::string text = trace_of({kBefore, event("kernel", "gemm", 4, 2, R"("name": "a")"), kAfter});
  for (std::size_t size = 1; size < text.size(); ++size) {
    const std::size_t whole = whole_events(text, size);
    try {
      const Trace trace = read_text(text.substr(0, size));
      EXPECT_EQ(trace.events.size(), whole) << text.substr(0, size);
      EXPECT_TRUE(trace.damage.is_cut_off || size + 2 > text.size()) << text.substr(0, size);
    } catch (const ImportError& error) {
      EXPECT_EQ(whole, 0U) << text.substr(0, size);
      EXPECT_THAT(error.what(), HasSubstr("ends too early"));
    }
  }
}

TEST(DamagedTrace, InflatesWhatIsWholeWhereItIsCutOff) {
  std::vector<std::string> events;
  for (int i = 0; i < 300; ++i) {
    events.push_back(event("cpu_op", "op" + std::to_string(i * 7919 % 1000), i, 1));
  }
  const std::string packed = gzip(trace_of(events));
  std::size_t last = 0;
  for (std::size_t size = 1000; size < packed.size(); size += 97) {
    const Trace trace = read_text(packed.substr(0, size), 4096);
    EXPECT_GE(trace.events.size(), last);
    last = trace.events.size();
  }
  EXPECT_GT(last, 250U);
  EXPECT_EQ(read_text(packed + "garbage", 4096).events.size(), 300U);
  EXPECT_TRUE(read_text(packed + "garbage", 4096).damage.has_more);
  std::string damaged = packed;
  damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 0x55);  // of the checksum
  EXPECT_TRUE(read_text(damaged, 4096).damage.is_archive_damaged);
}

std::string mark(char phase, std::string_view name, int ts, std::string_view category = "cpu_op") {
  return fmt::format(R"({{"ph":"{}","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{}}})", phase, category, name, ts);
}

TEST(DamagedTrace, JoinsBeginningsAndEnds) {
  const Trace nested = testing::read({mark('B', "outer", 1), mark('B', "inner", 2), mark('B', "s", 3, "ac2g"),
                                      mark('E', "s", 4, "ac2g"), mark('E', "", 5), mark('E', "outer", 9)});
  EXPECT_THAT(events_of(nested), ElementsAre("outer 1000-9000", "inner 2000-5000"));
  const Trace apart = testing::read({mark('E', "a", 5), mark('E', "b", 6), mark('B', "b", 2), mark('B', "a", 1)});
  EXPECT_THAT(events_of(apart), ElementsAre("b 2000-6000", "a 1000-5000")) << "they overlap, and are in no order";
  EXPECT_EQ(apart.damage.unpaired, 0U);
}

TEST(DamagedTrace, LeavesOutBeginningsWithoutAnEnd) {
  const Trace trace = testing::read({mark('B', "open", 1), mark('E', "never begun", 2),
                                     event("kernel", "gemm", 4, 2, R"("Collective name": "allreduce")")});
  EXPECT_THAT(events_of(trace), ElementsAre("gemm 4000-6000"));
  EXPECT_EQ(trace.collectives.at(0).event, 0U);
  EXPECT_EQ(trace.damage.unpaired, 2U);
}

TEST(DamagedTrace, SaysItInOneWarning) {
  const std::string text = R"({"traceEvents":[)" + kBefore + ",\n" + R"({"ph":"X","name":"m" x},)" + "\n" +
                           raw_event(R"("a "b" c")") + "," + raw_event("\"m\"", R"(,"ts":NaN,"dur":1)") + "," + kAfter +
                           ",";
  TraceContents contents;
  const Trace trace = read_text(text);
  contents.damage = trace.damage;
  contents.losses = trace.losses;
  const std::vector<std::string> warnings = import_warnings(contents);
  EXPECT_THAT(warnings.front(), HasSubstr("The file is damaged: it is cut off"));
  EXPECT_THAT(warnings.front(), HasSubstr("1 event could not be read; 1 event that is not valid JSON was read"));
  EXPECT_THAT(warnings.front(), HasSubstr("1 event has no time, left out"));
  EXPECT_THAT(warnings.front(), HasSubstr("(line 2, column 22), near"));
  EXPECT_EQ(std::ranges::count_if(warnings, [](const auto& one) { return one.find("damaged") != std::string::npos; }),
            1);
}

TEST(DamagedTrace, NamesFilesThatAreNoTraces) {
  using namespace std::literals;
  for (const auto& [first, what] : std::vector<std::pair<std::string, const char*>>{
           {"PK\x03\x04\x14", "zip archive"},
           {"PK\x03\x04\x14 archive/data.pkl", "torch.save()"},
           {"\xFD"
            "7zXZ\0\0"s,
            "xz -d"},
           {"\x28\xB5\x2F\xFD....", "zstd -d"},
           {"BZh91AY", "bzip2 -d"},
           {"\x80\x04\x95\x10\0"s, "pickle"},
           {"\xFF\xFE{\0\"\0"s, "iconv -f UTF-16"},
           {"{\0\"\0t\0"s, "iconv -f UTF-16"},
           {"\n\x12\x0a\x07plane", "protobuf"},
           {"  <!DOCTYPE HTML><html>", "web page"},
           {std::string(257, 'a') + "ustar\0"s, "tar archive"},
           {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
           {gzip(gzip("[]")), "compressed twice"},
       }) {
    try {
      read_text(first);
      ADD_FAILURE() << what;
    } catch (const ImportError& error) {
      EXPECT_THAT(error.what(), HasSubstr(what));
    }
  }
}

}  // namespace
}  // namespace ridgeline::ingest
