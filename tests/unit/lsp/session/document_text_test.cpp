#include "lsp/session/document_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "lsp/session/documents.h"

namespace ridgeline::lsp {
namespace {

using protocol::Position;
using ::testing::ElementsAre;

constexpr PositionEncoding kUtf8 = PositionEncoding::kUtf8;
constexpr PositionEncoding kUtf16 = PositionEncoding::kUtf16;

std::vector<std::string> lines_of(const Text& text) {
  std::vector<std::string> lines;
  for (std::size_t line = 0; line < text.line_count(); ++line) {
    lines.emplace_back(text.line(line));
  }
  return lines;
}

TEST(Text, HasLines) {
  EXPECT_THAT(lines_of(Text("")), ElementsAre(""));
  EXPECT_THAT(lines_of(Text("a\nb\r\nc\rd")), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(lines_of(Text("\n\r\n\r")), ElementsAre("", "", "", ""));
  EXPECT_THAT(lines_of(Text("\r\r\n\n")), ElementsAre("", "", "", ""));
  EXPECT_THAT(lines_of(Text("a\n")), ElementsAre("a", ""));
}

TEST(Text, FindsBytes) {
  const Text text("aä€😀z\nb");
  EXPECT_EQ(text.offset({0, 0}, kUtf16), 0U);
  EXPECT_EQ(text.offset({0, 1}, kUtf16), 1U);
  EXPECT_EQ(text.offset({0, 2}, kUtf16), 3U);
  EXPECT_EQ(text.offset({0, 3}, kUtf16), 6U);
  EXPECT_EQ(text.offset({0, 4}, kUtf16), std::nullopt) << "inside of a pair";
  EXPECT_EQ(text.offset({0, 5}, kUtf16), 10U);
  EXPECT_EQ(text.offset({0, 6}, kUtf16), 11U);
  EXPECT_EQ(text.offset({0, 3}, kUtf8), 3U);
  EXPECT_EQ(text.offset({0, 2}, kUtf8), std::nullopt) << "inside a character";
  EXPECT_EQ(text.offset({1, 1}, kUtf8), 13U);
}

/// Long lines are counted in blocks: every boundary of a character is found on both sides of them.
TEST(Text, FindsBytesInALongLine) {
  const std::vector<std::string> characters = {"a", "ä", "€", "😀"};
  std::mt19937 random(5);
  std::string line;
  std::vector<std::size_t> bytes;  // by UTF-16 unit; the second of a pair has none
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  while (line.size() < 20'000) {
    const std::string& character = characters[random() % characters.size()];
    bytes.push_back(line.size());
    if (character.size() == 4) {
      bytes.push_back(kNone);
    }
    line += character;
  }
  const Text text(line + "\n");
  for (std::uint32_t unit = 0; unit < bytes.size(); ++unit) {
    const auto expected = bytes[unit] == kNone ? std::nullopt : std::optional(bytes[unit]);
    ASSERT_EQ(text.offset({0, unit}, kUtf16), expected) << unit;
    if (expected.has_value()) {
      ASSERT_EQ(text.position(*expected, kUtf16), (Position{0, unit}));
    }
  }
  EXPECT_EQ(text.offset({0, 1'000'000}, kUtf16), line.size());
}

TEST(Text, ClampsPositions) {
  const Text text("ab\r\ncd\n");
  for (const PositionEncoding encoding : {kUtf8, kUtf16}) {
    EXPECT_EQ(text.offset({0, 99}, encoding), 2U) << "before the line's end";
    EXPECT_EQ(text.offset({2, 5}, encoding), 7U);
    EXPECT_EQ(text.offset({3, 0}, encoding), 7U);
    EXPECT_EQ(text.offset({0xFFFFFFFF, 0xFFFFFFFF}, encoding), 7U);
  }
}

TEST(Text, NamesPositions) {
  const Text text("aä😀\r\nb");
  EXPECT_EQ(text.position(1, kUtf16), (Position{0, 1}));
  EXPECT_EQ(text.position(2, kUtf16), (Position{0, 1})) << "of the character that it is inside of";
  EXPECT_EQ(text.position(7, kUtf16), (Position{0, 4}));
  EXPECT_EQ(text.position(7, kUtf8), (Position{0, 7}));
  EXPECT_EQ(text.position(8, kUtf16), (Position{0, 4})) << "between \\r and \\n";
  EXPECT_EQ(text.position(9, kUtf16), (Position{1, 0}));
  EXPECT_EQ(text.position(1000, kUtf16), (Position{1, 1}));
}

TEST(Text, TellsWhatAChangeDid) {
  Text text("one\ntwo\nthree");
  const ByteEdit edit = text.replace(2, 5, "\n\nx");
  EXPECT_EQ(text.bytes(), "on\n\nxwo\nthree");
  EXPECT_EQ(edit, (ByteEdit{2, 5, 5, {0, 2}, {1, 1}, {2, 1}}));
  EXPECT_THAT(lines_of(text), ElementsAre("on", "", "xwo", "three"));
}

TEST(Text, JoinsAndPartsLineEnds) {
  Text text("a\r\nb");
  text.replace(2, 3, "");
  EXPECT_THAT(lines_of(text), ElementsAre("a", "b"));
  text.replace(2, 2, "\n");
  EXPECT_THAT(lines_of(text), ElementsAre("a", "b"));
  text.replace(2, 2, "x");
  EXPECT_EQ(text.bytes(), "a\rx\nb");
  EXPECT_THAT(lines_of(text), ElementsAre("a", "x", "b"));
  text.replace(1, 4, "");
  EXPECT_THAT(lines_of(text), ElementsAre("ab"));
}

/// What a text is changed by: line ends, and characters of one to four bytes.
const std::vector<std::string> kPieces = {"\n", "\r", "\r\n", "a", "ä", "€", "😀", "bc", "", "\n\n", "\r\r\n", "x\ny"};

/// Offsets at which a character begins, and the end.
std::vector<std::size_t> boundaries(const std::string& bytes) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    if (at == bytes.size() || (static_cast<unsigned char>(bytes[at]) & 0xC0U) != 0x80) {
      found.push_back(at);
    }
  }
  return found;
}

TEST(Text, AfterAnyChangesIsAsReadAnew) {
  std::mt19937 random(7);
  Text text;
  for (int round = 0; round < 20'000; ++round) {
    const std::vector<std::size_t> places = boundaries(text.bytes());
    std::size_t begin = places[random() % places.size()];
    std::size_t end = places[random() % places.size()];
    if (begin > end) {
      std::swap(begin, end);
    }
    end = std::min(end, begin + (text.bytes().size() > 60 ? 20 : 3));
    while (std::find(places.begin(), places.end(), end) == places.end()) {
      --end;
    }
    text.replace(begin, end, kPieces[random() % kPieces.size()] + kPieces[random() % kPieces.size()]);
    ASSERT_EQ(lines_of(text), lines_of(Text(text.bytes()))) << round;
  }
}

TEST(Text, PositionsAndBytesAreEachOthersInverse) {
  std::mt19937 random(3);
  std::string bytes;
  for (int piece = 0; piece < 2000; ++piece) {
    bytes += kPieces[random() % kPieces.size()];
  }
  const Text text(bytes);
  for (const PositionEncoding encoding : {kUtf8, kUtf16}) {
    for (const std::size_t at : boundaries(bytes)) {
      const bool inside_line_end = at > 0 && at < bytes.size() && bytes[at - 1] == '\r' && bytes[at] == '\n';
      EXPECT_EQ(text.offset(text.position(at, encoding), encoding), inside_line_end ? at - 1 : at);
    }
  }
}

Document document_of(std::string text, PositionEncoding encoding = kUtf16) {
  return Document({"file:///a.py", "python", 1, std::move(text)}, "/a.py", encoding);
}

protocol::TextDocumentContentChange part(Position start, Position end, std::string text) {
  return {protocol::Range{start, end}, std::move(text)};
}

TEST(Document, AppliesChangesInTheirOrder) {
  Document document = document_of("ab\ncd");
  const auto [edits, error] = document.change(
      2, std::vector{part({0, 1}, {1, 1}, "X\nY"), part({1, 0}, {1, 1}, "😀"), part({1, 2}, {1, 2}, "!")});
  EXPECT_EQ(document.bytes(), "aX\n😀!d");
  EXPECT_EQ(document.version(), 2);
  EXPECT_EQ(error, std::nullopt);
  ASSERT_EQ(edits.size(), 3U);
  EXPECT_EQ(edits[2].begin, 7U);
  EXPECT_EQ(edits[2].new_end, 8U);
}

/// A document as a list of characters, which counts positions the slow way.
struct Model {
  std::u32string text;

