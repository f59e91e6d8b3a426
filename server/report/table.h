// Tables: rows of time, share and memory.
#pragma once

#include <string>
#include <vector>

#include "report/page.h"

namespace ridgeline::report {

/// `lead` keeps its width and is dim; `name` and then the dim `note` are cut to what is left of the first column.
struct Row {
  std::string lead{};
  std::string name{};
  std::string note{};
  double ms = 0;
  double bytes = 0;
  std::string tail{};         ///< after the figures
  std::vector<Item> below{};  ///< in a line of its own, where the page has no room for a tail
  bool secondary = false;     ///< stands for several
};

struct Table {
  std::string name_heading{};
  std::string time_heading{};
  std::string tail_heading{};
  std::vector<Row> rows{};
  int tail_width = 0;

  /// Columns that the first column would take uncut.
  int natural() const;
};

/// The widths that both tables share. `name` is 0 where each table has its own.
struct Layout {
  bool wide = false;
  bool total = false;       ///< a column for the total of a line
  bool recomputed = false;  ///< a column for recomputation
  bool energy = false;      ///< a column for energy
  bool memory = true;       ///< a column for memory
  int bar = 0;
  int name = 0;
};

Layout layout_for(int width);

/// On a wide page, makes room for the longest first column, so that the columns of all tables line up.
void line_up(Layout& layout, const std::vector<Table>& tables, int width);

/// An empty line, the headings and the rows; shares are of `iteration_ms`.
void print(Page& page, const Table& table, const Layout& layout, double iteration_ms);

}  // namespace ridgeline::report
