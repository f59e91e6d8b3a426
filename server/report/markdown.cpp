#include "report/markdown.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include <fmt/format.h>

#include "report/labels.h"
#include "report/observation_text.h"
#include "report/operation_times.h"
#include "report/outlook_text.h"
#include "report/units.h"
#include "report/wording.h"
#include "report/work_text.h"

namespace ridgeline::report {

namespace {

using analysis::Node;
using analysis::Profile;
using protocol::Markdown;

constexpr std::size_t kShownCalls = 5;
constexpr int kShownCode = 24;  ///< columns of code in a table, so that it fits beside other windows

/// Figures and names of ours in a cell or a sentence.
Markdown plain(std::string_view text) { return Markdown::text(text); }

/// Sentences of ours; what stands between backticks is code.
Markdown marked(std::string_view text) {
  Markdown all;
  for (bool is_code = false;; is_code = !is_code) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string_view part = text.substr(0, end);
    all += is_code ? Markdown::code(std::string(part)) : plain(part);
    if (end == text.size()) {
      return all;
    }
    text.remove_prefix(end + 1);
  }
}

/// A cell of a table, and the columns that it takes where only the backticks and the addresses of links are hidden.
struct Cell {
  Markdown markup;
  int width = 0;
};

Cell cell(std::string_view text) {
  Markdown markup = plain(text);
  const int width = columns(markup.markup());
  return {std::move(markup), width};
}

Cell indented(std::string_view text) {
  Cell below = cell(text);
  return {"  " + below.markup, below.width + 2};
}

Cell code_cell(std::string_view text) {
  const std::string shown = clip(printable(text), kShownCode);
  return {Markdown::code(shown), columns(shown)};
}

/// A table whose first column is text and whose others are figures, aligned in its source, too: some editors show that.
/// Without rows it is empty.
class MarkdownTable {
 public:
  MarkdownTable(std::initializer_list<std::string_view> head) : widths_(head.size(), kLeastWidth) {
    std::vector<Cell> cells;
    for (const std::string_view name : head) {
      cells.push_back(cell(name));
    }
    add(std::move(cells));
  }

  void row(Cell name, const std::vector<std::string>& figures) {
    std::vector<Cell> cells = {std::move(name)};
    for (const std::string& figure : figures) {
      cells.push_back(cell(figure));
    }
    add(std::move(cells));
  }
  void row(std::string_view name, const std::vector<std::string>& figures) { row(cell(name), figures); }

  bool empty() const { return rows_.size() < 2; }

  Markdown take() const {
    if (empty()) {
      return {};
    }
    Markdown text;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      add_row(text, rows_[i]);
      if (i == 0) {
        add_rule(text);
      }
    }
    return text + "\n";
  }

 private:
  static constexpr int kLeastWidth = 3;

  void add(std::vector<Cell> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths_[i] = std::max(widths_[i], cells[i].width);
    }
    rows_.push_back(std::move(cells));
  }
  void add_row(Markdown& text, const std::vector<Cell>& cells) const {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const int gap = widths_[i] - cells[i].width;
      text += "| ";
      if (i > 0) {
        add_times(text, " ", gap);
      }
      text += cells[i].markup;
      if (i == 0) {
        add_times(text, " ", gap);
      }
      text += " ";
    }
    text += "|\n";
  }
  void add_rule(Markdown& text) const {
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      text += "|-";
      add_times(text, "-", widths_[i]);
      text += i == 0 ? Markdown("-") : Markdown(":");
    }
    text += "|\n";
  }
  static void add_times(Markdown& text, Markdown::Literal sign, int times) {
    for (int i = 0; i < times; ++i) {
      text += sign;
    }
  }

  std::vector<int> widths_;
  std::vector<std::vector<Cell>> rows_;
};

/// Phases below a row: those of at least `least` ms.
void phase_rows(MarkdownTable& table, const analysis::ByPhase& by_phase, double whole_ms, double least) {
  int shown = 0;
  for (const double ms : by_phase) {
    shown += ms > least ? 1 : 0;
  }
  for (std::size_t i = 0; i < analysis::kPhaseCount && shown > 1; ++i) {
    if (by_phase[i] > least) {
      table.row(indented(analysis::kPhaseNames[i]), {duration(by_phase[i]), share(ratio(by_phase[i], whole_ms))});
    }
  }
}

