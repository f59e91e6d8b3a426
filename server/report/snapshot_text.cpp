#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/page.h"
#include "report/rendered_snapshot.h"
#include "report/units.h"
#include "report/warnings.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::MemorySnapshot;
using analysis::MemoryUse;
using analysis::SnapshotLine;
using analysis::SnapshotMoment;

constexpr std::size_t kSnapshotLines = 12;
constexpr int kUseColumn = 15;
constexpr int kBytesColumn = 11;
constexpr int kShareColumn = 8;

double part_of_bytes(std::uint64_t bytes, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(whole);
}

std::string size_text(std::uint64_t count) { return bytes(static_cast<double>(count)); }

/// "are activations".
std::string use_words(MemoryUse use) {
  switch (use) {
    case MemoryUse::kOptimizer:
      return "are of the optimizer";
    case MemoryUse::kBackward:
      return "were made by backward()";
    case MemoryUse::kData:
      return "are of data loading";
    case MemoryUse::kOther:
      return "are of other code";
    case MemoryUse::kUnknown:
      return "have no stack";
    default:
      return "are " + use_name(use);
  }
}

void snapshot_lines(Page& page, const SnapshotMoment& moment, std::string_view title) {
  if (moment.lines.empty()) {
    return;
  }
  page.line();
  page.line("  " + page.bold(right(title, kBytesColumn) + "  " + right("SHARE", kShareColumn) + "  LINE"));
  for (std::size_t i = 0; i < std::min(moment.lines.size(), kSnapshotLines); ++i) {
    const SnapshotLine& line = moment.lines[i];
    page.line("  " + right(size_text(line.bytes), kBytesColumn) + "  " +
              right(share(part_of_bytes(line.bytes, moment.bytes)), kShareColumn) + "  " + printable(line_text(line)) +
              "  " + page.dim(plural(static_cast<double>(line.blocks), "block")));
  }
  if (moment.lines.size() > kSnapshotLines) {
    std::uint64_t rest = 0;
    for (std::size_t i = kSnapshotLines; i < moment.lines.size(); ++i) {
      rest += moment.lines[i].bytes;
    }
    page.line("  " + right(size_text(rest), kBytesColumn) + "  " +
              right(share(part_of_bytes(rest, moment.bytes)), kShareColumn) + "  " +
              fmt::format("… {} more lines", moment.lines.size() - kSnapshotLines));
  }
}

void uses(Page& page, const SnapshotMoment& moment) {
  std::vector<std::pair<std::uint64_t, std::size_t>> sorted;
  for (std::size_t use = 0; use < analysis::kMemoryUses; ++use) {
    if (moment.by_use[use] > 0) {
      sorted.emplace_back(moment.by_use[use], use);
    }
  }
  std::ranges::sort(sorted, std::ranges::greater());
  std::vector<Item> items;
  for (const auto& [count, use] : sorted) {
    items.push_back({use_name(static_cast<MemoryUse>(use)), size_text(count)});
  }
  page.flow("  " + left("by stack", kUseColumn), 2 + kUseColumn, items);
}

std::string moment_text(const MemorySnapshot& snapshot, const SnapshotMoment& moment) {
  std::string text = size_text(moment.bytes) + " allocated, " + size_text(moment.reserved) + " reserved";
  if (snapshot.has_times) {
    text += ", after " + duration(moment.ms);
  }
  return text;
}

}  // namespace

std::string use_name(MemoryUse use) {
  return use == MemoryUse::kUnknown ? "without a stack" : analysis::kMemoryUseNames[static_cast<std::size_t>(use)];
}

std::string line_text(const SnapshotLine& line) {
  if (line.location.file.empty()) {
    return "no stack with Python in it";
  }
  return fmt::format("{}:{}{}{}", line.location.file, line.location.line,
                     line.function.empty() ? "" : " in " + line.function, line.is_own ? "" : " (not your code)");
}

std::string out_of_memory_text(const MemorySnapshot& snapshot) {
  if (!snapshot.out_of_memory.has_value()) {
    return "";
  }
  const auto& error = *snapshot.out_of_memory;
  const std::uint64_t unused = error.moment.reserved - std::min(error.moment.reserved, error.moment.bytes);
  std::string text = fmt::format("{} asked for {}; the device had {} free, and {} of the {} reserved were not in use.",
                                 line_text(error.line), size_text(error.asked), size_text(error.device_free),
                                 size_text(unused), size_text(error.moment.reserved));
  if (error.device_free + unused >= error.asked) {
    text += " That is enough together, but not in one piece: the memory is fragmented.";
    text += snapshot.fragments.is_expandable ? "" : " PYTORCH_ALLOC_CONF=expandable_segments:True avoids most of that.";
    return text;
  }
  const std::uint64_t lacking = error.asked - error.device_free - unused;
  const auto most = static_cast<std::size_t>(
      std::distance(error.moment.by_use.begin(), std::ranges::max_element(error.moment.by_use)));
  text += fmt::format(" {} are lacking. Of the {} allocated, {} {}.", size_text(lacking), size_text(error.moment.bytes),
                      size_text(error.moment.by_use[most]), use_words(static_cast<MemoryUse>(most)));
  switch (static_cast<MemoryUse>(most)) {
    case MemoryUse::kActivations:
      return text + " A smaller batch, activation checkpointing or autocast takes less.";
    case MemoryUse::kOptimizer:
      return text + " An optimizer with less state, one in 8 bits, or a sharded one takes less.";
    case MemoryUse::kWeights:
      return text + " Weights in bfloat16, or sharded over devices, take less.";
    default:
      return text;
  }
}

