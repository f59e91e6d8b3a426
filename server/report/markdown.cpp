#include "report/markdown.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include <fmt/format.h>

#include "report/labels.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

using analysis::Node;
using analysis::Profile;
using protocol::Markdown;

constexpr std::size_t kShownCalls = 5;

/// Figures and names of ours in a cell or a sentence.
Markdown plain(std::string_view text) { return Markdown::text(text); }

/// A table whose first column is text and whose others are figures. Without rows it is empty.
class MarkdownTable {
 public:
  MarkdownTable(std::initializer_list<Markdown::Literal> head) : head_(head.size()), text_("|") {
    for (const Markdown::Literal name : head) {
      text_ += " " + Markdown(name) + " |";
    }
    text_ += "\n|---|";
    for (std::size_t i = 1; i < head_; ++i) text_ += "---:|";
    text_ += "\n";
  }

  void row(const Markdown& name, const std::vector<std::string>& figures) {
    ++rows_;
    text_ += "| " + name + " |";
    for (const std::string& figure : figures) text_ += " " + plain(figure) + " |";
    text_ += "\n";
  }
  bool empty() const { return rows_ == 0; }

  Markdown take() const { return empty() ? Markdown() : text_ + "\n"; }

 private:
  std::size_t head_;
  std::size_t rows_ = 0;
  Markdown text_;
};

/// Phases below a row: those of at least `least` ms.
void phase_rows(MarkdownTable& table, const analysis::ByPhase& by_phase, double whole_ms, double least) {
  int shown = 0;
  for (const double ms : by_phase) shown += ms > least ? 1 : 0;
  for (std::size_t i = 0; i < analysis::kPhaseCount && shown > 1; ++i) {
    if (by_phase[i] > least) {
      table.row("  " + plain(analysis::kPhaseNames[i]), {duration(by_phase[i]), share(ratio(by_phase[i], whole_ms))});
    }
  }
}

Markdown memory_table(const Cost& cost) {
  MarkdownTable table({"memory at the peak", ""});
  const auto add = [&](std::string_view name, std::uint64_t count) {
    if (count > 0) table.row(plain(name), {bytes(static_cast<double>(count))});
  };
  add("all", cost.peak_bytes);
  add("weights", cost.weights_bytes);
  add("gradients", cost.gradients_bytes);
  add("activations", cost.activations_bytes);
  return table.take();
}

Markdown name_of(const Node& node) {
  return code_span(node.type.empty() ? node.name : node.name + " (" + node.type + ")");
}

Markdown calls_table(const std::vector<const Node*>& nodes, double whole_ms) {
  if (nodes.size() < 2) return {};
  MarkdownTable table({"calls", "time", "share", "memory"});
  for (std::size_t i = 0; i < std::min(kShownCalls, nodes.size()); ++i) {
    table.row(name_of(*nodes[i]), {duration(nodes[i]->ms), share(ratio(nodes[i]->ms, whole_ms)),
                                   bytes(static_cast<double>(nodes[i]->peak_bytes))});
  }
  Markdown text = table.take();
  if (nodes.size() > kShownCalls) {
    text += plain(fmt::format("and {} more", nodes.size() - kShownCalls)) + "\n\n";
  }
  return text;
}

/// "fitted: 9.1 ms per sample + 5 ms".
Markdown model_text(const Profile& profile, const std::vector<analysis::Piece>* model) {
  if (model == nullptr || model->empty() || !profile.time_model || profile.time_model->samples < 3) return {};
  const analysis::Piece& piece = piece_at(*model, profile.batch_size);
  return plain(fmt::format("{} per sample {} {} for any batch", duration(piece.slope), piece.intercept < 0 ? "−" : "+",
                           duration(std::abs(piece.intercept)))) +
         "\n";
}

Markdown title(const Profile& profile, const Markdown& name, double calls) {
  Markdown text = name.empty() ? Markdown() : "**" + name + "** — ";
  if (calls > 0) text += plain(plural(calls, "call")) + " in one iteration, ";
  return text + "batch " + plain(batch_text(profile)) + "\n\n";
}

}  // namespace

Markdown code_span(std::string_view text, int width) { return Markdown::code(clip(printable(text), width)); }

