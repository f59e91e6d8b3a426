#include "report/table.h"

#include <algorithm>

#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

constexpr int kMemory = 10;

/// Time, share and memory with their gaps; the bar comes on top.
int figures_width(const Layout& layout) { return 2 + 8 + 2 + 6 + 2 + (layout.memory ? kMemory : 0); }

std::string first_column(const Page& page, const Row& row, int width) {
  const int room = width - columns(row.lead);
  const std::string name = clip(row.name, room);
  const int note_room = room - columns(name) - 2;
  const std::string note = note_room >= std::min(6, columns(row.note)) ? clip(row.note, note_room) : "";
  const std::string plain = row.lead + name + (note.empty() ? "" : "  " + note);
  const std::string painted =
      page.dim(row.lead) + (row.secondary ? page.dim(name) : name) + (note.empty() ? "" : "  " + page.dim(note));
  return painted + left("", width - columns(plain));
}

}  // namespace

int Table::natural() const {
  int width = columns(name_heading);
  for (const Row& row : rows) {
    const int note = row.note.empty() ? 0 : 2 + columns(row.note);
    width = std::max(width, columns(row.lead) + columns(row.name) + note);
  }
  return width;
}

Layout layout_for(int width) { return {.wide = width >= 108, .total = width >= 126, .bar = width / 12}; }

void line_up(Layout& layout, const std::vector<Table>& tables, int width) {
  if (!layout.wide) {
    return;
  }
  int tail = 0;
  for (const Table& table : tables) {
    layout.name = std::max(layout.name, table.natural());
    tail = std::max(tail, table.tail_width);
  }
  layout.name = std::min(layout.name, width - 2 - figures_width(layout) - layout.bar - 2 - tail);
}

namespace {

/// On a terminal without room for columns: the first one, and the figures below it.
void print_folded(Page& page, const Table& table, const Layout& layout, double iteration_ms) {
  page.line();
  page.line("  " + page.bold(table.name_heading) + page.dim(" · " + table.time_heading + " · SHARE") +
            page.dim(layout.memory ? " · MEMORY" : ""));
  for (const Row& row : table.rows) {
    page.line("  " + first_column(page, row, page.terminal_width() - 2));
    std::vector<Item> figures{{"", duration(row.ms)}, {"", share(ratio(row.ms, iteration_ms))}};
    if (layout.memory) {
      figures.push_back({"", bytes(row.bytes)});
    }
    figures.insert(figures.end(), row.below.begin(), row.below.end());
    if (!row.tail.empty()) {
      figures.push_back({"", row.tail});
    }
    const int indent = std::max(6, 2 + columns(row.lead));
    page.flow(left("", indent), indent, figures);
  }
}

}  // namespace

void print(Page& page, const Table& table, const Layout& layout, double iteration_ms) {
  if (page.is_narrow()) {
    print_folded(page, table, layout, iteration_ms);
    return;
  }
  const int tail = table.tail_width > 0 ? 2 + table.tail_width : 0;
  const int room = page.width() - 2 - figures_width(layout) - layout.bar - tail;
  const int name_width = layout.name > 0 ? layout.name : std::min(room, table.natural());
  page.line();
  page.line("  " + page.bold(left(table.name_heading, name_width) + right(table.time_heading, 10) + "   SHARE  " +
                             left("", layout.bar) + (layout.memory ? right("MEMORY", kMemory) : "") + "  " +
                             table.tail_heading));
  for (const Row& row : table.rows) {
    const double part = ratio(row.ms, iteration_ms);
    page.line("  " + first_column(page, row, name_width) + right(duration(row.ms), 10) + right(share(part), 8) + "  " +
              page.full_bar(part, layout.bar, " ") + (layout.memory ? right(bytes(row.bytes), kMemory) : "") + "  " +
              row.tail);
    const int indent = 2 + columns(row.lead);
    if (!row.below.empty()) {
      page.flow(left("", indent), indent, row.below);
    }
  }
}

}  // namespace ridgeline::report