Markdown memory_table(const Cost& cost) {
  MarkdownTable table({"memory at the peak", ""});
  const auto add = [&](std::string_view name, std::uint64_t count) {
    if (count > 0) {
      table.row(name, {bytes(static_cast<double>(count))});
    }
  };
  add("all", cost.peak_bytes);
  add("weights", cost.weights_bytes);
  add("gradients", cost.gradients_bytes);
  add("activations", cost.activations_bytes);
  return table.take();
}

std::string name_of(const Node& node) { return node.type.empty() ? node.name : node.name + " (" + node.type + ")"; }

/// Calls of modules of one class that cost about the same; or one call.
struct AlikeCalls {
  const Called* first = nullptr;
  std::size_t count = 0;
  double ms = 0;
  double bytes = 0;
};

/// In the order of the first of each.
std::vector<AlikeCalls> alike_calls(const std::vector<Called>& called) {
  constexpr double kAlike = 1.2;  // times the cost
  std::vector<AlikeCalls> all;
  for (const Called& call : called) {
    const Node& node = *call.node;
    const auto found = std::ranges::find_if(all, [&](const AlikeCalls& alike) {
      const Node& first = *alike.first->node;
      return !node.type.empty() && first.type == node.type && first.ms <= kAlike * node.ms &&
             node.ms <= kAlike * first.ms;
    });
    AlikeCalls& alike = found == all.end() ? all.emplace_back(AlikeCalls{&call}) : *found;
    ++alike.count;
    alike.ms += node.ms;
    alike.bytes += static_cast<double>(node.peak_bytes);
  }
  return all;
}

Markdown called_table(std::string_view title, const std::vector<Called>& called, double whole_ms) {
  MarkdownTable table({title, "time", "share of step", "memory"});
  const std::vector<AlikeCalls> all = alike_calls(called);
  for (std::size_t i = 0; i < std::min(kShownCalls, all.size()); ++i) {
    const AlikeCalls& alike = all[i];
    const Node& node = *alike.first->node;
    const auto count = static_cast<double>(alike.count);
    Cell name = alike.count == 1 ? code_cell(name_of(node)) : code_cell(fmt::format("{} × {}", alike.count, node.type));
    name.markup = Markdown::link(name.markup, alike.first->uri);
    if (alike.count > 1) {
      const Cell each = cell(", " + duration(alike.ms / count) + " each");
      name = {name.markup + each.markup, name.width + each.width};
    }
    table.row(std::move(name), {duration(alike.ms), share(ratio(alike.ms, whole_ms)), bytes(alike.bytes)});
  }
  Markdown text = table.take();
  if (all.size() > kShownCalls) {
    text += plain(fmt::format("and {} more", all.size() - kShownCalls)) + "\n\n";
  }
  return text;
}

/// A single call says no more than the line that it is on: then what is inside of it.
Markdown calls_table(const Cost& cost, double whole_ms) {
  return cost.inside.size() < 2 ? called_table("costliest modules below", cost.modules_below, whole_ms)
                                : called_table("calls", cost.inside, whole_ms);
}

Markdown below_table(const std::vector<LineBelow>& lines, double whole_ms) {
  MarkdownTable table({"costliest lines below", "time", "share of step"});
  for (const LineBelow& line : lines) {
    const Cell place = cell(line.place);
    const Cell code = code_cell(line.text);
    table.row(Cell{Markdown::link(place.markup, line.uri) + " " + code.markup, place.width + 1 + code.width},
              {duration(line.ms), share(ratio(line.ms, whole_ms))});
  }
  return table.take();
}

