#include "analysis/breakdown/library_call.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/path.h"

namespace ridgeline::analysis {

namespace {

constexpr double kMost = 0.5;    // of the iteration: from there on a line is explained
constexpr double kLeast = 0.01;  // of the iteration, of what is named
constexpr double kWhole = 0.75;  // of the line's time: a class with more is only a wrapper

/// A line of a library.
struct Place {
  std::string_view file;
  std::uint32_t line = 0;
  bool torch = false;
  auto operator<=>(const Place&) const = default;
};

struct Sum {
  double ms = 0;
  double device_ms = 0;
  std::uint64_t bytes = 0;
};

using Places = std::map<Place, Sum>;

double cost(double ms, double device_ms) { return std::max(ms, device_ms); }

/// Per line that has figures: what its calls into other code take, by the lines of that code.
class Below {
 public:
  explicit Below(const BreakdownInput& input) : input_(input), below_(input.tree.line_count()) {
    for (const auto& [key, cost] : input.timeline.costs) {
      if (Sum* sum = at(key.owner)) {
        sum->ms += cost.ns * input.scale / 1e6;
      }
    }
    for (const MemoryCost& block : input.memory.at_peak) {
      if (Sum* sum = at(block.owner)) {
        sum->bytes += block.bytes;
      }
    }
    if (input.device != nullptr) {
      for (const auto& [key, cost] : input.device->timeline.costs) {
        if (Sum* sum = at(key.owner)) {
          sum->device_ms += (cost.kernel_ns + cost.copy_ns) * input.device->scale / 1e6;
        }
      }
    }
  }

  /// By line; that of no line is empty.
  const std::vector<Places>& places() const { return below_; }

 private:
  /// Null where no line has the stack, or where the line itself runs.
  Sum* at(TreeNode stack) {
    const LineId line = input_.tree[stack].self_line;
    if (line == 0 || input_.tree[stack].line != 0) {
      return nullptr;
    }
    TreeNode torch = 0;
    for (TreeNode node = stack; input_.tree[node].line == 0; node = input_.tree[node].parent) {
      const CodeTraits& traits = input_.tree.traits(input_.tree[node].code);
      if (!traits.torch && !traits.standard) {
        return &below_[line][place_of(node)];
      }
      torch = torch == 0 && traits.torch ? node : torch;
    }
    return torch == 0 ? nullptr : &below_[line][place_of(torch)];
  }

  Place place_of(TreeNode node) const {
    const CallTree::Node& frame = input_.tree[node];
    return {input_.recording.string(input_.recording.code_file()[frame.code]), frame.code_line,
            input_.tree.traits(frame.code).torch};
  }

