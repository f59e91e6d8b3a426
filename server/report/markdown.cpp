#include "report/markdown.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "report/labels.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

using analysis::Node;
using analysis::Profile;

constexpr std::size_t kShownCalls = 5;

/// A table whose first column is words and whose others are figures. Without rows it is nothing.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  std::string take() const {
    if (rows_.empty()) return {};
    std::string text = line(head_) + "|---|";
    for (std::size_t i = 1; i < head_.size(); ++i) text += "---:|";
    text += "\n";
    for (const auto& cells : rows_) text += line(cells);
    return text + "\n";
  }

 private:
  static std::string line(const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    return text + "\n";
  }

  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
};

/// Phases below a row: those of at least `least` ms.
void phase_rows(Table& table, const analysis::ByPhase& by_phase, double whole_ms, double least) {
  int shown = 0;
  for (const double ms : by_phase) shown += ms > least ? 1 : 0;
  for (std::size_t i = 0; i < analysis::kPhaseCount && shown > 1; ++i) {
    if (by_phase[i] > least) {
      table.row(
          {fmt::format("  {}", analysis::kPhaseNames[i]), duration(by_phase[i]), share(ratio(by_phase[i], whole_ms))});
    }
  }
}

std::string memory_table(const Cost& cost) {
  Table table({"memory at the peak", ""});
  const auto add = [&](const char* name, std::uint64_t count) {
    if (count > 0) table.row({name, bytes(static_cast<double>(count))});
  };
  add("all", cost.peak_bytes);
  add("weights", cost.weights_bytes);
  add("gradients", cost.gradients_bytes);
  add("activations", cost.activations_bytes);
  return table.take();
}

std::string name_of(const Node& node) {
  return code_span(node.type.empty() ? node.name : node.name + " (" + node.type + ")");
}

std::string calls_table(const std::vector<const Node*>& nodes, double whole_ms) {
  if (nodes.size() < 2) return {};
  Table table({"calls", "time", "share", "memory"});
  for (std::size_t i = 0; i < std::min(kShownCalls, nodes.size()); ++i) {
    table.row({name_of(*nodes[i]), duration(nodes[i]->ms), share(ratio(nodes[i]->ms, whole_ms)),
               bytes(static_cast<double>(nodes[i]->peak_bytes))});
  }
  std::string text = table.take();
  if (nodes.size() > kShownCalls) {
    text.pop_back();
    text += fmt::format("\nand {} more\n\n", nodes.size() - kShownCalls);
  }
  return text;
}

/// "fitted: 9.1 ms per sample + 5 ms".
std::string model_words(const Profile& profile, const std::vector<analysis::Piece>* model) {
  if (model == nullptr || model->empty() || !profile.time_model || profile.time_model->samples < 3) return {};
  const analysis::Piece& piece = piece_at(*model, profile.batch_size);
  return fmt::format("{} per sample {} {} for any batch\n", duration(piece.slope), piece.intercept < 0 ? "−" : "+",
                     duration(std::abs(piece.intercept)));
}

std::string title(const Profile& profile, const std::string& name, double calls) {
  std::string text = name.empty() ? "" : "**" + name + "** — ";
  if (calls > 0) text += plural(calls, "call") + " in one iteration, ";
  return text + fmt::format("batch {}\n\n", profile.batch_size);
}

}  // namespace

std::string code_span(std::string_view text, int width) {
  const std::string shown = clip(printable(text), width);
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char letter : shown) {
    run = letter == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  // A pipe would end the cell of a table, also in a code span.
  std::string safe;
  for (const char letter : shown) safe += letter == '|' ? std::string("\\|") : std::string(1, letter);
  const std::string fence(longest + 1, '`');
  const std::string pad = longest > 0 || safe.empty() ? " " : "";
  return fence + pad + safe + pad + fence;
}

std::string cost_markdown(const Profile& profile, const Cost& cost) {
  const double whole = profile.iteration.ms.value;
  std::string text = title(profile, cost.title.empty() ? "" : code_span(cost.title), cost.calls);
  std::vector<std::string> head = {"", "time", "share"};
  const bool has_parent = cost.parent != nullptr && cost.parent->ms > 0 && cost.parent->ms < 0.999 * whole;
  Table table(head);
  table.row({"self", duration(cost.self_ms), share(ratio(cost.self_ms, whole))});
  phase_rows(table, cost.self_by_phase, whole, kNegligible * cost.self_ms);
  if (cost.total_ms > cost.self_ms * (1 + kNegligible)) {
    table.row({"total", duration(cost.total_ms), share(ratio(cost.total_ms, whole))});
  }
  const auto on_device = [&](const char* words, double ms) {
    if (profile.device && ms > 0) table.row({words, duration(ms), share(ratio(ms, whole))});
  };
  on_device("on the device", cost.device.ms);
  on_device("  copies alone", cost.device.copy_ms);
  on_device("waits for the device", cost.device.wait_ms);
  text += table.take();
  if (has_parent) {
    text += fmt::format("{} of {}\n\n", share(ratio(std::max(cost.total_ms, cost.self_ms), cost.parent->ms)),
                        name_of(*cost.parent));
  }
  text += memory_table(cost) + calls_table(cost.inside, whole) + model_words(profile, cost.model);
  return text;
}

