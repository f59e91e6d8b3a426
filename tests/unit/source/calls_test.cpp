#include "source/calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/source/marked.h"

namespace ridgeline::source {
namespace {

/// At the mark, what is called; "" for nothing.
std::string callee_at(std::string_view source) {
  const Marked text = marked(source);
  const auto call = expression_at(parsed(text.text), text.spans.at(0).begin);
  return call.has_value() ? call->callee : "";
}

std::vector<std::string> callees_on(std::string_view text, std::size_t line) {
  std::vector<std::string> found;
  const SourceTree tree = parsed(text);
  for (const Call& call : calls_on_line(tree, line)) {
    found.push_back(call.callee);
  }
  return found;
}

using Strings = std::vector<std::string>;

TEST(ExpressionAt, IsTheInnermostCall) {
  EXPECT_EQ(callee_at("x = self.co[[]]nv2(x)"), "self.conv2");
  EXPECT_EQ(callee_at("x = self.conv2([[]]x)"), "self.conv2");
  EXPECT_EQ(callee_at("x = f(g([[]]x), y)"), "g");
  EXPECT_EQ(callee_at("x = f(g(x), [[]]y)"), "f");
  EXPECT_EQ(callee_at("x = self.layers[i].f[[]](x)"), "self.layers[i].f");
  EXPECT_EQ(callee_at("[[]]x = f(y)"), "");
  EXPECT_EQ(callee_at("x = f(y)[[]]"), "");
  EXPECT_EQ(callee_at("x = f(y)[[]]\ng()"), "");
  EXPECT_EQ(callee_at("@torch.compile(mode=[[]]1)\ndef f(): pass"), "torch.compile");
  EXPECT_EQ(callee_at("def f():\n    return 1[[]]0\n"), "");
}

TEST(ExpressionAt, FitsOneLine) {
  EXPECT_EQ(callee_at("y = (x\n     .view(3)\n     .m[[]]ean )(2)"), "(x.view(3).mean)");
  EXPECT_EQ(callee_at("y = x.view( 3,\n   4 ).mean([[]])"), "x.view(3, 4).mean");
  const std::string cut = callee_at("y = x." + std::string(79, 'a') + "é([[]])");
  EXPECT_LE(cut.size(), kMaxCalleeBytes + 3);
  EXPECT_TRUE(cut.ends_with("a…"));
}

TEST(CallsOnLine, AreThoseWhoseCalleeEndsThere) {
  EXPECT_EQ(callees_on("x = f(g(x)) + h(2)\n", 0), (Strings{"f", "g", "h"}));
  EXPECT_EQ(callees_on("x = a.b(1).c(2)\n", 0), (Strings{"a.b", "a.b(1).c"}));
  const std::string_view chain = "y = (x\n  .view(\n    f(3))\n  .mean())\nz = 1\n";
  EXPECT_EQ(callees_on(chain, 0), (Strings{}));
  EXPECT_EQ(callees_on(chain, 1), (Strings{"x.view"}));
  EXPECT_EQ(callees_on(chain, 2), (Strings{"f"}));
  EXPECT_EQ(callees_on(chain, 3), (Strings{"x.view(f(3)).mean"}));
  EXPECT_EQ(callees_on(chain, 4), (Strings{}));
  EXPECT_EQ(callees_on(chain, 5), (Strings{}));
  EXPECT_EQ(callees_on(chain, 6), (Strings{}));
  EXPECT_EQ(callees_on("def f(x):\n    if g(x):\n        h(x); i(x)\n    j()\n", 2), (Strings{"h", "i"}));
}

TEST(CallsOnLine, AreBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "f();";
  }
  EXPECT_EQ(callees_on(text, 0).size(), kMaxCallsOnLine);
}

}  // namespace
}  // namespace ridgeline::source
