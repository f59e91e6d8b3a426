#include "app/budgets/findings_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "protocol/shown_text.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::app {

namespace {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWithin:
      return "within";
    case Verdict::kOver:
      return "over";
    case Verdict::kUndecided:
      return "undecided";
    case Verdict::kNoMatch:
      break;
  }
  return "no match";
}

/// For text and for attributes. Control characters, which XML does not have, are replaced first.
std::string xml(std::string_view text) {
  std::string escaped;
  for (const char character : protocol::printable(text)) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

/// docs.github.com, "Workflow commands": a message ends with the line; a property with a comma or a colon, too.
std::string escaped_for_github(std::string_view text, bool is_property) {
  std::string escaped;
  for (const char character : protocol::printable(text)) {
    if (character == '%' || (is_property && (character == ',' || character == ':'))) {
      escaped += fmt::format("%{:02X}", static_cast<unsigned>(character));
    } else {
      escaped += character;
    }
  }
  return escaped;
}

std::string sentence(const Finding& finding) {
  return fmt::format("{}: {}, measured {}", name_of(finding.verdict), finding.budget.text, finding.measured);
}

}  // namespace

std::string findings_text(const EntryFindings& entry) {
  std::string text = fmt::format("{} · {}\n", protocol::printable(entry.entry), report::plural(entry.runs, "run"));
  int width = 0;
  for (const Finding& finding : entry.findings) {
    width = std::max(width, report::columns(protocol::printable(finding.budget.text)));
  }
  for (const Finding& finding : entry.findings) {
    text += fmt::format("  {:<10} {}  {}\n", name_of(finding.verdict),
                        report::left(protocol::printable(finding.budget.text), width), finding.measured);
  }
  return text;
}

std::string findings_junit(const std::vector<EntryFindings>& entries) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ridgeline check\">\n";
  for (const EntryFindings& entry : entries) {
    const auto count = [&](Verdict verdict) { return std::ranges::count(entry.findings, verdict, &Finding::verdict); };
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
        xml(entry.entry), entry.findings.size(), count(Verdict::kOver), count(Verdict::kNoMatch),
        count(Verdict::kUndecided), entry.seconds);
    for (const Finding& finding : entry.findings) {
      text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(entry.entry), xml(finding.budget.text));
      const std::string message = xml(sentence(finding));
      switch (finding.verdict) {
        case Verdict::kWithin:
          text += fmt::format("><system-out>{}</system-out></testcase>\n", message);
          break;
        case Verdict::kOver:
          text += fmt::format("><failure message=\"{}\"/></testcase>\n", message);
          break;
        case Verdict::kUndecided:
          text += fmt::format("><skipped message=\"{}\"/></testcase>\n", message);
          break;
        case Verdict::kNoMatch:
          text += fmt::format("><error message=\"{}\"/></testcase>\n", message);
          break;
      }
    }
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

std::string findings_github(const EntryFindings& entry, const std::string& file) {
  std::string text;
  for (const Finding& finding : entry.findings) {
    if (finding.verdict == Verdict::kWithin) {
      continue;
    }
    const bool is_warning = finding.verdict == Verdict::kUndecided;
    text += fmt::format("::{} file={},line={},col={},title={}::{}\n", is_warning ? "warning" : "error",
                        escaped_for_github(file, true), finding.budget.line, finding.budget.column,
                        escaped_for_github(entry.entry, true), escaped_for_github(sentence(finding), false));
  }
  return text;
}

}  // namespace ridgeline::app
