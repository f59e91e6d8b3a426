#include "editor/hover.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "editor/batch_size_method.h"
#include "report/labels.h"
#include "report/markdown.h"
#include "report/work_text.h"

namespace ridgeline::editor {

namespace {

constexpr std::size_t kShownBelow = 3;
/// A line that leads to more than this many times its own cost is read for what it leads to.
constexpr double kLeadsOn = 2;

using analysis::LineCost;
using analysis::Node;
using protocol::Markdown;
using report::Cost;

/// Nodes that have no ancestor among themselves: what is inside of another is in its figures already.
std::vector<const Node*> outermost(const Figures& figures, const std::vector<const Node*>& nodes) {
  std::vector<const Node*> result;
  for (const Node* node : nodes) {
    bool inside = false;
    for (const Node* above = figures.parent_of(*node); above != nullptr && !inside; above = figures.parent_of(*above)) {
      inside = std::ranges::find(nodes, above) != nodes.end();
    }
    if (!inside) {
      result.push_back(node);
    }
  }
  std::ranges::stable_sort(result, std::greater{}, &Node::ms);
  return result;
}

template <typename Map>
std::vector<const Node*> nodes_at(const Map& map, std::uint32_t line) {
  std::vector<const Node*> nodes;
  const auto [first, last] = map.equal_range(line);
  for (auto one = first; one != last; ++one) {
    nodes.push_back(one->second);
  }
  return nodes;
}

void add(Cost& cost, const LineCost& line) {
  cost.self_ms += line.self_ms;
  cost.total_ms += line.total_ms;
  cost.weights_bytes += line.weights_bytes;
  cost.gradients_bytes += line.gradients_bytes;
  cost.activations_bytes += line.activations_bytes;
  cost.peak_bytes += line.peak_bytes;
  cost.device.ms += line.device.ms;
  cost.device.copy_ms += line.device.copy_ms;
  cost.device.wait_ms += line.device.wait_ms;
  for (std::size_t i = 0; i < analysis::kPhaseCount; ++i) {
    cost.self_by_phase[i] += line.self_by_phase[i];
  }
}

report::LineBelow line_below(const Figures& figures, const analysis::Location& place, double ms, const UriOf& uri_of) {
  const std::string number = std::to_string(place.line);
  return {std::string(base::file_name(place.file)) + ":" + number, uri_of(figures.path_of(place)) + "#L" + number,
          std::string(base::trimmed(figures.line_text(place))), ms};
}

/// The address of a line; empty without one.
std::string link_to(const Figures& figures, const analysis::Location& place, const UriOf& uri_of) {
  return place.file.empty() ? "" : uri_of(figures.path_of(place)) + "#L" + std::to_string(place.line);
}

/// Where the class of a module is; empty for one that the user did not write.
std::string own_class(const Figures& figures, const Node& node, const UriOf& uri_of) {
  const FileFigures* file = node.definition.file.empty() ? nullptr : figures.file(figures.path_of(node.definition));
  return file == nullptr || file->text == nullptr ? "" : link_to(figures, node.definition, uri_of);
}

/// The modules that call `nodes`, each once.
std::vector<const Node*> parents_of(const Figures& figures, const std::vector<const Node*>& nodes) {
  std::vector<const Node*> parents;
  for (const Node* node : nodes) {
    const Node* parent = figures.parent_of(*node);
    if (parent != nullptr && std::ranges::find(parents, parent) == parents.end()) {
      parents.push_back(parent);
    }
  }
  return parents;
}

/// The costliest modules inside of one; none of one that other lines call, too: see lines_below().
std::vector<report::Called> modules_below(const Figures& figures, const Node& node, const UriOf& uri_of) {
  std::vector<report::Called> modules;
  for (const Node& child : node.children) {
    if (node.callers.empty() && !child.type.empty() && modules.size() < kShownBelow) {
      std::string uri = own_class(figures, child, uri_of);
      modules.push_back({&child, uri.empty() ? link_to(figures, child.location, uri_of) : std::move(uri)});
    }
  }
  return modules;
}

/// What one line calls of a node, without what is inside: of a module that several lines call, a part.
Node called_from(const Node& node, const analysis::Location& line) {
  Node part;
  part.name = node.name;
  part.type = node.type;
  const auto caller = std::ranges::find(node.callers, line, &analysis::Caller::location);
  part.ms = caller == node.callers.end() ? node.ms : caller->ms;
  part.definition = node.definition;
  part.peak_bytes = caller == node.callers.end() ? node.peak_bytes : caller->peak_bytes;
  return part;
}

/// The costliest lines that run inside of `nodes`, but for the line `except` itself. A module that other lines call,
/// too, is left out: which of its lines' time is of which call is not known.
std::vector<report::LineBelow> lines_below(const Figures& figures, const std::vector<const Node*>& nodes,
                                           const analysis::Location& except, const UriOf& uri_of) {
  std::map<std::pair<std::string, std::uint32_t>, double> costs;
  std::vector<const Node*> waiting;  // as deep as the user's modules: no recursion
  std::ranges::copy_if(nodes, std::back_inserter(waiting), [](const Node* node) { return node->callers.empty(); });
  while (!waiting.empty()) {
    const Node& node = *waiting.back();
    waiting.pop_back();
    if (node.children.empty() && !node.location.file.empty()) {
      costs[{node.location.file, node.location.line}] += node.ms;
    }
    for (const Node& child : node.children) {
      waiting.push_back(&child);
    }
  }
  costs.erase({except.file, except.line});
  std::vector<std::pair<analysis::Location, double>> sorted;
  for (const auto& [place, ms] : costs) {
    sorted.push_back({{place.first, place.second}, ms});
  }
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& one) { return one.second; });
  std::vector<report::LineBelow> below;
  for (std::size_t i = 0; i < std::min(kShownBelow, sorted.size()); ++i) {
    below.push_back(line_below(figures, sorted[i].first, sorted[i].second, uri_of));
  }
  return below;
}

