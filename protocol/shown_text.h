// Text from outside (exceptions, settings, names, output, hosts), made fit for where it is shown. Each place that shows
// text has one function here, and everything shown there goes through it: what is text stays text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ridgeline::protocol {

struct Character {
  char32_t code = 0xFFFD;
  std::size_t bytes = 1;
};

/// The character at the front of `text`, which is not empty. Anything that is not UTF-8 is one byte of U+FFFD.
Character first_character(std::string_view text);

/// For a terminal or a log, on one line: white space becomes a blank; control characters, escapes, marks that reorder
/// text and invalid UTF-8 become U+FFFD.
std::string printable(std::string_view text);

inline constexpr std::size_t kMaxShownBytes = 8192;
inline constexpr std::size_t kMaxLabelBytes = 1024;

/// For what an editor shows as a message: notifications, errors, diagnostics, its log. Lines stay lines; each is
/// printable. "](" becomes "] (": VS Code makes links and commands of "[text](command:…)" in notifications, and other
/// editors take messages for Markdown. Longer text than kMaxShownBytes is cut off, with "…".
std::string message_text(std::string_view text);

/// For what an editor shows on one line: titles, labels, progress. As message_text; and "$(" becomes "$ (", which in
/// VS Code begins an icon. At most kMaxLabelBytes.
std::string label_text(std::string_view text);

/// Markdown in which all that marks up is ours: it is made of literals of the source, and of text that was escaped.
class Markdown {
 public:
  class Literal {
   public:
    // NOLINTNEXTLINE(google-explicit-constructor): a literal stands as it is
    consteval Literal(const char* text) : text_(text) {}
    std::string_view text() const { return text_; }

   private:
    std::string_view text_;
  };

  Markdown() = default;
  explicit Markdown(Literal literal) { *this += literal; }

  /// Reads as `text`, on one line: no link, image, HTML, emphasis, table or heading begins or ends in it.
  static Markdown text(std::string_view text);
  /// A code span that shows `text`, on one line. Also in a cell of a table; elsewhere a pipe has a backslash before it.
  static Markdown code(std::string_view text);
  /// `label` as a link to an address; without one where the address has characters other than those of an encoded URI,
  /// or is not of a file.
  static Markdown link(const Markdown& label, std::string_view uri);

  Markdown& operator+=(const Markdown& more) {
    markup_ += more.markup_;
    plain_ += more.plain_;
    return *this;
  }
  Markdown& operator+=(Literal more);
  friend Markdown operator+(Markdown one, const Markdown& other) { return one += other; }
  friend Markdown operator+(Markdown one, Literal other) { return one += other; }
  friend Markdown operator+(Literal one, const Markdown& other) { return Markdown(one) += other; }

  bool empty() const { return markup_.empty(); }
  const std::string& markup() const { return markup_; }
  /// The same for a client that shows no Markdown: nothing marked up or escaped; the columns of tables stay aligned.
  const std::string& plain() const { return plain_; }

 private:
  std::string markup_;
  std::string plain_;
};

}  // namespace ridgeline::protocol
