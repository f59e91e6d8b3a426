#include "report/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/units.h"

namespace ridgeline::report {
namespace {

using analysis::Node;
using analysis::Profile;

constexpr int kText = 15;              // where text begins beside a label at the margin
constexpr double kNegligible = 0.005;  // of the iteration or of the peak

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string plural(double count, std::string_view noun) {
  return fmt::format("{} {}{}", report::count(count), noun, count == 1 ? "" : "s");
}

std::string place(const analysis::Location& location) {
  return location.file.empty() ? "" : fmt::format("{}:{}", printable(location.file), location.line);
}

/// Holds the words of a sentence's figure together.
std::string unbroken(std::string text) {
  for (std::size_t at = 0; (at = text.find(' ')) != std::string::npos;) text.replace(at, 1, "\u00A0");
  return text;
}

// ---- The head: what was profiled, and its key figures.

/// The path below the project, or the project's own name and the file when it lies right in it.
std::string short_path(const Profile& profile) {
  const std::string& path = profile.entry_path;
  const std::string& root = profile.project_root;
  if (root.empty() || path.size() <= root.size() + 1 || path.compare(0, root.size(), root) != 0) return path;
  if (path[root.size()] != '/') return path;
  const std::string below = path.substr(root.size() + 1);
  return below.find('/') != std::string::npos ? below : root.substr(root.find_last_of('/') + 1) + "/" + below;
}

void title(Page& page, const Profile& profile) {
  const analysis::Environment& environment = profile.environment;
  const std::string detail =
      environment.device == "cpu" ? plural(environment.threads, "thread") : printable(environment.device_name);
  const std::string rest =
      clip(fmt::format(" · batch {} · {}{} · torch {}", profile.batch_size, printable(environment.device),
                       detail.empty() ? "" : " (" + detail + ")", printable(environment.torch)),
           page.width() - 20);
  const std::string path = clip_front(printable(short_path(profile)), page.width() - columns(rest));
  page.line(page.bold(path) + page.dim(rest));
  page.line();
}

std::vector<Item> phases(const analysis::ByPhase& by_phase, const std::function<std::string(double)>& format,
                         double least) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < by_phase.size(); ++i) {
    if (by_phase[i] > least) items.push_back({analysis::kPhaseNames[i], format(by_phase[i])});
  }
  return items;
}

std::vector<Item> categories(const Profile& profile) {
  static constexpr std::array<const char*, analysis::kCategoryCount> kNames = {
      "weights", "gradients", "optimizer state", "activations", "inputs", "temporaries"};
  std::vector<std::pair<std::uint64_t, Item>> sized;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::uint64_t size = profile.by_category[i];
    if (size > 0) sized.push_back({size, {kNames[i], bytes(static_cast<double>(size))}});
  }
  std::stable_sort(sized.begin(), sized.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Item> items;
  for (auto& [size, item] : sized) items.push_back(std::move(item));
  return items;
}

void key_figures(Page& page, const Profile& profile) {
  const analysis::Measured& time = profile.iteration.ms;
  const double interval = ratio(std::max(time.high - time.value, time.value - time.low), time.value);
  const std::string rate = figure(profile.samples_per_second) + " samples/s";
  const std::string iteration = duration(time.value) + (interval > 0 ? " ± " + share(interval) : "");
  const auto peak = static_cast<double>(profile.peak_bytes);
  const auto capacity = static_cast<double>(profile.capacity_bytes);

  const int value_width = std::max({14, columns(rate), columns(iteration)});
  const int start = kText + value_width + 2;
  const int cells = std::clamp(page.width() - start - 28, 12, 40);
  const auto head = [&](std::string_view label, std::string_view value) {
    return "  " + page.bold(left(label, kText - 2)) + right(value, value_width) + "  ";
  };
  const auto limited = [&](double value, double limit, const std::string& words) {
    return page.full_bar(ratio(value, limit), cells, "░") + "  " + share(ratio(value, limit)) + page.dim(words);
  };

  const double maximum = profile.max_samples_per_second.value_or(0);
  page.line(head("throughput", rate) +
            (maximum > 0 ? limited(profile.samples_per_second, maximum, " of the maximum " + figure(maximum))
                         : page.dim("maximum unknown")));
  page.flow(head("iteration", iteration), start,
            phases(
                profile.iteration.by_phase, [&](double ms) { return share(ratio(ms, time.value)); }, 0));
  page.line(head("peak memory", bytes(peak)) +
            (capacity > 0 ? limited(peak, capacity, " of " + bytes(capacity)) : page.dim("capacity unknown")));
  if (const auto items = categories(profile); !items.empty()) page.flow(head("at the peak", ""), start, items);
}

