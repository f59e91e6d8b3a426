// Names in a report of Nsight Systems, as the rest of an import knows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::ingest {

/// What the text of an NVTX range says.
struct RangeText {
  std::string_view name;          ///< without what emit_nvtx() appends
  std::int64_t sequence = -1;     ///< "seq = N"
  bool is_operation = false;      ///< of PyTorch; else a range that somebody opened
  bool is_autograd_node = false;  ///< "AddmmBackward0": one that has a sequence number
};

/// Understands torch.autograd.profiler.emit_nvtx(): "aten::conv2d, seq = 12, op_id = 5, sizes = [[1]]".
RangeText range_text(std::string_view text);

/// "step 12" → "step #": texts that differ only by their numbers have the same family.
std::string range_family(std::string_view text);
/// Whether the text ends with a number that counts: "step 12", "Batch#3", and not "conv2d".
bool has_counter(std::string_view text);
/// "data copy in 12" → "data copy in".
std::string_view without_counter(std::string_view text);

/// Whether a family's ranges are one per training step, going by its words: "step #", "train_iter_#".
bool names_a_step(std::string_view family);
/// Whether they are longer than a step: "Epoch #".
bool names_an_epoch(std::string_view family);

/// "cudaLaunchKernel_v7000" → "cudaLaunchKernel".
std::string_view call_name(std::string_view text);

/// As torch.profiler calls it: "Memcpy HtoD (Pinned -> Device)". The numbers are those of ENUM_CUDA_MEMCPY_OPER and
/// ENUM_CUDA_MEM_KIND; negative: not there.
std::string copy_name(std::int64_t kind, std::int64_t from, std::int64_t to);

}  // namespace ridgeline::ingest
