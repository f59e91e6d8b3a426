#include "operations/table/csv.h"

#include <algorithm>

namespace ridgeline::operations {

namespace {

/// Takes a field in quotes, of which `line` begins with the first one, off the line. False: it is not closed.
bool take_quoted(std::string_view& line, std::string& field) {
  line.remove_prefix(1);
  while (!line.empty()) {
    if (line.front() != '"') {
      field += line.front();
      line.remove_prefix(1);
    } else if (line.size() > 1 && line[1] == '"') {
      field += '"';
      line.remove_prefix(2);
    } else {
      line.remove_prefix(1);
      return true;
    }
  }
  return false;
}

}  // namespace

base::Result<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> fields;
  while (true) {
    std::string field;
    if (line.starts_with('"')) {
      if (!take_quoted(line, field)) {
        return base::error("a quote is not closed");
      }
      if (!line.empty() && line.front() != ',') {
        return base::error("text follows a closing quote");
      }
    } else {
      field = line.substr(0, line.find(','));
      line.remove_prefix(field.size());
    }
    fields.push_back(std::move(field));
    if (line.empty()) {
      return fields;
    }
    line.remove_prefix(1);
  }
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace ridgeline::operations
