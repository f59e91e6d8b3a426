#include "report/breakdown_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/places.h"
#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::Node;
using analysis::Profile;

constexpr double kLargestShare = 0.1;  // of a node: what its largest operation must leave for it to be opened

class Breakdown {
 public:
  Breakdown(const Page& page, const Profile& profile, const Places& places, const TextOptions& options)
      : page_(page), places_(places), options_(options) {
    const Node& root = profile.breakdown;
    if (root.ms <= 0) {
      return;
    }
    floor_ms_ = options.min_share * root.ms;
    std::vector<double> costs;
    collect(root, 0, costs);
    const auto kept = static_cast<std::size_t>(std::max(1, options.max_nodes));
    std::sort(costs.begin(), costs.end(), std::greater<>());
    least_ms_ = std::max(floor_ms_, costs[std::min(kept, costs.size()) - 1]);
    negligible_ms_ = kNegligible * root.ms;
    negligible_bytes_ = kNegligible * static_cast<double>(root.peak_bytes);
    peak_bytes_ = root.peak_bytes;
    place_width_ = std::max(14, std::min(26, page.width() / 5));
    add(root, "", "", 0);
  }

  Table take() {
    int width = 0;
    for (Row& row : table_.rows) {
      row.tail = clip_front(row.tail, place_width_);
      width = std::max(width, columns(row.tail));
      row.tail = page_.is_narrow() ? row.tail : page_.dim(row.tail);
    }
    table_.tail_width = width;
    return std::move(table_);
  }

 private:
  using Nodes = std::vector<const Node*>;

  struct Children {
    Nodes distinct;  ///< may get rows
    Nodes alike;     ///< would only repeat it
    Nodes held;      ///< hold memory without spending time
  };

  static bool only_holds_memory(const Node& node) { return node.ms <= 0 && node.type.empty() && node.children.empty(); }

  static Nodes spending(const Node& node) {
    Nodes nodes;
    for (const Node& child : node.children) {
      if (!only_holds_memory(child)) {
        nodes.push_back(&child);
      }
    }
    return nodes;
  }

  /// Follows modules that only wrap one other, as `name` then says.
  static const Node& unwrap(const Node& node, std::string& name) {
    const Node* inner = &node;
    name = printable(node.name);
    for (Nodes parts = spending(*inner); parts.size() == 1 && !parts[0]->type.empty(); parts = spending(*inner)) {
      inner = parts[0];
      name += " › " + printable(inner->name);
    }
    return *inner;
  }

  /// Whether the children say more than the node itself: not where one operation is all but all of it.
  bool opens(const Node& node) const {
    const auto is_operation = [](const Node* part) { return part->type.empty() && part->children.empty(); };
    const Nodes parts = spending(node);
    if (parts.empty() || !std::all_of(parts.begin(), parts.end(), is_operation)) {
      return !parts.empty();
    }
    return node.ms - parts[0]->ms >= std::max(floor_ms_, kLargestShare * node.ms) && parts.size() > 1;
  }

  /// The numbered instances of one class, as in a Sequential of blocks.
  static bool repeats(const Nodes& parts) {
    const auto alike = [&](const Node* part) {
      return !part->name.empty() && std::isdigit(static_cast<unsigned char>(part->name[0])) != 0 &&
             !part->type.empty() && part->type == parts[0]->type;
    };
    return parts.size() > 1 && std::all_of(parts.begin(), parts.end(), alike);
  }

  /// Alike are the instances of one class that cost about what the median one does. Where all are, the costliest
  /// stands for them.
  Children split(const Node& node) const {
    constexpr double kAlike = 1.2;
    Children children;
    if (!opens(node)) {
      return children;
    }
    const Nodes parts = spending(node);
    const bool folds = parts.size() > 2 && repeats(parts);
    const double most = folds ? kAlike * parts[parts.size() / 2]->ms : 0;
    for (const Node* part : parts) {
      (folds && part->ms <= most ? children.alike : children.distinct).push_back(part);
    }
    if (children.distinct.empty()) {
      children.distinct.push_back(children.alike.front());
      children.alike.erase(children.alike.begin());
    }
    for (const Node& child : node.children) {
      if (only_holds_memory(child)) {
        children.held.push_back(&child);
      }
    }
    return children;
  }