// ---- Tables: rows of time, share and memory. Wide pages line the columns of both tables up.

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

  int natural() const {
    int width = columns(name_heading);
    for (const Row& row : rows) {
      const int note = row.note.empty() ? 0 : 2 + columns(row.note);
      width = std::max(width, columns(row.lead) + columns(row.name) + note);
    }
    return width;
  }
};

/// The widths that both tables share. `name` is 0 where each table has its own.
struct Layout {
  bool wide = false;
  bool total = false;  ///< a column for the total of a line
  int bar = 0;
  int name = 0;
};

constexpr int kFigures = 2 + 8 + 2 + 6 + 2 + 2 + 8;  // time, share and memory with their gaps; the bar comes on top

Layout layout_for(int width) { return {.wide = width >= 108, .total = width >= 126, .bar = width / 12}; }

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

void print(Page& page, const Table& table, const Layout& layout, const Profile& profile) {
  const int tail = table.tail_width > 0 ? 2 + table.tail_width : 0;
  const int room = page.width() - 2 - kFigures - layout.bar - tail;
  const int name_width = layout.name > 0 ? layout.name : std::min(room, table.natural());
  page.line();
  page.line("  " + page.bold(left(table.name_heading, name_width) + right(table.time_heading, 10) + "   SHARE  " +
                             left("", layout.bar) + right("MEMORY", 10) + "  " + table.tail_heading));
  for (const Row& row : table.rows) {
    const double part = ratio(row.ms, profile.iteration.ms.value);
    page.line("  " + first_column(page, row, name_width) + right(duration(row.ms), 10) + right(share(part), 8) + "  " +
              page.full_bar(part, layout.bar, " ") + right(bytes(row.bytes), 10) + "  " + row.tail);
    const int indent = 2 + columns(row.lead);
    if (!row.below.empty()) page.flow(left("", indent), indent, row.below);
  }
}

// ---- The breakdown: the costliest nodes as a tree.

class Breakdown {
 public:
  Breakdown(const Page& page, const Profile& profile, const TextOptions& options) : page_(page), options_(options) {
    const Node& root = profile.breakdown;
    if (root.ms <= 0) return;
    std::vector<double> costs;
    collect(root, 0, costs);
    const auto kept = static_cast<std::size_t>(std::max(1, options.max_nodes));
    std::sort(costs.begin(), costs.end(), std::greater<>());
    floor_ms_ = options.min_share * root.ms;
    least_ms_ = std::max(floor_ms_, costs[std::min(kept, costs.size()) - 1]);
    negligible_ms_ = kNegligible * root.ms;
    negligible_bytes_ = kNegligible * static_cast<double>(root.peak_bytes);
    place_width_ = std::max(14, std::min(26, page.width() / 5));
    add(root, "", "", 0);
  }

  Table take() {
    int width = 0;
    for (Row& row : table_.rows) {
      row.tail = clip_front(row.tail, place_width_);
      width = std::max(width, columns(row.tail));
      row.tail = page_.dim(row.tail);
    }
    table_.tail_width = width;
    return std::move(table_);
  }

 private:
  /// Follows modules that only wrap one other, as `name` then says.
  static const Node& unwrap(const Node& node, std::string& name) {
    const Node* inner = &node;
    name = printable(node.name);
    while (inner->children.size() == 1 && !inner->children[0].type.empty()) {
      inner = &inner->children[0];
      name += " › " + printable(inner->name);
    }
    return *inner;
  }

  /// What is worth a row of its own: not the single operation that a module is made of.
  static const std::vector<Node>& parts(const Node& node) {
    static const std::vector<Node> none;
    return node.children.size() == 1 && node.children[0].children.empty() ? none : node.children;
  }

  /// The numbered instances of one class, as in a Sequential of blocks.
  static bool repeats(const Node& node) {
    const auto alike = [&](const Node& child) {
      return !child.name.empty() && std::isdigit(static_cast<unsigned char>(child.name[0])) != 0 &&
             !child.type.empty() && child.type == node.children[0].type;
    };
    return node.children.size() > 1 && std::all_of(node.children.begin(), node.children.end(), alike);
  }

  using Nodes = std::vector<const Node*>;

