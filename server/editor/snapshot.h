// What a method about one open document sees: the values of one moment. Large ones are shared and immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "editor/entries.h"
#include "editor/figures.h"
#include "editor/settings.h"
#include "editor/source_view.h"
#include "lsp/session/documents.h"
#include "protocol/client_capabilities.h"
#include "protocol/lsp.h"

namespace ridgeline::editor {

struct Snapshot {
  lsp::Document document;
  std::shared_ptr<const SourceFacts> source;
  std::shared_ptr<const Settings> settings;
  protocol::ClientCapabilities client;
  std::shared_ptr<const Entry> entry{};            ///< whose figures are shown here; null: there are none
  std::shared_ptr<const Entry> own{};              ///< the document as an entry; null: nothing is known of it
  std::shared_ptr<const LineView> lines{};         ///< from the profiled text to the document; null: there is none
  std::shared_ptr<const Entry> failed{};           ///< whose failure is shown here; null: none
  std::string failed_file{};                       ///< that has the error of this failure, not hints: file_of_failure()
  std::shared_ptr<const LineView> failed_lines{};  ///< from the text that failed; null: it is the document's
  std::optional<source::Call> call{};              ///< at the position of the request
  bool writes_entry_points = false;                ///< the client has the command ridgeline.writeEntryPoint

  const Figures* figures() const { return entry == nullptr ? nullptr : entry->figures.get(); }
  const FileFigures* file() const { return figures() == nullptr ? nullptr : figures()->file(document.path()); }

  /// The current line of a line of the profile, from 0; nothing: the line itself was changed.
  std::optional<std::size_t> current_line(std::uint32_t profiled_line) const;
  /// The line of the profile, from 1, that a line of the document corresponds to.
  std::optional<std::uint32_t> profiled_line(std::size_t line) const;
  /// The line without leading and trailing blanks.
  protocol::Range line_range(std::size_t line) const;
  protocol::Range range(source::Span span) const { return document.range(span.begin, span.end); }
  /// "Figures are from before net.py was changed."; empty when they are up to date.
  std::string stale_note() const;
};

}  // namespace ridgeline::editor
