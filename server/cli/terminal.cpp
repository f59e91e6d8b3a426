#include "cli/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "protocol/shown_text.h"

namespace ridgeline::cli {

std::string printable_lines(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    safe += protocol::printable(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

bool is_dumb_terminal() {
  const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): never written
  return term != nullptr && std::string_view(term) == "dumb";
}

void write_to_error(std::string_view printable) { std::cerr << printable << std::flush; }

void print_error(std::string_view text) {
  std::string lines = printable_lines(text);
  lines.resize(lines.size() - (lines.ends_with('\n') ? 1 : 0));
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', end + 1)) {
    lines.insert(end + 1, "  ");
  }
  std::cerr << "ridgeline: " << lines << std::endl;
}

void warn(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    print_error("warning: " + std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace ridgeline::cli
