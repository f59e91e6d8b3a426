#include "analysis/attribution/autograd_threads.h"

#include <algorithm>
#include <utility>

namespace ridgeline::analysis {

namespace {

/// Whether the piece belongs to a node whose forward operation is known; other nodes have no owner.
bool is_backward(const HostPiece& piece) {
  return in_backward(piece.key.phase) && piece.key.owner != 0 &&
         (piece.in_operation || static_cast<double>(piece.end - piece.begin) < kShortGapNs);
}

/// A part of the piece.
HostPiece part_of(const HostPiece& piece, std::uint64_t begin, std::uint64_t end) {
  HostPiece part = piece;
  part.begin = begin;
  part.end = end;
  part.ns = piece.ns * static_cast<double>(end - begin) / static_cast<double>(piece.end - piece.begin);
  return part;
}

}  // namespace

std::vector<std::uint16_t> autograd_threads(const recording::Recording& recording, const Attribution& attribution) {
  std::vector<bool> runs_nodes(recording.thread_torch_id().size());
  std::vector<bool> called_by_python(runs_nodes.size());
  for (std::size_t op = 0; op < recording.op_start().size(); ++op) {
    const std::uint16_t thread = recording.op_thread()[op];
    runs_nodes[thread] = runs_nodes[thread] || in_backward(attribution.phase[op]);
    if (recording.op_parent()[op] == recording::kNone && recording.op_node()[op] != 0) {
      called_by_python[thread] = true;
    }
  }
  std::vector<std::uint16_t> threads;
  for (std::size_t thread = 1; thread < runs_nodes.size(); ++thread) {
    if (runs_nodes[thread] && !called_by_python[thread]) {
      threads.push_back(static_cast<std::uint16_t>(thread));
    }
  }
  return threads;
}

HostPieces with_autograd_thread(HostPieces of_iteration, const HostPieces& of_thread) {
  std::vector<HostPiece> pieces;
  auto next = of_thread.pieces.begin();
  for (const HostPiece& waiting : of_iteration.pieces) {
    std::uint64_t cursor = waiting.begin;
    const auto is_before = [&cursor](const HostPiece& piece) { return piece.end <= cursor; };
    next = std::find_if_not(next, of_thread.pieces.end(), is_before);
    const bool waits = !waiting.in_operation && in_backward(waiting.key.phase);
    for (auto node = next; waits && node != of_thread.pieces.end() && node->begin < waiting.end; ++node) {
      const std::uint64_t begin = std::max(cursor, node->begin);
      const std::uint64_t end = std::min(node->end, waiting.end);
      if (!is_backward(*node) || begin >= end) {
        continue;
      }
      if (begin > cursor) {
        pieces.push_back(part_of(waiting, cursor, begin));
      }
      pieces.push_back(part_of(*node, begin, end));
      if (CostKey& key = pieces.back().key; key.raw == 0) {
        key.raw = waiting.key.raw;
      }
      cursor = end;
    }
    if (waiting.end > cursor) {
      pieces.push_back(part_of(waiting, cursor, waiting.end));
    }
  }
  of_iteration.pieces = std::move(pieces);
  of_iteration.begun.insert(of_iteration.begun.end(), of_thread.begun.begin(), of_thread.begun.end());
  return of_iteration;
}

}  // namespace ridgeline::analysis
