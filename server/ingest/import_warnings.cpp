#include "ingest/import_warnings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ridgeline::ingest {

namespace {

const char* memory_warning(MemoryKnown memory) {
  switch (memory) {
    case MemoryKnown::kNothing:
      return "The trace has no memory events (profile_memory=True), so nothing is known about memory.";
    case MemoryKnown::kChanges:
      return "The trace does not record what was allocated before it began, so the peak is unknown: the memory of "
             "lines "
             "and modules is what was allocated during the trace.";
    case MemoryKnown::kAll:
      break;
  }
  return "What was allocated before the trace began is shown as weights: a trace does not distinguish parameters, "
         "gradients and inputs.";
}

std::string lost_kernels(std::uint64_t launches) {
  return fmt::format(
      "None of the {} launches has a kernel in the file: the records of the device were lost or not written, so "
      "nothing "
      "is known of what it did, nor how long it was idle.",
      launches);
}

void add_losses(const TraceLosses& losses, std::vector<std::string>& warnings) {
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) {
      warnings.push_back(fmt::format("{} event{} of the trace {}.", count, count == 1 ? "" : "s", what));
    }
  };
  add(losses.before_zero, "with a time before zero: the times are shifted to begin there");
  add(losses.overlapping, "overlapping others of the same thread, cut");
  add(losses.too_many, "beyond the limits of an import, left out");
  add(losses.too_deep, "nested too deeply, their time on the function at the deepest level that is told apart");
}

std::string counted(std::uint64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

void add_damage(const TraceDamage& damage, const TraceLosses& losses, std::vector<std::string>& warnings) {
  const std::string what = what_damaged(damage, losses);
  if (!what.empty()) {
    const bool lacks_events =
        damage.lost > 0 || damage.unpaired > 0 || damage.is_cut_off || losses.without_time > 0 || losses.negative > 0;
    warnings.push_back("The file is damaged: " + what + "." +
                       (lacks_events ? " All figures are of the events that could be read." : ""));
  }
}

std::string origin(TraceSource source) {
  return fmt::format(
      "Imported from a {}: all times are those of the run under that profiler, which slows the host down. There are no "
      "uninstrumented times to scale them to.",
      source == TraceSource::kNsightSystems ? "report of Nsight Systems" : "trace of torch.profiler");
}

std::vector<std::string> of_torch_profiler(const TraceContents& contents) {
  std::vector<std::string> warnings = contents.notes;
  if (!contents.has_steps) {
    warnings.push_back(
        fmt::format("The trace has no steps (schedule, and profiler.step() after each iteration), and {}: all of it is "
                    "shown as one "
                    "iteration. Use --step-boundary to say what ends a step.",
                    contents.why_no_steps));
  }
  if (contents.has_python) {
    warnings.emplace_back(
        "Times are shown on the line where each function begins: torch.profiler does not record which line of a "
        "function ran.");
  } else if (!contents.has_call_stacks) {
    warnings.emplace_back(
        "The trace has no Python stacks (with_stack=True), so nothing can be attributed to your lines.");
  }
  if ((contents.has_python || contents.has_call_stacks) && contents.guessed_files) {
    warnings.push_back(fmt::format(
        "None of the trace's files lie under {}: every file that is not part of a known library is taken as yours. "
        "Use --project-root to say where your files are.",
        contents.project_root));
  }
  if (contents.launches > 0 && !contents.has_kernels) {
    warnings.push_back(lost_kernels(contents.launches));
  } else if (contents.has_device && !contents.has_kernels) {
    warnings.emplace_back(
        "The trace has no kernels (the device was not among the activities of the profiler), so nothing but memory is "
        "known about the device.");
  }
  warnings.emplace_back(memory_warning(contents.memory));
  return warnings;
}

std::vector<std::string> of_nsight_systems(const TraceContents& contents) {
  std::vector<std::string> warnings = contents.notes;
  if (!contents.has_steps) {
    warnings.push_back(
        "The report has no steps (torch.cuda.nvtx.range_push(f\"step {i}\") before each and range_pop() after it), "
        "and " +
        contents.why_no_steps + ": all of it is shown as one iteration. Use --step-boundary to say what ends a step.");
  }
  if (contents.whole_graphs > 0) {
    warnings.emplace_back(
        "CUDA graphs were traced as a whole: each is shown as one kernel, and nothing is known of the kernels in it. "
        "Record with nsys profile --cuda-graph-trace=node to see these.");
  }
  warnings.emplace_back(
      "A report of Nsight Systems has neither Python stacks nor the allocator's events: nothing can be attributed to "
      "your lines, and nothing is known about memory.");
  if (!contents.has_operations) {
    warnings.emplace_back(
        "The report has no operations of PyTorch: run the steps inside torch.autograd.profiler.emit_nvtx() to see "
        "them.");
  }
  if (contents.launches > 0 && !contents.has_kernels) {
    warnings.push_back(lost_kernels(contents.launches));
  } else if (!contents.has_kernels) {
    warnings.emplace_back("The report has no kernels (nsys profile --trace cuda,nvtx).");
  }
  return warnings;
}

}  // namespace

std::string what_damaged(const TraceDamage& damage, const TraceLosses& losses) {
  std::vector<std::string> parts;
  if (damage.is_cut_off) {
    parts.emplace_back("it is cut off, and what followed is missing");
  }
  if (damage.is_archive_damaged) {
    parts.emplace_back("its compressed data is cut off or damaged");
  }
  if (damage.lost > 0) {
    parts.push_back(counted(damage.lost, "event", "events") + " could not be read");
  }
  if (damage.repaired > 0) {
    parts.push_back(
        counted(damage.repaired, "event that is not valid JSON was", "events that are not valid JSON were") +
        " read all the same");
  }
  if (damage.unpaired > 0) {
    parts.push_back(counted(damage.unpaired, "event has", "events have") +
                    " a beginning without an end, or an end without a beginning, left out");
  }
  if (losses.without_time > 0) {
    parts.push_back(counted(losses.without_time, "event has", "events have") + " no time, left out");
  }
  if (losses.negative > 0) {
    parts.push_back(counted(losses.negative, "event has", "events have") + " a negative duration, left out");
  }
  if (damage.not_utf8 > 0) {
    parts.push_back(counted(damage.not_utf8, "name has", "names have") + " bytes that are not UTF-8, shown as \uFFFD");
  }
  if (damage.has_more) {
    parts.emplace_back("what follows its end was left out");
  }
  if (parts.empty() && damage.places > 0) {
    parts.emplace_back("something between its events is not valid JSON and was left out");
  }
  if (damage.places > 0) {
    parts.push_back("the first place is " + damage.first);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> import_warnings(const TraceContents& contents) {
  std::vector<std::string> warnings;
  add_damage(contents.damage, contents.losses, warnings);
  add_losses(contents.losses, warnings);
  std::ranges::move(
      contents.source == TraceSource::kNsightSystems ? of_nsight_systems(contents) : of_torch_profiler(contents),
      std::back_inserter(warnings));
  if (!contents.has_batch_size) {
    warnings.emplace_back(
        "A trace does not contain the batch size, so the throughput is unknown. Use --batch-size N to say how many "
        "samples an iteration has.");
  }
  warnings.push_back(origin(contents.source));
  return warnings;
}

}  // namespace ridgeline::ingest