  static std::uint32_t units(char32_t character, PositionEncoding encoding) {
    if (encoding == kUtf16) {
      return character >= 0x10000 ? 2 : 1;
    }
    return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  }
  Position position(std::size_t at, PositionEncoding encoding) const {
    Position found;
    for (std::size_t i = 0; i < at; ++i) {
      const bool half = text[i] == U'\r' && i + 1 < text.size() && text[i + 1] == U'\n';
      if (text[i] == U'\n' || (text[i] == U'\r' && !half)) {
        found = {found.line + 1, 0};
      } else if (!half) {
        found.character += units(text[i], encoding);
      }
    }
    return found;
  }
  /// Where there is no position: between \r and \n.
  bool inside_line_end(std::size_t at) const {
    return at > 0 && at < text.size() && text[at - 1] == U'\r' && text[at] == U'\n';
  }
  std::string bytes() const {
    std::string all;
    for (const char32_t character : text) {
      const auto part = [&](unsigned shift, unsigned mark) {
        all.push_back(static_cast<char>(mark | ((character >> shift) & 0x3FU)));
      };
      switch (units(character, kUtf8)) {
        case 1:
          all.push_back(static_cast<char>(character));
          break;
        case 2:
          all.push_back(static_cast<char>(0xC0U | (character >> 6U)));
          part(0, 0x80);
          break;
        case 3:
          all.push_back(static_cast<char>(0xE0U | (character >> 12U)));
          part(6, 0x80);
          part(0, 0x80);
          break;
        default:
          all.push_back(static_cast<char>(0xF0U | (character >> 18U)));
          part(12, 0x80);
          part(6, 0x80);
          part(0, 0x80);
      }
    }
    return all;
  }
};

TEST(Document, FollowsRandomEditsAsAModelDoes) {
  static const std::u32string kCharacters = U"ab\n\r\u00e4\u20ac\U0001F600\U0001F9EA ";
  for (const PositionEncoding encoding : {kUtf8, kUtf16}) {
    std::mt19937 random(encoding == kUtf8 ? 11 : 12);
    Model model;
    Document document = document_of("", encoding);
    for (int round = 0; round < 10'000; ++round) {
      const std::size_t first = random() % (model.text.size() + 1);
      const std::size_t second = std::min(model.text.size(), first + random() % 6);
      if (model.inside_line_end(first) || model.inside_line_end(second)) {
        continue;
      }
      Model inserted;
      for (std::size_t count = random() % (model.text.size() > 80 ? 3 : 6); count > 0; --count) {
        inserted.text.push_back(kCharacters[random() % kCharacters.size()]);
      }
      const auto applied = document.change(
          round + 2,
          std::vector{part(model.position(first, encoding), model.position(second, encoding), inserted.bytes())});
      model.text.replace(first, second - first, inserted.text);
      ASSERT_EQ(applied.error, std::nullopt) << round;
      ASSERT_EQ(document.bytes(), model.bytes()) << round;
    }
  }
}

TEST(Document, IsOutOfSyncAfterAnInvalidChange) {
  for (const auto& bad : {part({0, 2}, {0, 1}, "x"), part({1, 0}, {0, 0}, "x"), part({0, 3}, {0, 3}, "x")}) {
    Document document = document_of("ab😀\ncd");
    const auto [edits, error] =
        document.change(2, std::vector{part({1, 0}, {1, 1}, "C"), bad, part({0, 0}, {0, 0}, "y")});
    EXPECT_TRUE(error.has_value());
    EXPECT_FALSE(document.in_sync());
    EXPECT_EQ(edits.size(), 1U);
    EXPECT_EQ(document.bytes(), "ab😀\nCd");
    const auto skipped = document.change(3, std::vector{part({0, 0}, {0, 0}, "y")});
    EXPECT_TRUE(skipped.edits.empty());
    EXPECT_EQ(skipped.error, std::nullopt) << "reported once";
    document.change(4, std::vector{protocol::TextDocumentContentChange{std::nullopt, "all"}});
    EXPECT_TRUE(document.in_sync());
    EXPECT_EQ(document.bytes(), "all");
  }
}

TEST(Document, TakesAKeyInALargeFileInWellUnderAMillisecond) {
  std::string large;
  while (large.size() < 1'000'000) {
    large += "        x = self.layer(x, scale=1.0) # " + std::to_string(large.size() % 1000) + "\n";
  }
  Document document = document_of(large);
  std::mt19937 random(5);
  int errors = 0;
  constexpr int kKeys = 2000;
  const auto start = std::chrono::steady_clock::now();
  for (int key = 0; key < kKeys; ++key) {
    const Position at{static_cast<std::uint32_t>(random() % document.text().line_count()), 5};
    errors += document.change(key + 2, std::vector{part(at, at, key % 20 == 0 ? "\n" : "y")}).error.has_value() ? 1 : 0;
  }
  const std::chrono::duration<double, std::milli> each = (std::chrono::steady_clock::now() - start) / kKeys;
  RecordProperty("microseconds_per_key", std::to_string(each.count() * 1000));
  EXPECT_EQ(errors, 0);
#ifdef NDEBUG  // what is shipped; the sanitizers' builds are slower
  EXPECT_LT(each.count(), 1.0);
#endif
}

TEST(Documents, AreFoundByUriAndPath) {
  Documents documents;
  documents.open(document_of("x"));
  EXPECT_EQ(documents.find("file:///a.py")->bytes(), "x");
  EXPECT_EQ(documents.find_path("/a.py")->bytes(), "x");
  EXPECT_EQ(documents.find("file:///b.py"), nullptr);
  EXPECT_EQ(documents.find_path(""), nullptr);
  documents.open(document_of("y"));
  EXPECT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents.close("file:///a.py")->bytes(), "y");
  EXPECT_FALSE(documents.close("file:///a.py").has_value());
}

}  // namespace
}  // namespace ridgeline::lsp
