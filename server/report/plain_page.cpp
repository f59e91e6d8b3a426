#include "report/plain_page.h"

#include <fmt/format.h>

#include "report/units.h"

namespace ridgeline::report {

namespace {

/// The colours are those of the HTML report (web/src/style.css).
constexpr std::string_view kPlainStyle =
    R"(:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f26; --faint: #5c6470; --line: #d8dce2;
  --track: #eef0f3; --time: #2f6fd0; --memory: #8250c4; --warning: #9a5b00; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181d; --ink: #d8dce4; --faint: #99a1af; --line: #363b45;
  --track: #23272f; --time: #61afef; --memory: #c08ae8; --warning: #e5c07b; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 14px / 1.5 system-ui, sans-serif;
  font-variant-numeric: tabular-nums; }
main { max-width: 1280px; margin: 0 auto; padding: 24px 32px 64px; }
h1 { margin: 0; font-size: 20px; font-weight: 650; overflow-wrap: anywhere; }
p { margin: 4px 0; }
.faint { color: var(--faint); }
.scroll { overflow-x: auto; margin-top: 24px; }
table { border-collapse: collapse; width: 100%; }
th { font-size: 12px; font-weight: 650; letter-spacing: 0.05em; text-align: left; text-transform: uppercase;
  color: var(--faint); }
th, td { padding: 6px 16px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.figure { white-space: nowrap; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.warning { padding: 4px 14px; border-left: 3px solid var(--warning); background: var(--track); }
@media print { .scroll { overflow: visible; } }
)";

}  // namespace

std::string page_begin(std::string_view title, std::string_view style) {
  return fmt::format(R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{}</title>
<style>
{}{}</style>
</head>
<body>
<main>
)",
                     title, kPlainStyle, style);
}

/// Printable, and nothing in it begins or ends markup.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : printable(std::string(text))) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace ridgeline::report
