// Figures and foreign text as the cells of a terminal: one spelling of each unit for every report.
//
// No figure has more than three significant digits, save a count of bytes below one KiB. Text is UTF-8; widths are
// terminal columns, not bytes.
#pragma once

#include <string>
#include <string_view>

#include "protocol/shown_text.h"

namespace ridgeline::report {

/// A number without its unit: "0.42", "37.9", "1230", "1.23e+06". Not finite: "–".
std::string figure(double value);

/// "0.4 µs" to "2.78 h". A negative duration keeps its sign; not finite: "–".
std::string duration(double milliseconds);

/// "1023 B", "0.98 MiB", "1.84 GiB": binary units. Not finite or negative: "–".
std::string bytes(double count);

/// "0.42 mJ" to "1.23 MJ"; "0 J". Not finite or negative: "–".
std::string energy(double joules);

/// A fraction of one as "0 %", "<0.1 %", "0.4 %", "5.2 %", "36 %", ">999 %". Not finite: "–".
std::string share(double fraction);

/// A count in at most five columns: "99999", then "100k", "2.5M", "1e+09".
std::string count(double value);

/// The filled part of a bar of `cells` columns in eighths of a cell; `fraction` is clamped to 0..1. It is as wide as
/// its blocks; whoever draws it fills the rest.
std::string bar(double fraction, int cells);

/// For terminals; what text from outside (names, source, messages) goes through first.
using protocol::printable;

/// Columns that printable text takes: wide characters count two, combining marks none.
int columns(std::string_view text);

/// Shortens printable text to at most `width` columns, with "…" where something is missing: at the end, or at the front
/// (for paths, whose end says most).
std::string clip(std::string_view text, int width);
std::string clip_front(std::string_view text, int width);

/// Fills with blanks up to `width`; longer text is left alone.
std::string left(std::string_view text, int width);
std::string right(std::string_view text, int width);

}  // namespace ridgeline::report