/// What the line's own time differs by from the profile before, beyond the noise of both; else empty.
std::string change_of(const Snapshot& snapshot, const LineCost& line) {
  const analysis::TimeChange* change = snapshot.entry->change_of(line.location);
  return change == nullptr ? "" : report::line_change_explanation(*change);
}

/// What the step gains when the line is twice as fast, where the critical path says so.
std::optional<double> saved_by(const analysis::Profile& profile, const analysis::Location& location) {
  if (!profile.schedule.has_value()) {
    return std::nullopt;
  }
  const auto line = std::ranges::find(profile.schedule->lines, location, &analysis::CriticalLine::location);
  return line == profile.schedule->lines.end() ? std::nullopt : std::optional(line->cost.saved_twice_as_fast_ms);
}

Markdown of_line(const Snapshot& snapshot, std::uint32_t line, const UriOf& uri_of) {
  const auto then = snapshot.profiled_line(line);
  const FileFigures& file = *snapshot.file();
  const auto found = then.has_value() ? file.lines.find(*then) : file.lines.end();
  if (found == file.lines.end()) {
    return {};
  }
  Cost cost;
  add(cost, *found->second);
  cost.title = snapshot.call.has_value() ? snapshot.call->callee : "";
  cost.calls = static_cast<double>(found->second->calls.value_or(0));
  cost.model = &found->second->self_model;
  cost.change = change_of(snapshot, *found->second);
  cost.work = report::work_of_line(snapshot.figures()->profile(), found->second->location);
  cost.saved_twice_as_fast_ms = saved_by(snapshot.figures()->profile(), found->second->location);
  const std::vector<const Node*> called = outermost(*snapshot.figures(), nodes_at(file.calls, *then));
  std::vector<Node> parts;
  for (const Node* node : called) {
    parts.push_back(called_from(*node, found->second->location));
  }
  std::ranges::stable_sort(parts, std::greater{}, &Node::ms);
  for (const Node& part : parts) {
    cost.inside.push_back({&part, own_class(*snapshot.figures(), part, uri_of)});
  }
  cost.parents = parents_of(*snapshot.figures(), called);
  cost.counted = report::counted_text(*found->second, snapshot.figures()->profile());
  if (cost.total_ms > kLeadsOn * cost.self_ms) {
    cost.below = lines_below(*snapshot.figures(), called, found->second->location, uri_of);
    if (called.size() == 1) {
      cost.modules_below = modules_below(*snapshot.figures(), *called.front(), uri_of);
    }
  }
  const auto& call = snapshot.figures()->profile().library_call;
  if (call.has_value() && call->location == found->second->location) {
    cost.below.clear();
    for (const analysis::LibraryLine& below : call->lines) {
      cost.below.push_back(line_below(*snapshot.figures(), below.location, below.ms, uri_of));
    }
    cost.modules = &call->modules;
  }
  return report::cost_markdown(snapshot.figures()->profile(), cost);
}

