#include "whatif/change_table.h"

#include <algorithm>
#include <array>

namespace ridgeline::whatif {

namespace {

constexpr std::array<ChangeKind, 12> kChanges = {{
    {"bf16-autocast", "", "bfloat16 autocast", "`with torch.autocast(device, dtype=torch.bfloat16):` around forward",
     "bf16-autocast"},
    {"fp16-autocast", "", "float16 autocast",
     "`with torch.autocast(device, dtype=torch.float16):` around forward, and a torch.amp.GradScaler", ""},
    {"foreach-optimizer", "", "foreach optimizer", "`foreach=True` for the optimizer", "foreach-optimizer"},
    {"fused-optimizer", "", "fused optimizer", "`fused=True` for the optimizer", "fused-optimizer"},
    {"channels-last", "", "channels_last memory format",
     "`.to(memory_format=torch.channels_last)` on the model and on its inputs", "channels-last"},
    {"compile", "", "torch.compile", "`model = torch.compile(model)`", "compile", false},
    {"checkpoint", "[MODULE]", "activation checkpointing",
     "`torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False)` for calls of the module", "checkpoint"},
    {"accumulate", "K", "gradient accumulation", "a K-th of the batch size, and an optimizer step every K-th iteration",
     "accumulate:2"},
    {"freeze", "MODULE", "frozen module", "`module.requires_grad_(False)`", ""},
    {"without", "MODULE", "module taken out", "`torch.nn.Identity()` in place of the module", ""},
    {"threads", "N", "threads inside operations", "`torch.set_num_threads(N)`", ""},
    {"batch-size", "N", "batch size", "the batch size", ""},
}};

std::string joined(const std::vector<std::string>& requests, std::string_view ChangeKind::*text, bool with_argument) {
  std::string all;
  for (const std::string& request : requests) {
    const ChangeKind* kind = find_change(request);
    all += all.empty() ? "" : with_argument ? " + " : "; ";
    all += kind != nullptr ? std::string(kind->*text) : request;
    if (const std::size_t colon = request.find(':'); with_argument && kind != nullptr && colon != std::string::npos) {
      all += " " + request.substr(colon + 1);
    }
  }
  return all;
}

}  // namespace

std::span<const ChangeKind> change_table() { return kChanges; }

const ChangeKind* find_change(std::string_view request) {
  const std::string_view name = request.substr(0, request.find(':'));
  const auto* found = std::ranges::find(kChanges, name, &ChangeKind::name);
  return found == kChanges.end() ? nullptr : found;
}

std::vector<std::vector<std::string>> usual_changes() {
  std::vector<std::vector<std::string>> usual;
  for (const ChangeKind& kind : kChanges) {
    if (!kind.usual.empty()) {
      usual.push_back({std::string(kind.usual)});
    }
  }
  return usual;
}

std::string title_of(const std::vector<std::string>& requests) { return joined(requests, &ChangeKind::title, true); }

std::string takes_of(const std::vector<std::string>& requests) { return joined(requests, &ChangeKind::takes, false); }

}  // namespace ridgeline::whatif
