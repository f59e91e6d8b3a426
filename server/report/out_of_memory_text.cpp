#include "report/out_of_memory_text.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "protocol/shown_text.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {

namespace {

using analysis::OutOfMemoryError;

constexpr std::size_t kMostAliveLines = 5;
constexpr double kMost = 0.5;  ///< a greater share is most of it

std::string size_of(std::uint64_t count) { return bytes(static_cast<double>(count)); }

std::string line_of(const analysis::Location& location) {
  return location.file.empty() ? "no line of yours" : printable(fmt::format("{}:{}", location.file, location.line));
}

std::string bytes_and_share(std::uint64_t count, std::uint64_t whole) {
  return fmt::format("{} ({})", size_of(count), share(static_cast<double>(count) / static_cast<double>(whole)));
}

/// " asked for 128 MiB"
std::string asked_text(const OutOfMemoryError& found) {
  return found.asked_bytes ? " asked for " + size_of(*found.asked_bytes) : " asked for more";
}

/// Whether it ended a script after its step had been recorded.
bool is_late(const OutOfMemoryError& found) {
  return found.was_run && found.lines.empty() && found.by_category == analysis::ByCategory{};
}

std::string late_text(const OutOfMemoryError& found) {
  std::string text = "The script ran out of memory after its step was recorded: " + line_of(found.location);
  text += asked_text(found);
  text += found.allocated_bytes > 0 ? fmt::format(" when {} were allocated.", size_of(found.allocated_bytes)) : ".";
  text += fmt::format(" What was allocated then was not recorded; the recorded step needs {} at its peak.",
                      bytes(found.predicted_bytes));
  return text;
}

/// "activations 2.1 GiB (68 %), weights ...", the largest first.
std::string categories_of(const OutOfMemoryError& found) {
  std::vector<std::pair<std::uint64_t, std::size_t>> sorted;
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    if (found.by_category[i] > 0) {
      sorted.emplace_back(found.by_category[i], i);
    }
  }
  std::ranges::sort(sorted, std::ranges::greater());
  std::string text;
  for (const auto& [count, category] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", analysis::kCategoryLabels[category],
                        bytes_and_share(count, found.allocated_bytes));
  }
  return text;
}

std::string error_text(const OutOfMemoryError& found) {
  if (!found.was_run) {
    return fmt::format("Batch {} was not run: it is predicted to need {}: {}.", found.batch_size,
                       size_of(found.allocated_bytes), categories_of(found));
  }
  if (is_late(found)) {
    return late_text(found);
  }
  std::string text = found.batch_size > 0 ? fmt::format("Batch {}", found.batch_size) : "The step";
  text += " ran out of memory: " + line_of(found.location);
  text += found.operation.empty() ? "" : " (" + printable(found.operation) + ")";
  text += asked_text(found) + fmt::format(" when {} were allocated", size_of(found.allocated_bytes));
  if (found.allocated_bytes > 0) {
    text += ": " + categories_of(found);
  }
  text += ".";
  if (found.reserved_bytes && *found.reserved_bytes > found.allocated_bytes) {
    const std::uint64_t unused = *found.reserved_bytes - found.allocated_bytes;
    text += fmt::format(" {} were reserved, {} of them not in use", size_of(*found.reserved_bytes), size_of(unused));
    text += found.free_bytes ? fmt::format(", and {} were free.", size_of(*found.free_bytes)) : ".";
    if (found.asked_bytes && unused + found.free_bytes.value_or(0) >= *found.asked_bytes) {
      text += " That is enough, but not in one piece: PYTORCH_ALLOC_CONF=expandable_segments:True avoids most of that.";
    }
  }
  return text;
}

std::string alive_lines_text(const OutOfMemoryError& found) {
  std::string text;
  const std::size_t shown = std::min(kMostAliveLines, found.lines.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const analysis::AliveLine& line = found.lines[i];
    text += fmt::format("{}{} {}, {}", text.empty() ? "Most of it: " : "; ", size_of(line.bytes),
                        analysis::kCategoryLabels[static_cast<std::size_t>(line.category)], line_of(line.location));
  }
  return text.empty() ? text : text + ".";
}

/// What would help, where no other batch size was run: by what most of the memory is for.
std::string kind_text(const OutOfMemoryError& found) {
  const auto share_of = [&](std::initializer_list<analysis::Category> categories) {
    std::uint64_t sum = 0;
    for (const analysis::Category category : categories) {
      sum += found.by_category[static_cast<std::size_t>(category)];
    }
    return static_cast<double>(sum) / static_cast<double>(found.allocated_bytes);
  };
  using enum analysis::Category;
  if (share_of({kActivations}) > kMost) {
    return "Most of it grows with the batch: a smaller one, gradient accumulation or activation checkpointing needs "
           "less.";
  }
  return share_of({kWeights, kGradients, kOptimizerState}) > kMost
             ? "Most of it does not grow with the batch: another optimizer, lower precision or a smaller model needs "
               "less, and sharding divides it among devices."
             : "";
}

std::string fitting_text(const OutOfMemoryError& found) {
  std::string text;
  if (found.was_run && found.predicted_bytes > 0 && !is_late(found)) {
    text = fmt::format("By smaller batches it needs ≈ {}.", bytes(found.predicted_bytes));
  }
  if (found.fitting_parts > 0) {
    text += fmt::format("{}Gradient accumulation over {} parts of {} is predicted to fit, with ≈ {}.",
                        text.empty() ? "" : " ", found.fitting_parts, found.batch_size / found.fitting_parts,
                        bytes(found.parts_bytes));
  }
  if (text.empty() && found.was_run && !is_late(found) && found.allocated_bytes > 0) {
    return kind_text(found);
  }
  if (!text.empty()) {
    text += fmt::format(" `ridgeline predict --make-fit {}` compares what makes it fit.", found.batch_size);
  }
  return text;
}

}  // namespace

std::vector<Item> out_of_memory_notes(const OutOfMemoryError& found) {
  std::vector<Item> notes = {
      {"memory", error_text(found)}, {"allocated", alive_lines_text(found)}, {"would fit", fitting_text(found)}};
  std::erase_if(notes, [](const Item& note) { return note.value.empty(); });
  return notes;
}

}  // namespace ridgeline::report