  void collect(const Node& outer, int depth, std::vector<double>& costs) const {
    std::string name;
    costs.push_back(outer.ms);
    if (depth == options_.max_depth) {
      return;
    }
    for (const Node* child : split(unwrap(outer, name)).distinct) {
      collect(*child, depth + 1, costs);
    }
  }

  /// The class; for a container of one class "6 × Bottleneck"; and the calls when there are several.
  static std::string note(const Node& node) {
    std::string text = node.type == node.name ? "" : printable(node.type);
    if (const Nodes parts = spending(node); repeats(parts)) {
      text = fmt::format("{} × {}", parts.size(), printable(parts[0]->type));
    }
    if (node.calls > 1) {
      text += (text.empty() ? "" : ", ") + plural(static_cast<double>(node.calls), "call");
    }
    return text;
  }

  void add(const Node& outer, const std::string& stem, const std::string& below, int depth) {
    std::string name;
    const Node& node = unwrap(outer, name);
    const auto bytes = static_cast<double>(outer.peak_bytes);
    table_.rows.push_back({.lead = stem, .name = name, .note = note(node), .ms = outer.ms, .bytes = bytes});
    table_.rows.back().tail = places_.name(outer.location);
    if (depth < options_.max_depth) {
      add_children(node, below, depth + 1);
    }
  }

  /// Moves the nodes that hold most and much of the memory from `folded` to `shown`.
  void show_holders(Nodes& folded, Nodes& shown) const {
    const auto rest = std::ranges::stable_partition(folded, [&](const Node* node) {
      return static_cast<double>(node->peak_bytes) < kMuchMemory * std::max(1.0, static_cast<double>(peak_bytes_));
    });
    std::ranges::stable_sort(rest, std::greater(), [](const Node* node) { return node->peak_bytes; });
    const auto count = std::min<std::ptrdiff_t>(std::ssize(rest), kMostForMemory);
    shown.insert(shown.end(), rest.begin(), rest.begin() + count);
    folded.erase(rest.begin(), rest.begin() + count);
  }

  /// What costs enough or holds much memory, and the sum of all else; nothing when what costs enough would say too
  /// little.
  void add_children(const Node& node, const std::string& below, int depth) {
    Children children = split(node);
    Nodes shown;
    Nodes folded;
    for (const Node* child : children.distinct) {
      (child->ms >= (depth == 1 ? floor_ms_ : least_ms_) ? shown : folded).push_back(child);
    }
    show_holders(folded, shown);
    folded.insert(folded.begin(), children.alike.begin(), children.alike.end());
    if (shown.empty() || (depth > 2 && sum(shown).ms < sum(children.distinct).ms / 2)) {
      return;
    }
    if (folded.size() == 1 && !is_negligible(sum(folded))) {
      shown.push_back(std::exchange(folded, {}).front());
    }

    const bool ends_with_rest = !is_negligible(sum(folded));
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool last = i + 1 == shown.size() && !ends_with_rest;
      add(*shown[i], below + (last ? "└─ " : "├─ "), below + (last ? "   " : "│  "), depth);
    }
    if (!ends_with_rest) {
      return;
    }
    folded.insert(folded.end(), children.held.begin(), children.held.end());
    Row rest = sum(folded);
    rest.lead = below + "└─ ";
    rest.name = fmt::format("… {} {}", folded.size(), folded.size() == children.alike.size() ? "alike" : "more");
    table_.rows.push_back(std::move(rest));
  }

  static Row sum(const Nodes& nodes) {
    Row row{.secondary = true};
    for (const Node* node : nodes) {
      row.ms += node->ms;
      row.bytes += static_cast<double>(node->peak_bytes);
    }
    return row;
  }

  bool is_negligible(const Row& row) const { return row.ms <= negligible_ms_ && row.bytes <= negligible_bytes_; }

  const Page& page_;
  const Places& places_;
  const TextOptions& options_;
  Table table_{.name_heading = "MODULE", .time_heading = "TIME", .tail_heading = "CALLED AT"};
  double floor_ms_ = 0;  ///< what is directly below the root must cost
  double least_ms_ = 0;  ///< what is deeper must cost
  double negligible_ms_ = 0;
  double negligible_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  int place_width_ = 0;
};

}  // namespace

Table breakdown_table(const Page& page, const Profile& profile, const Places& places, const TextOptions& options) {
  return Breakdown(page, profile, places, options).take();
}

}  // namespace ridgeline::report
