#include "editor/snapshot.h"

#include <algorithm>

namespace ridgeline::editor {

std::optional<std::size_t> Snapshot::current_line(std::uint32_t profiled_line) const {
  if (profiled_line == 0) {
    return std::nullopt;
  }
  const std::size_t line = profiled_line - 1;
  if (lines == nullptr) {
    return line < document.text().line_count() ? std::optional(line) : std::nullopt;
  }
  return line < lines->current.size() ? lines->current[line] : std::nullopt;
}

std::optional<std::uint32_t> Snapshot::profiled_line(std::size_t line) const {
  if (lines == nullptr) {
    return static_cast<std::uint32_t>(line + 1);
  }
  const auto then = line < lines->profiled.size() ? lines->profiled[line] : std::nullopt;
  return then.has_value() ? std::optional(static_cast<std::uint32_t>(*then + 1)) : std::nullopt;
}

protocol::Range Snapshot::line_range(std::size_t line) const {
  const lsp::Text& text = document.text();
  if (line >= text.line_count()) {
    return document.range(text.bytes().size(), text.bytes().size());
  }
  const std::string_view content = text.line(line);
  const auto first = std::min(content.find_first_not_of(" \t\f"), content.size());
  const auto last = content.find_last_not_of(" \t\f\r\n");
  const std::size_t begin = text.line_begin(line);
  return document.range(begin + first, last == std::string_view::npos ? begin + first : begin + last + 1);
}

std::string Snapshot::stale_note() const {
  const std::string reason = entry == nullptr ? "" : entry->stale_reason();
  return reason.empty() ? "" : "Figures are " + reason + ".";
}

}  // namespace ridgeline::editor