/// A function: its own lines together. What one of them calls is in its total, so that the totals sum to the
/// function's, but for recursion, which can make them more than there is.
Markdown of_function(const Snapshot& snapshot, const source::Definition& definition) {
  Cost cost;
  cost.title = definition.qualified_name;
  bool found = false;
  for (const auto& [profiled_line, line] : snapshot.file()->lines) {
    const auto now = snapshot.current_line(profiled_line);
    if (now.has_value() && *now >= definition.name_line && *now <= definition.last_line) {
      add(cost, *line);
      found = true;
    }
  }
  const double whole = snapshot.figures()->profile().iteration.ms.value;
  cost.total_ms = std::min(cost.total_ms, whole);
  return found ? report::cost_markdown(snapshot.figures()->profile(), cost) : Markdown();
}

Markdown class_hover(const Snapshot& snapshot, const source::Definition& definition) {
  std::vector<const Node*> nodes;
  for (const auto& [profiled_line, node] : snapshot.file()->definitions) {
    if (snapshot.current_line(profiled_line) == definition.name_line) {
      nodes.push_back(node);
    }
  }
  return report::module_markdown(snapshot.figures()->profile(), outermost(*snapshot.figures(), nodes));
}

Markdown contents_at(const Snapshot& snapshot, std::size_t offset, std::uint32_t line, const UriOf& uri_of,
                     source::Span& span) {
  const auto inside = [&](const source::Span& name) { return name.begin <= offset && offset <= name.end; };
  if (snapshot.own != nullptr && snapshot.own->figures != nullptr) {
    const auto& entry_point = snapshot.source->entry_point;
    for (std::size_t i = 0; entry_point.has_value() && i < source::kProviderKinds; ++i) {
      if (const auto& provider = entry_point->providers[i]; provider.has_value() && inside(provider->name_span)) {
        span = provider->name_span;
        const auto batch = other_batch_in_code(snapshot);
        const std::string note = snapshot.own->trial.has_value() ? snapshot.own->trial->message : "";
        return (batch.has_value() ? report::batch_markdown(*batch, note) : Markdown()) +
               report::summary_markdown(snapshot.own->figures->profile(), snapshot.own->figures->outlook());
      }
    }
  }
  if (snapshot.file() == nullptr) {
    return {};
  }
  for (const source::Definition& definition : snapshot.source->definitions) {
    if (inside(definition.name_span)) {
      span = definition.name_span;
      return definition.kind == source::DefinitionKind::kClass ? class_hover(snapshot, definition)
                                                               : of_function(snapshot, definition);
    }
  }
  return of_line(snapshot, line, uri_of);
}

}  // namespace

std::optional<protocol::Hover> hover(const Snapshot& snapshot, const HoverParams& params, const UriOf& uri_of) {
  const protocol::Position position = params.position;
  const auto offset = snapshot.document.offset(position);
  if (snapshot.figures() == nullptr || !offset.has_value()) {
    return std::nullopt;
  }
  source::Span span{0, 0};
  Markdown contents = contents_at(snapshot, *offset, position.line, uri_of, span);
  if (contents.empty()) {
    return std::nullopt;
  }
  if (const std::string note = snapshot.stale_note(); !note.empty()) {
    contents += "\n*" + Markdown::text(note) + "*\n";
  }
  return protocol::Hover{{std::move(contents), snapshot.client.hover.markdown},
                         span.end > span.begin ? snapshot.range(span) : snapshot.line_range(position.line)};
}

}  // namespace ridgeline::editor