  /// The children that may get rows, and those that would only say the same again: instances of one class that cost
  /// about what the median one does. Of instances that are all alike, the costliest stands for them.
  static std::pair<Nodes, Nodes> split(const Node& node) {
    constexpr double kAlike = 1.2;
    const std::vector<Node>& children = parts(node);
    const bool folds = repeats(node) && children.size() > 2;
    const double most = folds ? kAlike * children[children.size() / 2].ms : 0;
    Nodes distinct;
    Nodes alike;
    for (const Node& child : children) (folds && child.ms <= most ? alike : distinct).push_back(&child);
    if (distinct.empty() && !alike.empty()) {
      distinct.push_back(alike.front());
      alike.erase(alike.begin());
    }
    return {std::move(distinct), std::move(alike)};
  }

  void collect(const Node& outer, int depth, std::vector<double>& costs) const {
    std::string name;
    costs.push_back(outer.ms);
    if (depth == options_.max_depth) return;
    for (const Node* child : split(unwrap(outer, name)).first) collect(*child, depth + 1, costs);
  }

  /// The class; for a container of one class "6 × Bottleneck"; and the calls when there are several.
  static std::string note(const Node& node) {
    std::string text = node.type == node.name ? "" : printable(node.type);
    if (repeats(node)) text = fmt::format("{} × {}", node.children.size(), printable(node.children[0].type));
    if (node.calls > 1) text += (text.empty() ? "" : ", ") + plural(static_cast<double>(node.calls), "call");
    return text;
  }

  void add(const Node& outer, const std::string& stem, const std::string& below, int depth) {
    std::string name;
    const Node& node = unwrap(outer, name);
    const auto bytes = static_cast<double>(outer.peak_bytes);
    table_.rows.push_back({.lead = stem, .name = name, .note = note(node), .ms = outer.ms, .bytes = bytes});
    table_.rows.back().tail = place(outer.location);
    if (depth < options_.max_depth) add_children(node, below, depth + 1);
  }

  /// What costs enough, and the sum of all else; nothing when what costs enough would say too little.
  void add_children(const Node& node, const std::string& below, int depth) {
    auto [distinct, folded] = split(node);
    const bool all_alike = !folded.empty();
    Nodes shown;
    Nodes small;
    for (const Node* child : distinct) {
      (child->ms >= (depth == 1 ? floor_ms_ : least_ms_) ? shown : small).push_back(child);
    }
    folded.insert(folded.end(), small.begin(), small.end());
    if (shown.empty() || (depth > 2 && sum(shown).ms < sum(distinct).ms / 2)) return;
    if (folded.size() == 1 && !is_negligible(sum(folded))) shown.push_back(std::exchange(folded, {}).front());

    Row rest = sum(folded);
    const bool ends_with_rest = !is_negligible(rest);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool last = i + 1 == shown.size() && !ends_with_rest;
      add(*shown[i], below + (last ? "└─ " : "├─ "), below + (last ? "   " : "│  "), depth);
    }
    if (!ends_with_rest) return;
    rest.lead = below + "└─ ";
    rest.name = fmt::format("… {} {}", folded.size(), all_alike && small.empty() ? "alike" : "more");
    table_.rows.push_back(std::move(rest));
  }

  static Row sum(const Nodes& nodes) {
    Row row{.secondary = true};
    for (const Node* node : nodes) {
      row.ms += node->ms;
      row.bytes += static_cast<double>(node->peak_bytes);
    }
    return row;
  }

  bool is_negligible(const Row& row) const { return row.ms <= negligible_ms_ && row.bytes <= negligible_bytes_; }

  const Page& page_;
  const TextOptions& options_;
  Table table_{.name_heading = "MODULE", .time_heading = "TIME", .tail_heading = "CALLED AT"};
  double floor_ms_ = 0;  ///< what is directly below the root must cost
  double least_ms_ = 0;  ///< what is deeper must cost
  double negligible_ms_ = 0;
  double negligible_bytes_ = 0;
  int place_width_ = 0;
};

// ---- Lines, and what no line owns: together the whole iteration.

/// Calls, forward, backward and, with room for it, total. A line that works in another phase, or only
/// holds memory, says that instead.
std::string line_tail(const Page& page, const analysis::LineCost& line, const Layout& layout) {
  const double forward = line.self_by_phase[static_cast<std::size_t>(analysis::Phase::kForward)];
  const double backward = line.self_by_phase[static_cast<std::size_t>(analysis::Phase::kBackward)];
  std::string tail = right(line.calls ? count(static_cast<double>(*line.calls)) : "–", 5);
  if (line.self_ms <= 0) {
    const bool made_weights = line.weights_bytes >= line.activations_bytes;
    tail += page.dim(right(made_weights ? "holds weights" : "holds activations", 20));
  } else if (forward + backward >= line.self_ms / 2) {
    const auto part = [&](double ms) { return ms > 0 ? duration(ms) : "–"; };
    tail += right(part(forward), 10) + right(part(backward), 10);
  } else {
    const auto largest = std::max_element(line.self_by_phase.begin(), line.self_by_phase.end());
    const auto phase = static_cast<std::size_t>(largest - line.self_by_phase.begin());
    tail += page.dim(right(fmt::format("in {}", analysis::kPhaseNames[phase]), 20));
  }
  return layout.total ? tail + right(duration(line.total_ms), 10) : tail;
}

