#include "report/markdown_report.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/line_table.h"
#include "report/markdown.h"
#include "report/places.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::Profile;
using protocol::Markdown;

constexpr std::size_t kMostShownLines = 15;
constexpr int kWidth = 100;  ///< columns of the notes

std::string trimmed(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

/// "forward 34 % · backward 20 %".
std::string joined(const std::vector<Item>& items) {
  std::string text;
  for (const Item& item : items) {
    text += (text.empty() ? "" : " · ") + item.word + " " + item.value;
  }
  return text;
}

Markdown figure_row(Markdown::Literal label, const std::string& value) {
  return Markdown(label) + Markdown::text(value) + " |\n";
}

Markdown key_figures(const Profile& profile) {
  const analysis::Measured& time = profile.iteration.ms;
  const auto capacity = static_cast<double>(profile.capacity_bytes);
  Markdown text("|  |  |\n|---|---|\n");
  text += figure_row("| throughput | ", throughput_text(profile));
  text += figure_row("| iteration | ", iteration_text(profile));
  text += figure_row("| by phase | ",
                     joined(phases(
                         profile.iteration.by_phase, [&](double ms) { return share(ratio(ms, time.value)); }, 0)));
  text += figure_row("| peak memory | ", peak_text(profile) + (capacity > 0 ? " of " + bytes(capacity) : ""));
  if (const auto items = peak_items(profile); profile.peak_known && !items.empty()) {
    text += figure_row("| at the peak | ", joined(items));
  }
  if (profile.device.has_value()) {
    const double busy = profile.device->kernel_ms + profile.device->copy_ms;
    text += figure_row("| device busy | ", share(ratio(busy, time.value)));
  }
  return text;
}

Markdown line_table(const Profile& profile, const SourceLines& source) {
  if (profile.lines.empty()) {
    return {};
  }
  const Places places(profile);
  Markdown text("\n| line |  | time | share | memory |\n|---|---|---:|---:|---:|\n");
  const std::vector<const analysis::LineCost*> shown = costly_lines(profile, kMostShownLines, 0);
  for (const analysis::LineCost* chosen : shown) {
    const analysis::LineCost& line = *chosen;
    const std::string code = trimmed(source ? source(line.location).value_or("") : "");
    text += "| " + Markdown::text(places.name(line.location)) + " | ";
    text += code.empty() ? Markdown() : Markdown::code(code);
    text += " | " + Markdown::text(duration(line.self_ms)) + " | ";
    text += Markdown::text(share(ratio(line.self_ms, profile.iteration.ms.value))) + " | ";
    text += Markdown::text(bytes(static_cast<double>(line.peak_bytes))) + " |\n";
  }
  if (shown.size() < profile.lines.size()) {
    text += "\n" + Markdown::text(plural(static_cast<double>(profile.lines.size() - shown.size()), "more line")) + "\n";
  }
  return text;
}

Markdown library_tables(const Profile& profile, const SourceLines& source) {
  if (!profile.library_call) {
    return {};
  }
  const analysis::LibraryCall& call = *profile.library_call;
  const Places places(profile);
  const auto figures = [&](double ms, std::uint64_t peak_bytes) {
    return " | " + Markdown::text(duration(ms)) + " | " + Markdown::text(share(ratio(ms, profile.iteration.ms.value))) +
           " | " + Markdown::text(bytes(static_cast<double>(peak_bytes))) + " |\n";
  };
  Markdown text;
  if (!call.lines.empty()) {
    text += "\n| library line below " + Markdown::text(places.name(call.location)) +
            " |  | time | share | memory |\n|---|---|---:|---:|---:|\n";
  }
  for (const analysis::LibraryLine& line : call.lines) {
    const std::string code = trimmed(source ? source(line.location).value_or("") : "");
    text += "| " + Markdown::text(places.name(line.location)) + " | ";
    text += code.empty() ? Markdown() : Markdown::code(code);
    text += figures(line.ms, line.peak_bytes);
  }
  if (!call.modules.empty()) {
    text += "\n| modules below " + Markdown::text(places.name(call.location)) +
            " |  | time | share | memory |\n|---|---:|---:|---:|---:|\n";
  }
  for (const analysis::LibraryModule& module : call.modules) {
    text += "| " + Markdown::code(module.type) + " | " + Markdown::text(std::to_string(module.instances)) +
            figures(module.ms, module.peak_bytes);
  }
  return text;
}

/// As a block of code by its indentation, which nothing inside can end.
std::string as_code_block(std::string_view text) {
  std::string block;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    block += end == 0 ? "\n" : "    " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return block;
}

}  // namespace

std::string markdown_report(const Profile& profile, const analysis::Outlook& outlook, const SourceLines& source,
                            ShownWarnings warnings) {
  const Markdown title = "### " + Markdown::text(entry_name(profile)) + " · " + Markdown::text(setting_text(profile));
  const std::string made = provenance_text(profile);
  const Markdown text = title + "\n\n" + (made.empty() ? Markdown() : Markdown::text(made) + "\n\n") +
                        key_figures(profile) + line_table(profile, source) + library_tables(profile, source);
  return text.markup() + as_code_block(notes_text(profile, outlook, kWidth, warnings));
}

}  // namespace ridgeline::report
