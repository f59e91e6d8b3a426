#include "protocol/shown_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "protocol/lsp.h"

namespace ridgeline::protocol {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What would act where it is shown, and a part of it that is plain text everywhere.
struct Hostile {
  const char* text;
  const char* readable;
};

const std::vector<Hostile> kHostile = {
    {"[Install the update](command:workbench.action.terminal.new)", "Install the update"},
    {"[a](https://example.org \"title\")", "example.org"},
    {"[a](file:///etc/passwd)", "etc"},
    {"[[nested](command:one)](command:two)", "nested"},
    {"![a](https://example.org/track.png)", "track"},
    {"[a][ref]\n\n[ref]: https://example.org", "ref"},
    {"<https://example.org>", "example"},
    {"https://example.org and www.example.org and a@example.org", "example"},
    {"<img src=x onerror=alert(1)>", "onerror"},
    {"<!-- hidden --><script>alert(1)</script>", "alert"},
    {"**bold** _em_ ~~gone~~", "bold"},
    {"`x` ``y`` ```z", "y"},
    {"a|b", "b"},
    {"# heading", "heading"},
    {"- item", "item"},
    {"1. item", "item"},
    {"> said", "said"},
    {"---", "---"},
    {"$(trash) $(sync~spin)", "trash"},
    {"&lbrack;a&rbrack;(command:x) &#91;", "lbrack"},
    {"\x1b[2J\x1b]8;;https://example.org\x07link\x1b]8;;\x07", "link"},
    {"\xC2\x9B"
     "31mred",
     "red"},
    {"safe\xE2\x80\xAE"
     "txt.exe",
     "safe"},
    {"back\rover\bwrite", "over"},
    {"bad \xFF\xC0 bytes", "bytes"},
    {"one\ntwo", "two"},
};

/// A member that an editor shows, of what is written with the text in it.
struct Sink {
  const char* name;
  bool label;
  std::function<std::string(const std::string&)> shown;
};

Diagnostic diagnostic_of(const std::string& text) {
  Diagnostic diagnostic;
  diagnostic.message = diagnostic.code = text;
  diagnostic.related_information.push_back({{"file:///a.py", {}}, text});
  return diagnostic;
}

CodeAction action_of(const std::string& text) {
  CodeAction action;
  action.title = action.disabled_reason = text;
  return action;
}

const std::vector<Sink> kSinks = {
    {"message", false,
     [](const auto& text) {
       return Json(MessageParams{MessageType::kInfo, text})["message"];
     }},
    {"question", false,
     [](const auto& text) {
       return Json(MessageRequestParams{{}, text, {}})["message"];
     }},
    {"choice", true,
     [](const auto& text) {
       return Json(MessageRequestParams{{}, "", {text}})["actions"][0]["title"];
     }},
    {"error", false,
     [](const auto& text) {
       return Json::parse(encode(Response{RequestId{1}, ResponseError{1, text}}))["error"]["message"];
     }},
    {"diagnostic", false, [](const auto& text) { return Json(diagnostic_of(text))["message"]; }},
    {"code of a diagnostic", true, [](const auto& text) { return Json(diagnostic_of(text))["code"]; }},
    {"related information", false,
     [](const auto& text) { return Json(diagnostic_of(text))["relatedInformation"][0]["message"]; }},
    {"command", true,
     [](const auto& text) {
       return Json(Command{text, "c"})["title"];
     }},
    {"lens", true,
     [](const auto& text) {
       return Json(CodeLens{{}, Command{text, "c"}})["command"]["title"];
     }},
    {"hint", true,
     [](const auto& text) {
       return Json(InlayHint{{}, text})["label"];
     }},
    {"action", true, [](const auto& text) { return Json(action_of(text))["title"]; }},
    {"disabled action", true, [](const auto& text) { return Json(action_of(text))["disabled"]["reason"]; }},
    {"progress begins", true, [](const auto& text) { return Json(WorkDoneProgressBegin{text})["title"]; }},
    {"progress begins with", true,
     [](const auto& text) {
       return Json(WorkDoneProgressBegin{"t", text})["message"];
     }},
    {"progress", true, [](const auto& text) { return Json(WorkDoneProgressReport{text})["message"]; }},
    {"progress ends", true, [](const auto& text) { return Json(WorkDoneProgressEnd{text})["message"]; }},
};

/// As VS Code has it (src/vs/base/common/linkedText.ts), without regard to the scheme.
const std::regex kLink(R"re(\[[^\]]+\]\([^)\s]+)re");
const std::regex kIcon(R"re(\$\([a-z~-]+\))re");
/// Controls but for the end of a line, and what reorders text, in UTF-8.
const std::regex kUnsafe("[\\x01-\\x09\\x0b-\\x1f\\x7f]|\xC2[\x80-\x9F]|\xE2\x80[\xAA-\xAE]");

TEST(ShownText, IsInertInWhateverAnEditorShows) {
  for (const Sink& sink : kSinks) {
    for (const Hostile& hostile : kHostile) {
      const std::string shown = sink.shown(hostile.text);
      EXPECT_FALSE(std::regex_search(shown, kLink)) << sink.name << ": " << shown;
      EXPECT_FALSE(std::regex_search(shown, kUnsafe)) << sink.name << ": " << shown;
      EXPECT_THAT(shown, HasSubstr(hostile.readable)) << sink.name;
      if (sink.label) {
        EXPECT_FALSE(std::regex_search(shown, kIcon)) << sink.name << ": " << shown;
        EXPECT_THAT(shown, Not(HasSubstr("\n"))) << sink.name;
      }
    }
  }
}

TEST(ShownText, IsBoundedInWhateverAnEditorShows) {
  for (const Sink& sink : kSinks) {
    const std::string shown = sink.shown(std::string(100'000, 'x') + "é");
    EXPECT_EQ(shown.size(), sink.label ? kMaxLabelBytes : kMaxShownBytes) << sink.name;
    EXPECT_TRUE(shown.ends_with("…")) << sink.name;
  }
}

TEST(ShownText, LeavesOrdinaryTextAlone) {
  const std::string text =
      "ValueError: shape '[2, 3]' is invalid for input of size 7 (C:\\net.py)\n  in forward(x)[0]: café — 5 %";
  EXPECT_EQ(message_text(text), text);
  EXPECT_EQ(message_text("a\r\nb\n"), "a\nb\n");
  EXPECT_EQ(label_text("Profiling my_net.py"), "Profiling my_net.py");
  EXPECT_EQ(message_text("calls[0](x)"), "calls[0] (x)");
  EXPECT_EQ(message_text(message_text("[a](b)")), message_text("[a](b)"));
}

/// The markup without what is escaped and what stands as code.
std::string active(const std::string& markup) {
  static const std::regex kEscaped(R"re(\\[!-/:-@\[-`{-~])re");
  return std::regex_replace(markup, kEscaped, "%");
}

TEST(Markdown, TextIsNothingButText) {
  const std::regex syntax(
      R"re([`*\[\]|~@]|<[A-Za-z/!?]|&[A-Za-z#]|:/|(^|[^A-Za-z0-9])_|_([^A-Za-z0-9]|$)|www\.|\$\(|^[#>=+-]|^\d+[.)] |\n)re");
  for (const Hostile& hostile : kHostile) {
    const std::string markup = Markdown::text(hostile.text).markup();
    EXPECT_FALSE(std::regex_search(active(markup), syntax)) << hostile.text << " as " << markup;
    EXPECT_FALSE(std::regex_search(markup, kUnsafe)) << markup;
  }
  EXPECT_EQ(Markdown::text("from before my_net.py was changed (<0.1 %, -5.2 ms, 3.5 GiB)").markup(),
            "from before my_net.py was changed (<0.1 %, -5.2 ms, 3.5 GiB)");
}

TEST(Markdown, CodeIsOneSpan) {
  for (const Hostile& hostile : kHostile) {
    const std::string markup = Markdown::code(hostile.text).markup();
    const std::size_t fence = markup.find_first_not_of('`');
    const std::string inside = markup.substr(fence, markup.size() - 2 * fence);
    EXPECT_EQ(markup.substr(markup.size() - fence), std::string(fence, '`')) << markup;
    EXPECT_THAT(inside, Not(HasSubstr(std::string(fence, '`')))) << markup;
    EXPECT_THAT(markup, Not(HasSubstr("\n")));
    EXPECT_FALSE(std::regex_search(markup, kUnsafe)) << markup;
  }
}

TEST(Markdown, LinksLeadToFilesOnly) {
  const Markdown name = Markdown::text("net.py:42");
  EXPECT_EQ(Markdown::link(name, "file:///p/net%20a.py#L42").markup(), "[net.py:42](file:///p/net%20a.py#L42)");
  for (const std::string_view uri : {"command:run", "https://a.b/", "file:///a b", "file:///a)", "file:///a\n", "",
                                     "file:///\xC3\xA4", "file:///a<b>", "file://host/a"}) {
    EXPECT_EQ(Markdown::link(name, uri).markup(), name.markup()) << uri;
  }
}

TEST(Markdown, HasAPlainForm) {
  const Markdown link = Markdown::link(Markdown::text("my_net.py:42"), "file:///p/my_net.py#L42");
  const Markdown all = "**" + Markdown::code("a|`b") + "** — " + link + " *" + Markdown::text("*c*") + "*";
  EXPECT_EQ(all.plain(), "a|`b — my_net.py:42 *c*");
  EXPECT_EQ(("| " + Markdown::text("self") + " | " + Markdown::text("3 ms") + " |\n|-----:|\n").plain(),
            " self  3 ms \n-----:\n");
}

TEST(Markdown, IsMadeOfLiteralsAndText) {
  EXPECT_EQ(("**" + Markdown::code("a`b") + "** " + Markdown::text("*c*")).markup(), "**`` a`b ``** \\*c\\*");
}

}  // namespace
}  // namespace ridgeline::protocol