  const BreakdownInput& input_;
  std::vector<Places> below_;
};

Sum sum_of(const Places& places) {
  Sum all;
  for (const auto& [place, sum] : places) {
    all.ms += sum.ms;
    all.device_ms += sum.device_ms;
  }
  return all;
}

/// Keeps what is worth naming, most time first.
template <typename Part>
void keep_costliest(std::vector<Part>& parts, double iteration_ms) {
  std::erase_if(parts, [&](const Part& part) { return cost(part.ms, part.device_ms) < kLeast * iteration_ms; });
  std::ranges::stable_sort(
      parts, [](const Part& a, const Part& b) { return std::tie(b.device_ms, b.ms) < std::tie(a.device_ms, a.ms); });
  if (parts.size() > LibraryCall::kMostShown) {
    parts.resize(LibraryCall::kMostShown);
  }
}

std::vector<LibraryLine> lines_of(const Places& places, const BreakdownInput& input, double iteration_ms) {
  std::vector<LibraryLine> lines;
  bool only_torch = true;
  for (const auto& [place, sum] : places) {
    lines.push_back({{display_path(place.file, input.scope), place.line},
                     package_of(place.file),
                     sum.ms,
                     sum.device_ms,
                     sum.bytes});
    only_torch = only_torch && place.torch;
  }
  keep_costliest(lines, iteration_ms);
  if (only_torch && lines.size() == 1) {
    lines.clear();
  }
  return lines;
}

/// The outermost modules below `node` that `line` calls; without `node` itself.
void add_modules(const Node& node, const Location& line, std::vector<const Node*>& modules) {
  std::vector<const Node*> waiting = {&node};  // as deep as the user's modules: no recursion
  while (!waiting.empty()) {
    const Node* at = waiting.back();
    waiting.pop_back();
    for (const Node& child : at->children) {
      if (!child.type.empty() && child.location == line) {
        modules.push_back(&child);
      } else {
        waiting.push_back(&child);
      }
    }
  }
}

std::vector<LibraryModule> by_class(const std::vector<const Node*>& modules) {
  std::map<std::string_view, LibraryModule> classes;
  for (const Node* node : modules) {
    LibraryModule& one = classes[node->type];
    one.type = node->type;
    one.definition = node->definition;
    one.instances += 1;
    one.ms += node->ms;
    one.device_ms += node->device_ms;
    one.peak_bytes += node->peak_bytes;
  }
  std::vector<LibraryModule> list;
  for (auto& [type, module] : classes) {
    list.push_back(std::move(module));
  }
  return list;
}

/// Whether the modules say no more than what contains them: all of one class, without modules of their own.
bool are_alike(const std::vector<const Node*>& modules, const Location& line) {
  return std::ranges::all_of(modules, [&](const Node* node) {
    std::vector<const Node*> inside;
    add_modules(*node, line, inside);
    return inside.empty() && node->type == modules.front()->type;
  });
}

/// Replaces the modules of the class that takes nearly all of `line_ms` by what is inside them. False where there is no
/// such class, or nothing to tell apart in it.
bool unfold(std::vector<const Node*>& modules, const Location& line, double line_ms) {
  const std::vector<LibraryModule> classes = by_class(modules);
  const auto wrapper = std::ranges::find_if(
      classes, [&](const LibraryModule& one) { return cost(one.ms, one.device_ms) > kWhole * line_ms; });
  if (wrapper == classes.end()) {
    return false;
  }
  std::vector<const Node*> inside;
  std::vector<const Node*> others;
  for (const Node* node : modules) {
    if (node->type == wrapper->type) {
      add_modules(*node, line, inside);
    } else {
      others.push_back(node);
    }
  }
  if (are_alike(inside, line)) {
    return false;
  }
  others.insert(others.end(), inside.begin(), inside.end());
  modules = std::move(others);
  return true;
}

std::vector<LibraryModule> modules_of(const Node& breakdown, const Location& line, double line_ms,
                                      double iteration_ms) {
  std::vector<const Node*> modules;
  add_modules(breakdown, line, modules);
  while (unfold(modules, line, line_ms)) {
  }
  std::vector<LibraryModule> classes = by_class(modules);
  keep_costliest(classes, iteration_ms);
  return classes;
}

}  // namespace

std::optional<LibraryCall> find_library_call(const BreakdownInput& input, const Node& breakdown) {
  const Below below(input);
  LineId most = 0;
  Sum all;
  for (LineId line = 1; line < below.places().size(); ++line) {
    const Sum sum = sum_of(below.places()[line]);
    if (cost(sum.ms, sum.device_ms) > std::max(cost(all.ms, all.device_ms), kMost * breakdown.ms)) {
      most = line;
      all = sum;
    }
  }
  if (most == 0) {
    return std::nullopt;
  }
  LibraryCall call;
  call.location = location_of(most, input.recording, input.tree, input.scope);
  call.ms = all.ms;
  call.device_ms = all.device_ms;
  call.lines = lines_of(below.places()[most], input, breakdown.ms);
  call.modules = modules_of(breakdown, call.location, cost(all.ms, all.device_ms), breakdown.ms);
  if (call.modules.size() == 1 && call.lines.empty()) {
    return std::nullopt;
  }
  return call.lines.empty() && call.modules.empty() ? std::nullopt : std::optional(std::move(call));
}

std::string package_of(std::string_view file) {
  std::string_view name = base::installed_path(file).value_or("");
  const std::size_t slash = name.find('/');
  name = name.substr(0, slash);
  if (slash == std::string_view::npos && name.ends_with(".py")) {
    name.remove_suffix(3);
  }
  return std::string(name);
}

}  // namespace ridgeline::analysis