Markdown modules_table(const std::vector<analysis::LibraryModule>* modules, double whole_ms) {
  if (modules == nullptr || modules->empty()) {
    return {};
  }
  MarkdownTable table({"modules below", "time", "share of step", "memory"});
  for (const analysis::LibraryModule& module : *modules) {
    const std::string count = module.instances > 1 ? fmt::format("{} × ", module.instances) : "";
    table.row(code_cell(count + module.type),
              {duration(module.ms), share(ratio(module.ms, whole_ms)), bytes(static_cast<double>(module.peak_bytes))});
  }
  return table.take();
}

/// "9.1 ms for each further sample; 5 ms for any batch", as in the text report. A cost that grows faster than the batch
/// has no part for any batch; one that is negligible has nothing to say.
Markdown model_text(const Profile& profile, const Cost& cost) {
  const std::vector<analysis::Piece>* model = cost.model;
  if (model == nullptr || model->empty() || !profile.time_model || profile.time_model->samples < 3 ||
      cost.self_ms <= kNegligible * profile.iteration.ms.value) {
    return {};
  }
  const analysis::Piece& piece = piece_at(*model, profile.batch_size);
  std::string text = piece.slope > 0 ? duration(piece.slope) + " for each further sample" : "";
  if (piece.intercept > kNegligible * cost.self_ms) {
    text += (text.empty() ? "" : "; ") + duration(piece.intercept) + " for any batch";
  }
  return text.empty() ? Markdown() : plain(text) + "\n";
}

Markdown title(const Profile& profile, const Markdown& name, double calls) {
  Markdown text = name.empty() ? Markdown() : "**" + name + "** — ";
  if (calls > 0) {
    text += plain(plural(calls, "call")) + " in one iteration, ";
  }
  return text + "batch " + plain(batch_text(profile)) + "\n\n";
}

/// "addmm float32[1003] …": without what is the same of almost all.
std::string short_operation(const std::string& key) {
  std::string text = operation_text(key);
  if (text.starts_with("aten::")) {
    text.erase(0, std::string_view("aten::").size());
  }
  if (const std::size_t at = text.find(".default"); at != std::string::npos) {
    text.erase(at, std::string_view(".default").size());
  }
  return text;
}

/// What the line's operations attain, and the costliest of them where there are several.
Markdown work_text(const analysis::LineWork& line, const std::optional<analysis::WorkDevice>& device) {
  const auto attained = attained_text(line.work);
  const std::string rate = rate_text(line.work);
  Markdown text;
  if (attained) {
    text += "Attains " + plain(*attained) + (rate.empty() ? Markdown() : plain(": " + rate)) + "\n\n";
  }
  if (!attained && !rate.empty()) {
    text += "Computes " + plain(rate) + "\n\n";
  }
  if (device && !line.operations.empty()) {
    const std::string tiles = tile_text(line.operations.front(), *device);
    if (!tiles.empty()) {
      text += plain(tiles) + "\n\n";
    }
  }
  if (line.operations.size() < 2 || !attained) {
    return text;
  }
  MarkdownTable table({"operations", "time", "of the roofline"});
  for (const analysis::OperationCost& operation : line.operations) {
    const auto of_one = operation.work.attained();
    table.row(code_cell(short_operation(operation.key)), {duration(operation.work.ms), of_one ? share(*of_one) : "–"});
  }
  return text + table.take();
}

Markdown saved_text(double ms, double whole) {
  return ms >= kNegligible * whole ? "If this line took half the time, the step would take " +
                                         plain(duration(ms) + " (" + share(ratio(ms, whole)) + ") less")
                                   : Markdown("If this line took half the time, the step would take no less");
}

/// "33 % of `blocks.3 (Block)`", "33 % of 4 × `Block`"; nothing of modules of several classes, and where the line also
/// runs elsewhere, so that it is more than all of them.
Markdown part_text(const Cost& cost, double whole) {
  double inside = 0;
  for (const Node* parent : cost.parents) {
    inside += parent->ms;
  }
  const double part = ratio(std::max(cost.total_ms, cost.self_ms), inside);
  const auto is_alike = [&](const Node* parent) { return parent->type == cost.parents.front()->type; };
  if (cost.parents.empty() || inside <= 0 || inside >= 0.999 * whole || part > 1.005 ||
      !std::ranges::all_of(cost.parents, is_alike)) {
    return {};
  }
  const Markdown of = plain(share(std::min(part, 1.0))) + " of ";
  return cost.parents.size() == 1
             ? of + code_span(name_of(*cost.parents.front())) + "\n\n"
             : of + plain(fmt::format("{} × ", cost.parents.size())) + code_span(cost.parents.front()->type) + "\n\n";
}

}  // namespace