std::vector<Item> line_details(const analysis::LineCost& line) {
  std::vector<Item> items;
  if (line.calls) items.push_back({count(static_cast<double>(*line.calls)), *line.calls == 1 ? "call" : "calls"});
  const auto split = phases(line.self_by_phase, duration, kNegligible * line.self_ms);
  if (split.size() == 1) items.push_back({"in", split[0].word});
  if (split.size() > 1) items.insert(items.end(), split.begin(), split.end());
  if (line.total_ms > 1.01 * line.self_ms) items.push_back({"total", duration(line.total_ms)});
  return items;
}

/// The costliest lines in time, then those that hold much memory without being among them, as pointers into `lines`.
std::vector<const analysis::LineCost*> chosen_lines(const Profile& profile, const TextOptions& options) {
  constexpr double kMuchMemory = 0.05;  // of the peak
  constexpr std::size_t kMostForMemory = 3;
  const auto most = static_cast<std::size_t>(std::max(0, options.max_lines));
  const double least_ms = options.min_share * profile.iteration.ms.value;
  std::vector<const analysis::LineCost*> chosen;
  std::vector<const analysis::LineCost*> holders;
  for (const analysis::LineCost& line : profile.lines) {
    const double held = ratio(static_cast<double>(line.peak_bytes), static_cast<double>(profile.peak_bytes));
    if (chosen.size() < most && line.self_ms > 0 && line.self_ms >= least_ms) {
      chosen.push_back(&line);
    } else if (held >= kMuchMemory) {
      holders.push_back(&line);
    }
  }
  std::stable_sort(holders.begin(), holders.end(), [](auto* a, auto* b) { return a->peak_bytes > b->peak_bytes; });
  holders.resize(std::min({holders.size(), most, kMostForMemory}));
  chosen.insert(chosen.end(), holders.begin(), holders.end());
  return chosen;
}

Row line_row(const Page& page, const analysis::LineCost& line, const SourceLines& source, const Layout& layout) {
  std::string code = printable(source ? source(line.location).value_or("") : "");
  code.erase(0, code.find_first_not_of(' '));
  Row row{.lead = clip_front(place(line.location), std::max(16, page.width() / 5)), .name = std::move(code)};
  row.ms = line.self_ms;
  row.bytes = static_cast<double>(line.peak_bytes);
  if (layout.wide) row.tail = line_tail(page, line, layout);
  if (!layout.wide) row.below = line_details(line);
  return row;
}

Table line_table(const Page& page, const Profile& profile, const SourceLines& source, const TextOptions& options,
                 const Layout& layout) {
  Table table{.name_heading = "LINE", .time_heading = "SELF"};
  Row rest{.secondary = true};
  for (const analysis::LineCost& line : profile.lines) {
    rest.ms += line.self_ms;
    rest.bytes += static_cast<double>(line.peak_bytes);
  }
  int place_width = 0;
  for (const analysis::LineCost* line : chosen_lines(profile, options)) {
    table.rows.push_back(line_row(page, *line, source, layout));
    rest.ms -= line->self_ms;
    rest.bytes -= static_cast<double>(line->peak_bytes);
    place_width = std::max(place_width, columns(table.rows.back().lead));
  }
  for (Row& row : table.rows) row.lead = left(row.lead, place_width + 2);
  const auto folded = static_cast<double>(profile.lines.size() - table.rows.size());
  rest.name = table.rows.empty() ? plural(folded, "line") : "… " + plural(folded, "more line");
  rest.ms = std::max(0.0, rest.ms);
  if (folded > 0) table.rows.push_back(std::move(rest));
  if (layout.wide) table.tail_heading = "CALLS   FORWARD  BACKWARD";
  if (layout.total) table.tail_heading += "     TOTAL";
  table.tail_width = columns(table.tail_heading);
  return table;
}