Markdown cost_markdown(const Profile& profile, const Cost& cost) {
  const double whole = profile.iteration.ms.value;
  Markdown text = title(profile, cost.title.empty() ? Markdown() : code_span(cost.title), cost.calls);
  const bool has_parent = cost.parent != nullptr && cost.parent->ms > 0 && cost.parent->ms < 0.999 * whole;
  MarkdownTable table({"", "time", "share"});
  table.row(Markdown("self"), {duration(cost.self_ms), share(ratio(cost.self_ms, whole))});
  phase_rows(table, cost.self_by_phase, whole, kNegligible * cost.self_ms);
  if (cost.total_ms > cost.self_ms * (1 + kNegligible)) {
    table.row(Markdown("total"), {duration(cost.total_ms), share(ratio(cost.total_ms, whole))});
  }
  const auto on_device = [&](std::string_view label, double ms) {
    if (profile.device && ms > 0) table.row(plain(label), {duration(ms), share(ratio(ms, whole))});
  };
  on_device("on the device", cost.device.ms);
  on_device("copies alone", cost.device.copy_ms);
  on_device("waits for the device", cost.device.wait_ms);
  text += table.take();
  if (has_parent) {
    text += plain(share(ratio(std::max(cost.total_ms, cost.self_ms), cost.parent->ms))) + " of " +
            name_of(*cost.parent) + "\n\n";
  }
  text += memory_table(cost) + calls_table(cost.inside, whole) + model_text(profile, cost.model);
  return text;
}

Markdown module_markdown(const Profile& profile, const std::vector<const Node*>& nodes) {
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
  Markdown text = title(profile, code_span(first.type.empty() ? first.name : first.type), calls);
  MarkdownTable table({"", "time", "share"});
  table.row(Markdown("total"), {duration(ms), share(ratio(ms, whole))});
  phase_rows(table, by_phase, whole, kNegligible * ms);
  text += table.take();
  MarkdownTable memory({"memory at the peak", ""});
  if (peak > 0) memory.row(Markdown("with all inside"), {bytes(peak)});
  return text + memory.take() + calls_table(sorted, whole);
}

Markdown batch_markdown(const analysis::BatchPrediction& batch, const std::string& note) {
  Markdown text = "**batch " + plain(std::to_string(batch.batch_size)) + "** — " + plain(knowledge_label(batch));
  if (batch.fits == false && !batch.failed) text += ", does not fit";
  text += "\n\n";
  MarkdownTable table({"", ""});
  if (batch.failed) {
    text += plain(batch.failed->message) + "\n\n";
  } else if (batch.measured) {
    table.row(Markdown("throughput"), {figure(batch.measured->samples_per_second) + " samples/s"});
    table.row(Markdown("iteration"), {duration(batch.measured->ms.value)});
    table.row(Markdown("peak memory"), {bytes(static_cast<double>(batch.measured->peak_bytes))});
  } else {
    if (batch.samples_per_second) {
      table.row(Markdown("throughput"), {estimated(*batch.samples_per_second, figure) + " samples/s"});
    }
    if (batch.ms) table.row(Markdown("iteration"), {estimated(*batch.ms, duration)});
    if (batch.peak_bytes) table.row(Markdown("peak memory"), {estimated(*batch.peak_bytes, bytes)});
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
  table.row(Markdown("throughput"), {throughput});
  std::string peak = peak_text(profile);
  if (profile.peak_known && profile.capacity_bytes > 0) {
    peak +=
        fmt::format(", {} of {}",
                    share(ratio(static_cast<double>(profile.peak_bytes), static_cast<double>(profile.capacity_bytes))),
                    bytes(static_cast<double>(profile.capacity_bytes)));
  }
  table.row(Markdown("peak memory"), {peak});
}

Markdown phases_and_categories(const Profile& profile) {
  const double whole = profile.iteration.ms.value;
  MarkdownTable phases({"phase", "time", "share"});
  for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
    const double ms = profile.iteration.by_phase[i];
    if (ms > kNegligible * whole) phases.row(plain(analysis::kPhaseNames[i]), {duration(ms), share(ratio(ms, whole))});
  }
  MarkdownTable categories({"at the peak", "memory", "share"});
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    const auto part = static_cast<double>(profile.by_category[i]);
    const double of_peak = ratio(part, static_cast<double>(profile.peak_bytes));
    if (of_peak > kNegligible) categories.row(plain(analysis::kCategoryLabels[i]), {bytes(part), share(of_peak)});
  }
  return phases.take() + categories.take();
}

}  // namespace

Markdown summary_markdown(const Profile& profile, const analysis::Outlook& outlook) {
  const double whole = profile.iteration.ms.value;
  MarkdownTable table({"", ""});
  add_throughput_and_memory(table, profile);
  if (profile.device) {
    table.row(Markdown("device busy"),
              {fmt::format("{} with kernels, {} with copies alone", share(ratio(profile.device->kernel_ms, whole)),
                           share(ratio(profile.device->copy_ms, whole)))});
  }
  table.row(Markdown("iteration"),
            {fmt::format("{} ± {}", duration(whole),
                         share(ratio((profile.iteration.ms.high - profile.iteration.ms.low) / 2, whole)))});
  Markdown text = title(profile, {}, 0) + table.take() + phases_and_categories(profile);
  if (outlook.fits.batch) {
    text += plain(fmt::format("largest batch that fits: {}{}", outlook.fits.batch->batch_size,
                              outlook.fits.batch->extrapolated ? " (extrapolated)" : "")) +
            "\n\n";
  }
  text += "on " + plain(device_label(profile.environment)) + "\n";
  return text;
}

}  // namespace ridgeline::report
