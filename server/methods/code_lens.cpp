#include "methods/code_lens.h"

#include <string>
#include <utility>

#include "methods/batch_size.h"
#include "report/labels.h"

namespace ridgeline::methods {

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

}  // namespace

std::vector<CodeLens> code_lenses(const Snapshot& snapshot, const DocumentParams& /*params*/) {
  std::vector<CodeLens> lenses;
  const auto& entry_point = snapshot.source->entry_point;
  const source::Provider* provider = entry_point.has_value() ? place_of(*entry_point) : nullptr;
  if (provider == nullptr) {
    return lenses;
  }
  const protocol::Range range = snapshot.range(provider->name_span);
  const std::string& uri = snapshot.document.uri();
  const auto add = [&](std::string title, std::string command, Json arguments) {
    CodeLens lens;
    lens.range = range;
    lens.command = protocol::Command{std::move(title), std::move(command), std::move(arguments)};
    lenses.push_back(std::move(lens));
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
    return lenses;
  }
  const analysis::Profile& profile = own->figures->profile();
  const std::string stale = own->is_stale() ? " (stale)" : "";
  add(report::throughput_label(profile) + stale, "ridgeline.openReport", Json::array({uri}));
  add(report::memory_label(profile) + stale, "ridgeline.openReport", Json::array({uri}));
  if (const auto batch = other_batch_in_code(snapshot)) {
    const bool is_trying = own->trial.has_value() && own->trial->active.has_value();
    add("Batch " + std::to_string(batch->batch_size) + ": " + report::batch_label(*batch) +
            (is_trying ? ", being tried …" : ""),
        is_trying ? "ridgeline.cancel" : "ridgeline.openReport", Json::array({uri}));
  }
  if (const auto now = batch_size_in_code(*entry_point)) {
    for (const BatchSizeChoice& choice : batch_size_choices(*own->figures, *now)) {
      if (choice.recommended) {
        add("Batch size: " + std::to_string(*now) + " → " + std::to_string(choice.batch.batch_size),
            "ridgeline.setBatchSize", Json::array({uri, choice.batch.batch_size}));
      }
    }
  }
  return lenses;
}

}  // namespace ridgeline::methods