/// Empty when all of it together does not matter.
Table other_table(const Profile& profile) {
  Table table{.name_heading = "ON NO LINE", .time_heading = "TIME"};
  const auto matters = [&](double ms, double memory) {
    return ms >= kNegligible * profile.iteration.ms.value ||
           memory >= kNegligible * static_cast<double>(profile.peak_bytes);
  };
  Row rest{.secondary = true};
  int folded = 0;
  for (const analysis::OtherCost& other : profile.other) {
    const auto memory = static_cast<double>(other.peak_bytes);
    if (matters(other.ms, memory)) {
      table.rows.push_back({.name = printable(other.name), .ms = other.ms, .bytes = memory});
    } else {
      rest.ms += other.ms;
      rest.bytes += memory;
      ++folded;
    }
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Row& a, const Row& b) { return a.ms > b.ms; });
  rest.name = fmt::format("… {} more", folded);
  if (folded > 0 && matters(rest.ms, rest.bytes)) table.rows.push_back(std::move(rest));
  return table;
}

void tables(Page& page, const Profile& profile, const SourceLines& source, const TextOptions& options) {
  Layout layout = layout_for(page.width());
  const std::array<Table, 3> all = {Breakdown(page, profile, options).take(),
                                    line_table(page, profile, source, options, layout), other_table(profile)};
  if (layout.wide) {
    for (const Table& table : all) layout.name = std::max(layout.name, table.natural());
    const int tail = std::max(all[0].tail_width, all[1].tail_width);
    layout.name = std::min(layout.name, page.width() - 2 - kFigures - layout.bar - 2 - tail);
  }
  for (const Table& table : all) {
    if (!table.rows.empty()) print(page, table, layout, profile);
  }
}

// ---- What a reader must know, and may do next.

void notes(Page& page, const Profile& profile) {
  page.line();
  for (const analysis::Skipped& skipped : profile.skipped) {
    page.prose(
        "skipped",
        clip(fmt::format("batch {} ({}): {}", skipped.batch_size, printable(skipped.kind), printable(skipped.message)),
             3 * (page.width() - kText)),
        kText);
  }
  for (const std::string& warning : profile.warnings) page.prose("warning", printable(warning), kText);
  if (profile.recorded_iterations == 0) return;
  page.prose("recording",
             fmt::format("{}, {} than a bare one; times scaled by {}; your lines own {} of the iteration",
                         plural(profile.recorded_iterations, "iteration"),
                         unbroken(share(std::abs(profile.recording_overhead))) +
                             (profile.recording_overhead < 0 ? " faster" : " slower"),
                         figure(profile.scale), unbroken(share(profile.user_line_share))),
             kText);
}

double at(const analysis::Line& line, double batch_size) { return line.slope * batch_size + line.intercept; }

/// Twice the batch by the two models, when both fit well and grow; ratios are of model to model, so that what the fit
/// misses at this batch size is not taken for a gain.
std::string advice(const Profile& profile) {
  constexpr double kGoodFit = 0.9;
  const auto usable = [](const auto& line) { return line && line->slope > 0 && line->r2 >= kGoodFit; };
  if (!usable(profile.time_model) || !usable(profile.memory_model) || profile.batch_size <= 0) return {};
  const double now = profile.batch_size;
  const double twice = 2 * now;
  const double gain = 2 * ratio(at(*profile.time_model, now), at(*profile.time_model, twice));
  const double need = at(*profile.memory_model, twice);
  const auto failed = [&](const analysis::Skipped& skipped) { return skipped.batch_size <= twice; };
  if (gain <= 0 || need <= 0 || std::any_of(profile.skipped.begin(), profile.skipped.end(), failed)) return {};

  const auto capacity = static_cast<double>(profile.capacity_bytes);
  const std::string memory = unbroken(bytes(need));
  std::string text;
  if (capacity > 0 && need > capacity) {
    text = fmt::format("A batch of {} would need {}; this device has {}", twice, memory, unbroken(bytes(capacity)));
  } else if (gain < 1.02) {
    text = fmt::format("A batch of {} would give hardly more throughput and needs {}", twice, memory);
  } else {
    text = fmt::format("A batch of {} would give {}× the throughput and needs {}", twice, figure(gain), memory);
  }
  int low = profile.batch_size;
  int high = profile.batch_size;
  for (const analysis::TimeSample& sample : profile.time_samples) {
    low = std::min(low, sample.batch_size);
    high = std::max(high, sample.batch_size);
  }
  return text + (twice > high ? fmt::format(" (extrapolated from batches of {} to {}).", low, high) : ".");
}

}  // namespace

std::string text_report(const Profile& profile, const SourceLines& source, const TextOptions& options) {
  Page page(std::clamp(options.width, 80, 140), options.color);
  title(page, profile);
  key_figures(page, profile);
  tables(page, profile, source, options);
  notes(page, profile);
  if (const std::string text = advice(profile); !text.empty()) {
    page.line();
    page.prose("", text, 2);
  }
  return page.take();
}

}  // namespace ridgeline::report