std::string module_markdown(const Profile& profile, const std::vector<const Node*>& nodes) {
  if (nodes.empty()) return {};
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
    for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) by_phase[i] += node->by_phase[i];
  }
  std::ranges::stable_sort(sorted, std::greater{}, &Node::ms);
  const Node& first = *sorted.front();
  std::string text = title(profile, code_span(first.type.empty() ? first.name : first.type), calls);
  Table table({"", "time", "share"});
  table.row({"total", duration(ms), share(ratio(ms, whole))});
  phase_rows(table, by_phase, whole, kNegligible * ms);
  text += table.take();
  Table memory({"memory at the peak", ""});
  if (peak > 0) memory.row({"with all inside", bytes(peak)});
  return text + memory.take() + calls_table(sorted, whole);
}

std::string batch_markdown(const analysis::BatchPrediction& batch, const std::string& note) {
  std::string text = fmt::format("**batch {}** — {}{}\n\n", batch.batch_size, knowledge_label(batch),
                                 batch.fits == false && !batch.failed ? ", does not fit" : "");
  Table table({"", ""});
  if (batch.failed) {
    text += code_span(batch.failed->message) + "\n\n";
  } else if (batch.measured) {
    table.row({"throughput", figure(batch.measured->samples_per_second) + " samples/s"});
    table.row({"iteration", duration(batch.measured->ms.value)});
    table.row({"peak memory", bytes(static_cast<double>(batch.measured->peak_bytes))});
  } else {
    if (batch.samples_per_second) {
      table.row({"throughput", estimated(*batch.samples_per_second, figure) + " samples/s"});
    }
    if (batch.ms) table.row({"iteration", estimated(*batch.ms, duration)});
    if (batch.peak_bytes) table.row({"peak memory", estimated(*batch.peak_bytes, bytes)});
  }
  text += table.take();
  if (batch.measured && batch.measured->machine_changed) {
    text += "tried after the profile; " + machine_words(batch.measured->machine_speed) + "\n\n";
  }
  return note.empty() ? text : text + code_span(note, 160) + "\n\n";
}

std::string summary_markdown(const Profile& profile, const analysis::Outlook& outlook) {
  const double whole = profile.iteration.ms.value;
  std::string text = title(profile, "", 0);
  Table table({"", ""});
  std::string throughput = figure(profile.samples_per_second) + " samples/s";
  if (profile.max_samples_per_second) {
    throughput +=
        fmt::format(", {} of the maximum {}", share(ratio(profile.samples_per_second, *profile.max_samples_per_second)),
                    figure(*profile.max_samples_per_second));
  }
  table.row({"throughput", throughput});
  std::string peak = bytes(static_cast<double>(profile.peak_bytes));
  if (profile.capacity_bytes > 0) {
    peak +=
        fmt::format(", {} of {}",
                    share(ratio(static_cast<double>(profile.peak_bytes), static_cast<double>(profile.capacity_bytes))),
                    bytes(static_cast<double>(profile.capacity_bytes)));
  }
  table.row({"peak memory", peak});
  if (profile.device) {
    table.row({"device busy",
               fmt::format("{} with kernels, {} with copies alone", share(ratio(profile.device->kernel_ms, whole)),
                           share(ratio(profile.device->copy_ms, whole)))});
  }
  table.row(
      {"iteration", fmt::format("{} ± {}", duration(whole),
                                share(ratio((profile.iteration.ms.high - profile.iteration.ms.low) / 2, whole)))});
  text += table.take();
  Table phases({"phase", "time", "share"});
  for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
    const double ms = profile.iteration.by_phase[i];
    if (ms > kNegligible * whole) phases.row({analysis::kPhaseNames[i], duration(ms), share(ratio(ms, whole))});
  }
  Table categories({"at the peak", "memory", "share"});
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    const auto part = static_cast<double>(profile.by_category[i]);
    const double of_peak = ratio(part, static_cast<double>(profile.peak_bytes));
    if (of_peak > kNegligible) categories.row({analysis::kCategoryWords[i], bytes(part), share(of_peak)});
  }
  text += phases.take() + categories.take();
  if (outlook.fits.batch) {
    text += fmt::format("largest batch that fits: {}{}\n\n", outlook.fits.batch->batch_size,
                        outlook.fits.batch->extrapolated ? " (extrapolated)" : "");
  }
  text += "on " + printable(device_words(profile.environment)) + "\n";
  return text;
}

}  // namespace ridgeline::report
