// The longest common subsequence of two nearly equal sequences.
// Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ridgeline::base {

/// Pairs of positions (in `a`, in `b`) that hold the same token, both ascending: as many as there can be. Nothing when
/// the sequences differ in more than `max_edits` insertions and deletions. Time O((|a| + |b|) · edits) at worst and
/// memory O(edits²). Pure.
std::optional<std::vector<std::pair<std::size_t, std::size_t>>> common_subsequence(std::span<const std::uint64_t> a,
                                                                                   std::span<const std::uint64_t> b,
                                                                                   std::size_t max_edits);

}  // namespace ridgeline::base
