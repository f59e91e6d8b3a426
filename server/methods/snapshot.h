// What a method about one open document sees: values of one moment, none of which a method can change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "methods/entries.h"
#include "methods/figures.h"
#include "methods/settings.h"
#include "methods/source_view.h"
#include "protocol/client_capabilities.h"
#include "protocol/lsp.h"
#include "session/documents.h"

namespace ridgeline::methods {

struct Snapshot {
  const session::Document& document;
  const SourceView& source;
  const Settings& settings;
  const protocol::ClientCapabilities& client;
  const Entry* entry = nullptr;            ///< whose figures are shown here; null: there are none
  const Entry* own = nullptr;              ///< the document as an entry; null: nothing is known of it
  const LineView* lines = nullptr;         ///< between the profiled text and the document; null without figures for it
  const Entry* failed = nullptr;           ///< whose failure is shown here; null: none
  const LineView* failed_lines = nullptr;  ///< between the text that failed and the document; null: they are the same
  std::optional<source::Call> call{};      ///< at the place that was asked about

  const Figures* figures() const { return entry == nullptr ? nullptr : entry->figures.get(); }
  const FileFigures* file() const { return figures() == nullptr ? nullptr : figures()->file(document.path()); }

  /// Where a line of the profile is now, from 0; nothing: the line itself was changed.
  std::optional<std::size_t> now(std::uint32_t profiled_line) const;
  /// Which line of the profile, from 1, stands in a line of the document.
  std::optional<std::uint32_t> profiled(std::size_t line) const;
  /// The line without its blanks at both ends.
  protocol::Range line_range(std::size_t line) const;
  protocol::Range range(source::Span span) const { return document.range(span.begin, span.end); }
  /// "Figures are from before net.py was changed."; empty when they are of now.
  std::string stale_note() const;
};

}  // namespace ridgeline::methods