std::string fragments_text(const MemorySnapshot& snapshot) {
  const auto& fragments = snapshot.fragments;
  if (fragments.segments == 0) {
    return "";
  }
  std::string text =
      fmt::format("{} of {} reserved are free at the end, {} of that in one piece", size_text(fragments.free_bytes),
                  size_text(snapshot.at_end.reserved), size_text(fragments.largest_free));
  if (fragments.partly_used > 0) {
    text += fmt::format("; {} are in {} of {} segments that are partly used, and cannot be given back",
                        size_text(fragments.partly_used_free), fragments.partly_used, fragments.segments);
  }
  if (snapshot.awaiting_free > 0) {
    text += fmt::format("; {} are freed, and streams may still use them", size_text(snapshot.awaiting_free));
  }
  return text + ".";
}

std::string private_pools_text(const MemorySnapshot& snapshot) {
  const auto& own = snapshot.private_pools;
  return own.pools == 0 ? ""
                        : fmt::format(
                              "{} are reserved at the end in {} of CUDA graphs or torch.cuda.MemPool, {} of that "
                              "allocated: nothing else can use the rest.",
                              size_text(own.reserved), own.pools == 1 ? "a pool" : fmt::format("{} pools", own.pools),
                              size_text(own.allocated));
}

std::string growth_text(const MemorySnapshot& snapshot, const analysis::SnapshotGrowth& growth) {
  const int looked_at = std::max(0, snapshot.periods - 2);
  return snapshot.periods_are_steps
             ? fmt::format("{} a step, left by {} of {} steps", bytes(growth.bytes_a_period), growth.periods, looked_at)
             : fmt::format("{} left by {} of {} equal parts of the recording", size_text(growth.line.bytes),
                           growth.periods, looked_at);
}

std::string text_snapshot(const MemorySnapshot& snapshot, const TextOptions& options) {
  Page page(options.width, options.color);
  const std::string name = snapshot.path.substr(snapshot.path.rfind('/') + 1);
  std::string about = fmt::format(" · device {}", snapshot.device);
  if (snapshot.devices > 1) {
    about += fmt::format(" of {}", snapshot.devices);
  }
  about += fmt::format(" · {} events", snapshot.events);
  about += snapshot.has_times ? " in " + duration(snapshot.recorded_ms) : "";
  page.line(page.bold(printable(name)) + page.dim(about));
  page.line();
  if (snapshot.out_of_memory.has_value()) {
    page.prose("out of memory", printable(out_of_memory_text(snapshot)), kBeside + 2);
  }
  if (snapshot.events > 0) {
    page.prose("at the peak", moment_text(snapshot, snapshot.at_peak), kBeside + 2);
    uses(page, snapshot.at_peak);
  }
  page.prose("at the end", moment_text(snapshot, snapshot.at_end), kBeside + 2);
  if (snapshot.events == 0) {
    uses(page, snapshot.at_end);
  }
  if (const std::string text = fragments_text(snapshot); !text.empty()) {
    page.prose("fragments", text, kBeside + 2);
  }
  if (const std::string text = private_pools_text(snapshot); !text.empty()) {
    page.prose("private pools", text, kBeside + 2);
  }
  if (snapshot.out_of_memory.has_value()) {
    snapshot_lines(page, snapshot.out_of_memory->moment, "AT ERROR");
  }
  if (snapshot.events > 0) {
    snapshot_lines(page, snapshot.at_peak, "AT PEAK");
  }
  snapshot_lines(page, snapshot.at_end, "AT END");
  if (!snapshot.growth.empty()) {
    page.line();
    page.line("  " + page.bold("GROWS"));
    for (const analysis::SnapshotGrowth& growth : snapshot.growth) {
      page.line("  " + printable(line_text(growth.line)) + ": " + growth_text(snapshot, growth));
    }
  }
  for (const std::string& warning : shown_warnings(snapshot.warnings, options.warnings)) {
    page.prose("warning", warning, kBeside);
  }
  return page.take();
}

}  // namespace ridgeline::report