Markdown code_span(std::string_view text, int width) { return Markdown::code(clip(printable(text), width)); }

Markdown cost_markdown(const Profile& profile, const Cost& cost) {
  const double whole = profile.iteration.ms.value;
  Markdown text = title(profile, cost.title.empty() ? Markdown() : code_span(cost.title), cost.calls);
  MarkdownTable table({"", "time", "share of step"});
  table.row("self", {duration(cost.self_ms), share(ratio(cost.self_ms, whole))});
  phase_rows(table, cost.self_by_phase, whole, kNegligible * cost.self_ms);
  if (cost.total_ms > cost.self_ms * (1 + kNegligible)) {
    table.row("total", {duration(cost.total_ms), share(ratio(cost.total_ms, whole))});
  }
  const auto on_device = [&](std::string_view label, double ms) {
    if (profile.device && ms > 0) {
      table.row(label, {duration(ms), share(ratio(ms, whole))});
    }
  };
  on_device("on the device", cost.device.ms);
  on_device("copies alone", cost.device.copy_ms);
  on_device("waits for the device", cost.device.wait_ms);
  text += table.take();
  if (!cost.counted.empty()) {
    text += plain(cost.counted) + "\n\n";
  }
  if (cost.saved_twice_as_fast_ms.has_value()) {
    text += saved_text(*cost.saved_twice_as_fast_ms, whole) + "\n\n";
  }
  if (cost.work != nullptr) {
    text += work_text(*cost.work, profile.work->device);
    const analysis::Padding* const padding = padding_of_line(profile, cost.work->location);
    if (padding != nullptr) {
      text += marked(padding_text(*padding)) + "\n\n";
    }
    const analysis::OwnProgram* const program = own_program_of_line(profile, cost.work->location);
    if (program != nullptr) {
      text += marked(own_program_text(*program, whole)) + "\n\n";
    }
  }
  if (!cost.change.empty()) {
    text += plain(cost.change) + "\n\n";
  }
  text += part_text(cost, whole) + memory_table(cost) + below_table(cost.below, whole) +
          (cost.modules == nullptr || cost.inside.size() > 1 ? calls_table(cost, whole)
                                                             : modules_table(cost.modules, whole)) +
          model_text(profile, cost);
  return text;
}

Markdown module_markdown(const Profile& profile, const std::vector<const Node*>& nodes) {
  if (nodes.empty()) {
    return {};
  }
  const double whole = profile.iteration.ms.value;
  analysis::ByPhase by_phase{};
  double calls = 0;
  double ms = 0;
  double peak = 0;
  std::vector<const Node*> sorted = nodes;
  for (const Node* node : nodes) {
    calls += static_cast<double>(node->calls);
    ms += node->ms;
    peak += static_cast<double>(node->peak_bytes);
    for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
      by_phase[i] += node->by_phase[i];
    }
  }
  std::ranges::stable_sort(sorted, std::greater{}, &Node::ms);
  const Node& first = *sorted.front();
  Markdown text = title(profile, code_span(first.type.empty() ? first.name : first.type), calls);
  MarkdownTable table({"", "time", "share of step"});
  table.row("total", {duration(ms), share(ratio(ms, whole))});
  phase_rows(table, by_phase, whole, kNegligible * ms);
  text += table.take();
  MarkdownTable memory({"memory at the peak", ""});
  if (peak > 0) {
    memory.row("with all inside", {bytes(peak)});
  }
  std::vector<Called> called;
  for (const Node* node : sorted) {
    called.push_back({node});
  }
  return text + memory.take() + (called.size() < 2 ? Markdown() : called_table("calls", called, whole));
}

