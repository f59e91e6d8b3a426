// An HTML page of text and tables that opens offline and runs no scripts: what the smaller reports are made of.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::report {

/// Up to the place where the content begins. `title` and `style` are ours, not of the user.
std::string page_begin(std::string_view title, std::string_view style);
inline constexpr std::string_view kPageEnd = "</main>\n</body>\n</html>\n";

/// Printable, and nothing in it begins or ends markup.
std::string escaped(std::string_view text);

}  // namespace ridgeline::report
