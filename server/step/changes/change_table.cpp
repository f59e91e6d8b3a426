#include "step/changes/change_table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocol/shown_text.h"
#include "step/changes/graph_changes.h"

namespace ridgeline::step {

namespace {

constexpr ChangeKind of_graph(std::string_view name, std::string_view argument, std::string_view title,
                              std::string_view takes, GraphFunction function, std::string_view usual_on_traces = "",
                              std::string_view section = "") {
  return {.name = name,
          .argument = argument,
          .title = title,
          .takes = takes,
          .usual = "",
          .on_step = false,
          .on_graph = function,
          .usual_on_traces = usual_on_traces,
          .section = section};
}

/// As of_graph(), of a paper: nobody can install it.
constexpr ChangeKind of_paper(std::string_view name, std::string_view argument, std::string_view title,
                              std::string_view takes, GraphFunction function, std::string_view section,
                              std::string_view usual_on_traces = "") {
  ChangeKind kind = of_graph(name, argument, title, takes, function, usual_on_traces, section);
  kind.is_research = true;
  return kind;
}

constexpr ChangeKind of_job(std::string_view name, std::string_view argument, std::string_view title) {
  return {.name = name,
          .argument = argument,
          .title = title,
          .takes = "",
          .usual = "",
          .predictable = true,
          .on_step = false,
          .fits_job = true};
}

constexpr ChangeKind also_of_search(ChangeKind kind) {
  kind.fits_search = true;
  return kind;
}

constexpr ChangeKind also_of_job(ChangeKind kind) {
  kind.fits_job = true;
  return kind;
}

/// Of jobs of each kind.
constexpr ChangeKind also_of_jobs(ChangeKind kind) {
  kind.fits_job = kind.fits_search = kind.fits_cluster = true;
  return kind;
}

constexpr ChangeKind of_cluster(std::string_view name, std::string_view argument, std::string_view title) {
  ChangeKind kind = of_job(name, argument, title);
  kind.fits_job = false;
  kind.fits_cluster = true;
  return kind;
}

constexpr std::array kChanges = {
    ChangeKind{
        "bf16-autocast", "", "bfloat16 autocast",
        "Put `with torch.autocast(device, dtype=torch.bfloat16):` around forward and the loss, up to `backward()`",
        "bf16-autocast"},
    ChangeKind{
        "fp16-autocast", "", "float16 autocast",
        "Put `with torch.autocast(device, dtype=torch.float16):` around forward and the loss, up to `backward()`; "
        "training needs a torch.amp.GradScaler besides, which is not part of the trial",
        ""},
    ChangeKind{.name = "foreach-optimizer",
               .argument = "",
               .title = "foreach optimizer",
               .takes = "Add `foreach=True` to the optimizer",
               .usual = "foreach-optimizer",
               .on_graph = other_optimizer},
    ChangeKind{.name = "fused-optimizer",
               .argument = "",
               .title = "fused optimizer",
               .takes = "Add `fused=True` to the optimizer",
               .usual = "fused-optimizer",
               .on_graph = fused_optimizer,
               .usual_on_traces = "fused-optimizer",
               .section = "Daydream 5.1"},
    ChangeKind{"channels-last", "", "channels_last memory format",
               "Call `.to(memory_format=torch.channels_last)` on the model", "channels-last"},
    ChangeKind{"compile", "", "torch.compile", "Set `model.forward = torch.compile(model.forward)`", "compile", false},
    ChangeKind{"checkpoint", "[MODULE,…]", "activation checkpointing",
               "Call the module by `torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False)`", "checkpoint"},
    ChangeKind{"selective-checkpoint", "[MODULE,…]", "activation checkpointing that keeps matrix products",
               "Call the module by `checkpoint(module, x, use_reentrant=False, context_fn=...)` with "
               "torch.utils.checkpoint.create_selective_checkpoint_contexts and a policy that saves matrix products",
               ""},
    ChangeKind{"offload", "[MODULE,…]", "activations kept in the host's memory",
               "Call the module under `torch.autograd.graph.save_on_cpu(pin_memory=True)`", ""},
    also_of_search({"accumulate", "K", "gradient accumulation",
                    "Use a K-th of the batch size, and step the optimizer every K-th iteration", "accumulate:2"}),
    ChangeKind{.name = "freeze",
               .argument = "MODULE",
               .title = "frozen module",
               .takes = "Call `module.requires_grad_(False)`",
               .usual = "",
               .keeps_parameters = false},
    ChangeKind{.name = "without",
               .argument = "MODULE",
               .title = "module taken out",
               .takes = "Put `torch.nn.Identity()` in place of the module",
               .usual = "",
               .keeps_parameters = false,
               .on_graph = without_module},
    ChangeKind{.name = "set",
               .argument = "MODULE:ATTRIBUTE=N",
               .title = "another width of a layer",
               .takes = "Change the width where the layer is constructed, and that of the layers that read it",
               .usual = "",
               .keeps_parameters = false},
    ChangeKind{"threads", "N", "threads inside operations", "Call `torch.set_num_threads(N)`", "", false},
    ChangeKind{"batch-size", "N", "batch size", "Change the batch size", ""},
    of_graph("amp", "", "automatic mixed precision",
             "Put `with torch.autocast(\"cuda\", dtype=torch.bfloat16):` around forward and the loss", amp, "amp",
             "Daydream 5.1"),
    of_graph("cuda-graphs", "", "CUDA graphs",
             "Capture the step by torch.cuda.graph() or torch.compile(mode=\"reduce-overhead\"), with inputs of one "
             "shape in "
             "one place, and no synchronisation inside",
             cuda_graphs, "cuda-graphs"),
    of_graph("loader-workers", "N[,NOW]", "workers of the data loader", "Add `num_workers=N` to the DataLoader",
             loader_workers, "loader-workers:4"),
    of_graph("prefetch", "", "loading ahead", "Load the next batch in a thread while the step runs", prefetch,
             "prefetch"),
    of_graph("pinned-memory", "", "pinned memory",
             "Add `pin_memory=True` to the DataLoader, and copy by `.to(device, non_blocking=True)`", pinned_memory,
             "pinned-memory"),
    of_graph("no-sync", "[FILE:LINE]", "no waits for the device",
             "Take `.item()`, `.cpu()` and `print` of tensors out of the step: keep values on the device, and read "
             "them every "
             "so many steps",
             no_sync, "no-sync"),
    also_of_job(of_graph("faster", "FILE:LINE=K", "a line or module K times as fast", "", faster)),
    of_paper("reconstructed-batchnorm", "", "reconstructed batchnorm",
             "Split batch normalisation and fuse it with the layers around it, by kernels that you write",
             reconstructed_batchnorm, "Daydream 5.1", "reconstructed-batchnorm"),
    of_paper("metaflow", "A>B>C=A", "fused layers (MetaFlow)", "Write kernels or layers that do what both did",
             metaflow, "Daydream 5.2"),
    of_graph("data-parallel", "N[,GBPS[,BYTES]]", "data-parallel training on N devices",
             "Wrap the model by `DistributedDataParallel(model)`, and launch by torchrun", data_parallel, "",
             "Daydream 5.1"),
    of_paper("p3", "N[,GBPS[,BYTES]]", "priority-based parameter propagation on N devices",
             "Use a parameter server that sends slices by priority: none comes with PyTorch", p3, "Daydream 5.1"),
    of_paper("blueconnect", "MxD[,GBPS[,GBPS[,BYTES]]]", "BlueConnect on M machines of D devices",
             "Use a communication hook that decomposes the all-reduce", blueconnect, "Daydream 5.2"),
    of_paper("dgc", "N[,GBPS[,BYTES]]", "deep gradient compression on N devices",
             "Use a communication hook that sends the largest 0.1 % of the gradients; it changes training", dgc,
             "Daydream 5.2"),
    also_of_jobs(of_graph("bucket-size", "SIZE[,NOW]", "size of gradient buckets, such as 50MiB",
                          "Add `bucket_cap_mb` to DistributedDataParallel", bucket_size)),
    of_paper("vdnn", "", "activations offloaded to the host (vDNN)",
             "Put `torch.autograd.graph.save_on_cpu(pin_memory=True)` around forward, and prefetch in code of your own",
             vdnn, "Daydream 5.2"),
    of_paper("gist", "", "activations encoded (Gist)",
             "Use `torch.autograd.graph.saved_tensors_hooks` that encode and decode; lossy ones change training", gist,
             "Daydream 5.2"),
    also_of_jobs(of_graph("zero", "STAGE[=N[,BYTES]]", "training state sharded by ZeRO; on one device, stage 1 of N",
                          "Use `torch.distributed.optim.ZeroRedundancyOptimizer`", zero)),
    of_job("faster-rank", "RANK=K", "a rank K times as fast"),
    of_job("ranks-like-median", "", "no stragglers"),
    of_job("rank-like-others", "RANK", "a rank as fast as the median of the others"),
    also_of_search(of_job("fuse-pointwise", "", "fused pointwise operations")),
    of_job("bucket-order", "I,J,…", "another order of gradient buckets"),
    also_of_job(of_cluster("no-overlap", "", "all-reduces behind backward")),
    of_job("partition", "K", "each gradient bucket in K parts"),
    of_job("faster-communication", "K", "collectives and messages K times as fast"),
    of_job("bandwidth", "K", "K times the bandwidth"),
    also_of_search(of_job("compression", "K", "gradients of a K-th of the bytes")),
    of_cluster("pipeline", "K", "a pipeline with a stage on each rank and K micro-batches"),
};

/// As a sentence has them, by Subject.
constexpr std::array<std::string_view, kSubjectCount> kSubjectNames = {"a step", "a trace", "a recorded job",
                                                                       "the search of a job", "a job on a cluster"};

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

std::vector<std::vector<std::string>> usual_of(std::string_view ChangeKind::*request) {
  std::vector<std::vector<std::string>> usual;
  for (const ChangeKind& kind : kChanges) {
    if (!(kind.*request).empty()) {
      usual.push_back({std::string(kind.*request)});
    }
  }
  return usual;
}

}  // namespace

std::span<const ChangeKind> change_table() { return kChanges; }

const ChangeKind* find_change(std::string_view request) {
  const std::string_view name = request.substr(0, request.find(':'));
  const auto* found = std::ranges::find(kChanges, name, &ChangeKind::name);
  return found == kChanges.end() ? nullptr : found;
}

bool ChangeKind::fits(Subject subject) const {
  switch (subject) {
    case Subject::kStep:
      return on_step || on_graph != nullptr;
    case Subject::kTrace:
      return on_graph != nullptr;
    case Subject::kJob:
      return fits_job;
    case Subject::kSearch:
      return fits_search;
    case Subject::kCluster:
      return fits_cluster;
  }
  return false;
}

base::Result<const ChangeKind*> find_change_of(Subject subject, std::string_view request) {
  const ChangeKind* kind = find_change(request);
  const std::string shown = protocol::printable(request.substr(0, 60));
  if (kind == nullptr) {
    return base::error("no change is called " + shown + ": `ridgeline what-if --list` names them all");
  }
  if (!kind->fits(subject)) {
    return base::error(fmt::format("{} is no change of {}, which has {}", shown,
                                   kSubjectNames[static_cast<std::size_t>(subject)], changes_of(subject)));
  }
  return kind;
}

std::string usage_of(const ChangeKind& kind) {
  return std::string(kind.name) + (kind.argument.empty() ? "" : ":") + std::string(kind.argument);
}

std::string changes_of(Subject subject) {
  std::string names;
  std::string last;
  for (const ChangeKind& kind : kChanges) {
    if (kind.fits(subject)) {
      names += (names.empty() || last.empty() ? "" : ", ") + last;
      last = usage_of(kind);
    }
  }
  return names + (names.empty() ? "" : " or ") + last;
}

RequestParts parts_of(const std::vector<std::string>& requests) {
  RequestParts parts;
  for (const std::string& request : requests) {
    const ChangeKind* kind = find_change(request);
    (kind != nullptr && kind->on_step ? parts.runner : parts.graph).push_back(request);
  }
  return parts;
}

std::string_view argument_of(std::string_view request) {
  const std::size_t colon = request.find(':');
  return colon == std::string_view::npos ? std::string_view() : request.substr(colon + 1);
}

std::vector<std::vector<std::string>> usual_changes() { return usual_of(&ChangeKind::usual); }

std::vector<std::vector<std::string>> usual_changes_on_traces() { return usual_of(&ChangeKind::usual_on_traces); }

std::string title_of(const std::vector<std::string>& requests) { return joined(requests, &ChangeKind::title, true); }

std::string takes_of(const std::vector<std::string>& requests) { return joined(requests, &ChangeKind::takes, false); }

}  // namespace ridgeline::step
