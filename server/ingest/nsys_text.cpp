#include "ingest/nsys_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "ingest/range_words.h"

namespace ridgeline::ingest {

namespace {

using base::contains;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// What emit_nvtx() appends to the name, each with a value behind it.
constexpr std::array<std::string_view, 4> kAppended = {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};

std::int64_t number_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  std::int64_t number = -1;
  if (at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + key.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return number;
}

/// "aten::mm", "autograd::engine::…", "c10d::…": namespaces of PyTorch's operators have no capitals.
bool is_qualified(std::string_view name) {
  const std::size_t end = name.find("::");
  const std::string_view space = name.substr(0, end);
  return end != std::string_view::npos && end > 0 && std::ranges::all_of(space, [](char letter) {
           return is_digit(letter) || letter == '_' || (letter >= 'a' && letter <= 'z');
         });
}

/// "AddmmBackward0"
bool is_node_name(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) {
    name.remove_suffix(1);
  }
  return name.ends_with("Backward");
}

template <std::size_t N>
bool has_any(const std::vector<std::string>& words, const std::array<std::string_view, N>& of) {
  return std::ranges::find_first_of(words, of) != words.end();
}

}  // namespace

RangeText range_text(std::string_view text) {
  std::size_t end = text.size();
  for (const std::string_view key : kAppended) {
    end = std::min(end, text.find(key));
  }
  RangeText result;
  result.name = text.substr(0, end);
  result.sequence = number_behind(text.substr(end), kAppended[0]);
  result.is_autograd_node = result.sequence >= 0 && is_node_name(result.name);
  result.is_operation = end < text.size() || is_qualified(result.name);
  return result;
}

std::string range_family(std::string_view text) {
  std::string family;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) {
      family += text[i];
    } else if (i == 0 || !is_digit(text[i - 1])) {
      family += '#';
    }
  }
  return family;
}

std::string_view without_counter(std::string_view text) {
  std::string_view name = text;
  while (!name.empty() && is_digit(name.back())) {
    name.remove_suffix(1);
  }
  if (name.size() == text.size()) {
    return text;
  }
  while (!name.empty() && contains(" _#:-=[(", std::string_view(&name.back(), 1))) {
    name.remove_suffix(1);
  }
  return name.empty() ? text : name;
}

/// A digit right behind a letter is part of a name, except behind a word for steps.
bool has_counter(std::string_view text) {
  if (text.empty() || !is_digit(text.back())) {
    return false;
  }
  const std::string_view name = without_counter(text);
  const bool apart = name.size() < text.size() && !is_digit(text[name.size()]);
  return apart || (name.size() < text.size() && names_a_step(name));
}

bool names_a_step(std::string_view family) {
  static constexpr std::array<std::string_view, 7> kSteps = {"step",      "iter",         "iteration",   "itr",
                                                             "trainstep", "trainingstep", "profilerstep"};
  static constexpr std::array<std::string_view, 2> kBatches = {"batch", "minibatch"};
  /// With "batch": "batch norm" and "next batch" are parts of a step.
  static constexpr std::array<std::string_view, 14> kOfBatches = {"train", "training", "run",       "process", "epoch",
                                                                  "mini",  "batch",    "loop",      "global",  "pl",
                                                                  "fit",   "profile",  "minibatch", "number"};
  static constexpr std::array<std::string_view, 27> kParts = {
      "optimizer", "optimiser", "optim",   "opt",        "scheduler", "sched",     "lr",       "data",  "dataloader",
      "copy",      "load",      "loading", "loader",     "forward",   "fwd",       "backward", "bwd",   "get",
      "val",       "valid",     "eval",    "validation", "test",      "inference", "next",     "fetch", "time"};
  const std::vector<std::string> words = range_words(family);
  const bool is_batch = has_any(words, kBatches) && std::ranges::all_of(words, [&](const std::string& word) {
                          return std::ranges::find(kOfBatches, word) != kOfBatches.end();
                        });
  return (is_batch || has_any(words, kSteps)) && !has_any(words, kParts);
}

bool names_an_epoch(std::string_view family) {
  static constexpr std::array<std::string_view, 2> kEpochs = {"epoch", "epochs"};
  return has_any(range_words(family), kEpochs);
}

std::string_view call_name(std::string_view text) {
  const std::size_t at = text.rfind("_v");
  const bool is_version =
      at != std::string_view::npos && text.size() >= at + 5 && std::ranges::all_of(text.substr(at + 2), is_digit);
  return is_version ? text.substr(0, at) : text;
}

std::string copy_name(std::int64_t kind, std::int64_t from, std::int64_t to) {
  static constexpr std::array<std::string_view, 14> kKinds = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH",
                                                              "AtoA",    "AtoD", "DtoA", "DtoD", "HtoH",
                                                              "PtoP",    "HtoD", "DtoH", "DtoD"};
  static constexpr std::array<std::string_view, 8> kMemory = {"Pageable", "Pinned",        "Device",         "Array",
                                                              "Managed",  "Device Static", "Managed Static", "Unknown"};
  const auto of = [](const auto& names, std::int64_t number) {
    const bool known = number >= 0 && number < static_cast<std::int64_t>(names.size());
    return std::string(known ? names[static_cast<std::size_t>(number)] : std::string_view("Unknown"));
  };
  const std::string name = "Memcpy " + of(kKinds, kind);
  return from < 0 || to < 0 ? name : name + " (" + of(kMemory, from) + " -> " + of(kMemory, to) + ")";
}

}  // namespace ridgeline::ingest
