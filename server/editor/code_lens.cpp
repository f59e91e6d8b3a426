#include "editor/code_lens.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "editor/batch_size_method.h"
#include "report/labels.h"

namespace ridgeline::editor {

namespace {

using protocol::CodeLens;
using protocol::Json;

const source::Provider* place_of(const source::EntryPoint& entry_point) {
  using source::ProviderKind;
  for (const ProviderKind kind : {ProviderKind::kInput, ProviderKind::kModel, ProviderKind::kIteration}) {
    if (const auto& provider = entry_point.provider(kind); provider.has_value()) {
      return &*provider;
    }
  }
  return nullptr;
}

/// The lenses of one place.
class Lenses {
 public:
  Lenses(const Snapshot& snapshot, source::Span place) : range_(snapshot.range(place)), uri_(snapshot.document.uri()) {}

  void add(std::string title, std::string command, Json arguments) {
    CodeLens lens;
    lens.range = range_;
    lens.command = protocol::Command{std::move(title), std::move(command), std::move(arguments)};
    lenses_.push_back(std::move(lens));
  }
  /// Throughput and memory; both open the report.
  void add_figures(const Entry& entry) {
    const analysis::Profile& profile = entry.figures->profile();
    const std::string stale = entry.is_stale() ? " (stale)" : "";
    add(report::throughput_label(profile) + stale, "ridgeline.openReport", Json::array({uri_}));
    add(report::memory_label(profile) + stale, "ridgeline.openReport", Json::array({uri_}));
  }
  std::vector<CodeLens> take() { return std::move(lenses_); }

 private:
  protocol::Range range_;
  std::string uri_;
  std::vector<CodeLens> lenses_;
};

/// Lines that a window shows, mostly.
constexpr std::uint32_t kScreen = 20;

std::vector<CodeLens> script_lenses_at(const Snapshot& snapshot, std::size_t offset) {
  Lenses lenses(snapshot, {offset, offset});
  const Json uri = Json::array({snapshot.document.uri()});
  const auto& own = snapshot.own;
  if (own != nullptr && own->active.has_value()) {
    lenses.add("▷ " + own->progress.message + " …", "ridgeline.cancel", uri);
  } else {
    lenses.add("▷ Profile this script", "ridgeline.run", uri);
    if (snapshot.writes_entry_points) {
      lenses.add("Write entry point", "ridgeline.writeEntryPoint", uri);
    }
  }
  if (own != nullptr && own->figures != nullptr) {
    lenses.add_figures(*own);
  }
  return lenses.take();
}

/// The lenses of a file without providers that trains when it is run: above the statement that starts it and, where
/// that is out of sight when the file is opened, at the top.
std::vector<CodeLens> script_lenses(const Snapshot& snapshot) {
  std::vector<CodeLens> lenses = script_lenses_at(snapshot, snapshot.source->script->begin);
  if (!lenses.empty() && lenses.front().range.start.line > kScreen) {
    std::vector<CodeLens> above = script_lenses_at(snapshot, 0);
    std::ranges::move(lenses, std::back_inserter(above));
    return above;
  }
  return lenses;
}

}  // namespace

std::vector<CodeLens> code_lenses(const Snapshot& snapshot, const DocumentParams& /*params*/) {
  const auto& entry_point = snapshot.source->entry_point;
  const source::Provider* provider = entry_point.has_value() ? place_of(*entry_point) : nullptr;
  if (provider == nullptr) {
    return snapshot.source->script.has_value() ? script_lenses(snapshot) : std::vector<CodeLens>();
  }
  Lenses lenses(snapshot, provider->name_span);
  const std::string& uri = snapshot.document.uri();
  const auto add = [&](std::string title, std::string command, Json arguments) {
    lenses.add(std::move(title), std::move(command), std::move(arguments));
  };
  const auto& own = snapshot.own;
  if (own != nullptr && own->active.has_value()) {
    add("▷ " + own->progress.message + " …", "ridgeline.cancel", Json::array({uri}));
  } else {
    const auto other = other_batch_in_code(snapshot);
    add(other.has_value() ? "▷ Profile with " + std::to_string(other->batch_size) : "▷ Profile", "ridgeline.profile",
        Json::array({uri}));
  }
  if (own == nullptr || own->figures == nullptr) {
    return lenses.take();
  }
  lenses.add_figures(*own);
  if (const auto batch = other_batch_in_code(snapshot)) {
    const bool is_trying = own->trial.has_value() && own->trial->active.has_value();
    add("Batch " + std::to_string(batch->batch_size) + ": " + report::batch_label(*batch) +
            (is_trying ? ", being tried …" : ""),
        is_trying ? "ridgeline.cancel" : "ridgeline.openReport", Json::array({uri}));
  }
  if (const auto now = batch_size_in_code(*snapshot.source, own.get())) {
    for (const BatchSizeChoice& choice : batch_size_choices(*own->figures, *now)) {
      if (choice.recommended) {
        add("Batch size: " + std::to_string(*now) + " → " + std::to_string(choice.batch.batch_size),
            "ridgeline.setBatchSize", Json::array({uri, choice.batch.batch_size}));
      }
    }
  }
  return lenses.take();
}

}  // namespace ridgeline::editor