Markdown batch_markdown(const analysis::BatchPrediction& batch, const std::string& note) {
  Markdown text = "**batch " + plain(std::to_string(batch.batch_size)) + "** — " + plain(knowledge_label(batch));
  if (batch.fits == false && !batch.failed) {
    text += ", does not fit";
  }
  text += "\n\n";
  MarkdownTable table({"", ""});
  if (batch.failed) {
    text += plain(batch.failed->message) + "\n\n";
  } else if (batch.measured) {
    table.row("throughput", {figure(batch.measured->samples_per_second) + " samples/s"});
    table.row("iteration", {duration(batch.measured->ms.value)});
    table.row("peak memory", {bytes(static_cast<double>(batch.measured->peak_bytes))});
  } else {
    if (batch.samples_per_second) {
      table.row("throughput", {estimated(*batch.samples_per_second, figure) + " samples/s"});
    }
    if (batch.ms) {
      table.row("iteration", {estimated(*batch.ms, duration)});
    }
    if (batch.peak_bytes) {
      table.row("peak memory", {estimated(*batch.peak_bytes, bytes)});
    }
  }
  text += table.take();
  if (batch.measured && batch.measured->machine_changed) {
    text += "tried after the profile; " + plain(machine_text(batch.measured->machine_speed)) + "\n\n";
  }
  return note.empty() ? text : text + "*" + plain(note) + "*\n\n";
}

namespace {

void add_throughput_and_memory(MarkdownTable& table, const Profile& profile) {
  std::string throughput = throughput_text(profile);
  if (profile.samples_per_second && profile.max_samples_per_second) {
    throughput += fmt::format(", {} of the maximum {}",
                              share(ratio(*profile.samples_per_second, *profile.max_samples_per_second)),
                              figure(*profile.max_samples_per_second));
  }
  table.row("throughput", {throughput});
  std::string peak = peak_text(profile);
  if (profile.peak_known && profile.capacity_bytes > 0) {
    peak +=
        fmt::format(", {} of {}",
                    share(ratio(static_cast<double>(profile.peak_bytes), static_cast<double>(profile.capacity_bytes))),
                    bytes(static_cast<double>(profile.capacity_bytes)));
  }
  table.row("peak memory", {peak});
}

Markdown phases_and_categories(const Profile& profile) {
  const double whole = profile.iteration.ms.value;
  MarkdownTable phases({"phase", "time", "share of step"});
  for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
    const double ms = profile.iteration.by_phase[i];
    if (ms > kNegligible * whole) {
      phases.row(analysis::kPhaseNames[i], {duration(ms), share(ratio(ms, whole))});
    }
  }
  MarkdownTable categories({"at the peak", "memory", "of the peak"});
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    const auto part = static_cast<double>(profile.by_category[i]);
    const double of_peak = ratio(part, static_cast<double>(profile.peak_bytes));
    if (of_peak > kNegligible) {
      categories.row(analysis::kCategoryLabels[i], {bytes(part), share(of_peak)});
    }
  }
  return phases.take() + categories.take();
}

}  // namespace

Markdown summary_markdown(const Profile& profile, const analysis::Outlook& outlook) {
  const double whole = profile.iteration.ms.value;
  MarkdownTable table({"", ""});
  add_throughput_and_memory(table, profile);
  if (profile.device) {
    table.row("device busy",
              {fmt::format("{} with kernels, {} with copies alone", share(ratio(profile.device->kernel_ms, whole)),
                           share(ratio(profile.device->copy_ms, whole)))});
  }
  table.row("iteration", {iteration_text(profile)});
  Markdown text = title(profile, {}, 0) + table.take() + phases_and_categories(profile);
  for (const std::string& sentence : {conclusion_text(profile, outlook), fits_text(profile, outlook)}) {
    if (!sentence.empty()) {
      text += plain(report::sentence(sentence)) + "\n\n";
    }
  }
  for (const Item& note : observation_notes(profile, outlook)) {
    text += marked(note.value) + "\n\n";
  }
  text += "on " + plain(device_label(profile.environment)) + "\n";
  return text;
}

}  // namespace ridgeline::report
