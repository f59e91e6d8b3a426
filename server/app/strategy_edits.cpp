#include "app/strategy_edits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/line_index.h"
#include "source/change_edits.h"
#include "source/source_tree.h"

namespace ridgeline::app {

namespace {

using analysis::StrategyEdit;

/// "8", "0.5"
std::string mebibytes(std::uint64_t bytes) { return fmt::format("{:.4g}", static_cast<double>(bytes) / (1U << 20U)); }

/// The lines that the edit is in, before and after.
StrategyEdit edit_of(const std::string& path, const source::SourceTree& tree, const source::TextEdit& edit) {
  const std::string_view text = tree.text();
  const std::size_t first = tree.lines().line_of(edit.span.begin);
  const std::size_t begin = tree.lines().start_of(first);
  const std::size_t end = std::min(text.find('\n', edit.span.end), text.size());
  const std::string before(text.substr(begin, end - begin));
  std::string after = before;
  after.replace(edit.span.begin - begin, edit.span.end - edit.span.begin, edit.replacement);
  return {path, static_cast<std::uint32_t>(first + 1), before, std::move(after)};
}

StrategyEdit bucket_edit(std::uint64_t bytes, const std::vector<std::string>& files,
                         base::FunctionRef<std::optional<std::string>(const std::string&)> read) {
  for (const std::string& file : files) {
    auto text = read(file);
    if (!text.has_value()) {
      continue;
    }
    const auto tree = source::SourceTree::parse(std::move(*text));
    if (!tree.has_value()) {
      continue;
    }
    if (const auto edit = source::bucket_size_edit(*tree, mebibytes(bytes))) {
      return edit_of(file, *tree, *edit);
    }
  }
  return {{}, 0, {}, fmt::format("Construct DistributedDataParallel with bucket_cap_mb={}.", mebibytes(bytes))};
}

}  // namespace

std::vector<StrategyEdit> strategy_edits(const analysis::StrategyStep& strategy, const std::vector<std::string>& files,
                                         base::FunctionRef<std::optional<std::string>(const std::string&)> read) {
  std::vector<StrategyEdit> edits;
  if (strategy.bucket_bytes.has_value()) {
    edits.push_back(bucket_edit(*strategy.bucket_bytes, files, read));
  }
  if (strategy.accumulate > 1) {
    edits.push_back({{},
                     0,
                     {},
                     fmt::format("Of each {} batches, run forward and backward of the first {} under `with "
                                 "model.no_sync():`, and zero_grad() and the optimizer once, with the last.",
                                 strategy.accumulate, strategy.accumulate - 1)});
  }
  if (strategy.compression > 1) {
    edits.push_back({{},
                     0,
                     {},
                     "Register a communication hook that compresses, such as "
                     "torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook for a factor of 2, "
                     "with model.register_comm_hook()."});
  }
  if (!strategy.recompute.modules.empty()) {
    edits.push_back({{},
                     0,
                     {},
                     fmt::format("Where {} {} called, call torch.utils.checkpoint.checkpoint(module, x, "
                                 "use_reentrant=False) in place of module(x).",
                                 fmt::join(strategy.recompute.modules, ", "),
                                 strategy.recompute.modules.size() == 1 ? "is" : "are")});
  }
  if (strategy.fuse) {
    edits.push_back(
        {{},
         0,
         {},
         "Compile the model before it is given to DistributedDataParallel, with torch.compile(model), which "
         "fuses pointwise operations, and measure: compiling changes more than that."});
  }
  if (strategy.sharding == 1) {
    edits.push_back({{},
                     0,
                     {},
                     "Give the parameters to torch.distributed.optim.ZeroRedundancyOptimizer(model.parameters(), "
                     "optimizer_class=...) in place of the optimizer."});
  }
  if (strategy.sharding == 2) {
    edits.push_back({{},
                     0,
                     {},
                     "In place of DistributedDataParallel, call torch.distributed.fsdp.fully_shard(module, "
                     "reshard_after_forward=False) for parts of the model as large as the buckets, then for the model, "
                     "before the optimizer is constructed."});
  }
  for (const analysis::OwnChange& own : strategy.own) {
    edits.push_back({{}, 0, {}, "Your own change: " + (own.takes.empty() ? own.title : own.takes) + "."});
  }
  return edits;
}

}  // namespace ridgeline::app
