#include "analysis/attribution/compiled_lines.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/compiled_code.h"
#include "protocol/recording_columns.h"

namespace ridgeline::analysis {

namespace {

using recording::Columns;
using recording::CompiledCode;
using recording::kNone;
using recording::Recording;

constexpr std::size_t kMostAdded = 20'000'000;  ///< parts: more than any recording has operations

Columns columns_of(const Recording& recording) {
  Columns columns;
#define RIDGELINE_COLUMN(name, number, type) columns.name.assign(recording.name().begin(), recording.name().end());
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
  return columns;
}

/// A stack in generated code: the stack that called that, and who owns what it does.
struct GeneratedStack {
  std::uint32_t outer = 0;
  std::uint32_t owner = 0;
};

/// The instants at which [begin, end] is divided: one more than there are shares.
std::vector<std::uint64_t> divided(std::uint64_t begin, std::uint64_t end,
                                   std::span<const CompiledCode::Share> shares) {
  std::vector<std::uint64_t> instants{begin};
  double sum = 0;
  for (const CompiledCode::Share& share : shares) {
    sum += share.weight;
    const auto at = begin + static_cast<std::uint64_t>(std::llround(static_cast<double>(end - begin) * sum));
    instants.push_back(std::clamp(at, instants.back(), end));
  }
  instants.back() = end;
  return instants;
}

class Placement {
 public:
  Placement(const Recording& recording, const CompiledCode& code)
      : recording_(recording), code_(code), columns_(columns_of(recording)) {}

  std::string run() {
    find_generated_stacks();
    place_operations();
    place_calls();
    for (std::uint32_t& node : columns_.memory_node) {
      node = placed(node);
    }
    for (std::uint32_t& op : columns_.memory_op) {
      op = op == kNone ? kNone : first_part_[op];
    }
    for (std::uint32_t& node : columns_.sample_node) {
      node = placed(node);
    }
    CompiledCode rest;  // what is not placed
    rest.breaks = code_.breaks;
    rest.compilations = code_.compilations;
    const std::string text = recording::compiled_code_text(rest);
    columns_.compiled_code.assign(text.begin(), text.end());
    return recording::serialise(columns_);
  }

 private:
  // ---- stacks

  void find_generated_stacks() {
    std::unordered_map<std::string_view, const CompiledCode::File*> files;
    for (const CompiledCode::File& file : code_.files) {
      files.emplace(file.path, &file);
    }
    std::vector<const CompiledCode::File*> file_of_code;
    for (const std::uint32_t file : recording_.code_file()) {
      const auto found = files.find(recording_.string(file));
      file_of_code.push_back(found == files.end() ? nullptr : found->second);
    }
    generated_.resize(recording_.node_parent().size());
    for (std::uint32_t node = 1; node < generated_.size(); ++node) {
      const std::uint32_t parent = recording_.node_parent()[node];
      const CompiledCode::File* file = file_of_code[recording_.node_code()[node]];
      const auto owner = file == nullptr ? std::nullopt : owner_of(*file, recording_.node_line()[node]);
      generated_[node] = owner.has_value() ? std::optional(GeneratedStack{parent, *owner}) : generated_[parent];
    }
    placed_.resize(generated_.size(), kNone);
  }

  std::optional<std::uint32_t> owner_of(const CompiledCode::File& file, std::uint32_t line) const {
    auto place = std::ranges::upper_bound(file.places, line, {}, &CompiledCode::Place::first);
    if (place == file.places.begin() || (--place)->last < line || code_.owners[place->owner].empty()) {
      return std::nullopt;
    }
    return place->owner;
  }

  /// Where the largest share of what runs at a recorded stack belongs; the stack itself outside generated code.
  std::uint32_t placed(std::uint32_t node) {
    if (!generated_[node].has_value()) {
      return node;
    }
    if (placed_[node] == kNone) {
      const GeneratedStack stack = *generated_[node];
      placed_[node] = extended(placed(stack.outer), code_.owners[stack.owner].front().stack);
    }
    return placed_[node];
  }

  /// A node with the frames of a stack of the compiled code on top.
  std::uint32_t extended(std::uint32_t node, std::uint32_t stack) {
    for (const std::uint32_t frame : code_.stacks[stack]) {
      const auto [child, inserted] =
          children_.try_emplace({node, frame}, static_cast<std::uint32_t>(columns_.node_parent.size()));
      if (inserted) {
        const CompiledCode::Frame& added = code_.frames[frame];
        columns_.node_parent.push_back(node);
        columns_.node_code.push_back(code_object(added.file, added.function));
        columns_.node_instruction.push_back(0);
        columns_.node_line.push_back(added.line);
        columns_.node_instance.push_back(added.module < 0 ? 0 : instance(static_cast<std::uint32_t>(added.module)));
      }
      node = child->second;
    }
    return node;
  }

  std::uint32_t string(std::string_view text) {
    if (strings_.empty()) {
      for (std::uint32_t i = 0; i < recording_.string_ends().size(); ++i) {
        strings_.emplace(recording_.string(i), i);
      }
    }
    const auto [found, inserted] =
        strings_.try_emplace(std::string(text), static_cast<std::uint32_t>(columns_.string_ends.size()));
    if (inserted) {
      columns_.string_bytes.insert(columns_.string_bytes.end(), text.begin(), text.end());
      columns_.string_ends.push_back(static_cast<std::uint32_t>(columns_.string_bytes.size()));
    }
    return found->second;
  }

  std::uint32_t code_object(std::string_view file, std::string_view function) {
    if (codes_.empty()) {
      for (std::uint32_t i = 0; i < columns_.code_file.size(); ++i) {
        codes_.emplace(std::pair(columns_.code_file[i], columns_.code_name[i]), i);
      }
    }
    const std::pair key(string(file), string(function));
    const auto [found, inserted] = codes_.try_emplace(key, static_cast<std::uint32_t>(columns_.code_file.size()));
    if (inserted) {
      columns_.code_file.push_back(key.first);
      columns_.code_name.push_back(key.second);
    }
    return found->second;
  }

  /// The recording's module of that name and class, or a new one.
  std::uint32_t instance(std::uint32_t module) {
    const auto [known, is_new] = instances_.try_emplace(module, 0);
    if (!is_new) {
      return known->second;
    }
    const CompiledCode::Module& added = code_.modules[module];
    for (std::uint32_t i = 1; i < recording_.instance_type().size(); ++i) {
      if (!added.name.empty() && recording_.string(recording_.instance_name()[i]) == added.name &&
          recording_.string(recording_.instance_type()[i]) == added.type) {
        columns_.instance_calls[i] = std::max(columns_.instance_calls[i], added.calls);
        return known->second = i;
      }
    }
    columns_.instance_type.push_back(string(added.type));
    columns_.instance_name.push_back(string(added.name));
    columns_.instance_file.push_back(string(added.file));
    columns_.instance_line.push_back(added.line);
    columns_.instance_calls.push_back(added.calls);
    return known->second = static_cast<std::uint32_t>(columns_.instance_type.size() - 1);
  }

  // ---- what ran

  /// The shares that something at a stack is divided by; one or none: it is not.
  std::span<const CompiledCode::Share> shares_of(std::uint32_t node) const {
    return generated_[node].has_value() ? std::span(code_.owners[generated_[node]->owner])
                                        : std::span<const CompiledCode::Share>();
  }

  bool may_add(std::size_t parts) {
    added_ += parts;
    return added_ <= kMostAdded;
  }

  void place_operations() {
    const std::size_t count = recording_.op_name().size();
    std::vector<bool> has_children(count);
    for (const std::uint32_t parent : recording_.op_parent()) {
      if (parent != kNone) {
        has_children[parent] = true;
      }
    }
    clear_operations();
    first_part_.reserve(count);
    for (std::uint32_t op = 0; op < count; ++op) {
      first_part_.push_back(static_cast<std::uint32_t>(columns_.op_name.size()));
      const std::uint32_t node = recording_.op_node()[op];
      const auto shares = shares_of(node);
      if (shares.size() < 2 || has_children[op] || recording_.op_sequence()[op] >= 0 || !may_add(shares.size())) {
        add_operation(op, recording_.op_name()[op], placed(node), recording_.op_start()[op], recording_.op_end()[op],
                      false);
        continue;
      }
      const std::uint32_t name = string(std::string(recording_.string(recording_.op_name()[op])) + " (divided)");
      const auto instants = divided(recording_.op_start()[op], recording_.op_end()[op], shares);
      for (std::size_t part = 0; part < shares.size(); ++part) {
        add_operation(op, name, extended(placed(generated_[node]->outer), shares[part].stack), instants[part],
                      instants[part + 1], part > 0);
      }
    }
  }

  void clear_operations() {
    columns_.op_thread.clear();
    columns_.op_scope.clear();
    columns_.op_name.clear();
    columns_.op_node.clear();
    columns_.op_parent.clear();
    columns_.op_start.clear();
    columns_.op_end.clear();
    columns_.op_sequence.clear();
    columns_.op_forward_thread.clear();
    columns_.op_part.clear();
  }

  void add_operation(std::uint32_t op, std::uint32_t name, std::uint32_t node, std::uint64_t begin, std::uint64_t end,
                     bool is_further_part) {
    const std::uint32_t parent = recording_.op_parent()[op];
    columns_.op_thread.push_back(recording_.op_thread()[op]);
    columns_.op_scope.push_back(recording_.op_scope()[op]);
    columns_.op_name.push_back(name);
    columns_.op_node.push_back(node);
    columns_.op_parent.push_back(parent == kNone ? kNone : first_part_[parent]);
    columns_.op_start.push_back(begin);
    columns_.op_end.push_back(end);
    columns_.op_sequence.push_back(recording_.op_sequence()[op]);
    columns_.op_forward_thread.push_back(recording_.op_forward_thread()[op]);
    columns_.op_part.push_back(is_further_part ? 1 : 0);
  }

  /// Calls, and what they made the device do, by the same shares.
  void place_calls() {
    const std::size_t count = recording_.call_name().size();
    std::vector<std::uint32_t> first_call;
    std::vector<std::span<const CompiledCode::Share>> shares_of_call;
    Columns calls;
    for (std::uint32_t call = 0; call < count; ++call) {
      const std::uint32_t node = recording_.call_node()[call];
      auto shares = shares_of(node);
      if (shares.size() < 2 || !may_add(shares.size())) {
        shares = {};
      }
      first_call.push_back(static_cast<std::uint32_t>(calls.call_name.size()));
      shares_of_call.push_back(shares);
      const auto instants = divided(recording_.call_start()[call], recording_.call_end()[call], shares);
      for (std::size_t part = 0; part < std::max<std::size_t>(1, shares.size()); ++part) {
        const std::uint32_t op = recording_.call_op()[call];
        calls.call_thread.push_back(recording_.call_thread()[call]);
        calls.call_kind.push_back(recording_.call_kind()[call]);
        calls.call_name.push_back(recording_.call_name()[call]);
        calls.call_op.push_back(op == kNone ? kNone : first_part_[op]);
        calls.call_node.push_back(shares.empty() ? placed(node)
                                                 : extended(placed(generated_[node]->outer), shares[part].stack));
        calls.call_start.push_back(shares.empty() ? recording_.call_start()[call] : instants[part]);
        calls.call_end.push_back(shares.empty() ? recording_.call_end()[call] : instants[part + 1]);
      }
    }
    columns_.call_thread = std::move(calls.call_thread);
    columns_.call_kind = std::move(calls.call_kind);
    columns_.call_name = std::move(calls.call_name);
    columns_.call_op = std::move(calls.call_op);
    columns_.call_node = std::move(calls.call_node);
    columns_.call_start = std::move(calls.call_start);
    columns_.call_end = std::move(calls.call_end);
    place_activities(first_call, shares_of_call);
  }

  struct ActivityPart {
    std::uint32_t activity = 0;
    std::uint32_t call = kNone;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool is_further = false;
    std::uint32_t captured = kNone;
  };

  void place_activities(const std::vector<std::uint32_t>& first_call,
                        const std::vector<std::span<const CompiledCode::Share>>& shares_of_call) {
    std::vector<ActivityPart> parts;
    for (std::uint32_t activity = 0; activity < recording_.activity_name().size(); ++activity) {
      const std::uint32_t call = recording_.activity_call()[activity];
      const std::uint64_t begin = recording_.activity_start()[activity];
      const std::uint64_t end = recording_.activity_end()[activity];
      const std::uint32_t captured =
          recording_.activity_captured().empty() ? kNone : recording_.activity_captured()[activity];
      const std::uint32_t answers = captured == kNone ? call : captured;
      const auto placed_call = [&](std::uint32_t one) { return one == kNone ? kNone : first_call[one]; };
      const auto shares = answers == kNone ? std::span<const CompiledCode::Share>() : shares_of_call[answers];
      if (shares.empty() || !may_add(shares.size())) {
        parts.push_back({activity, placed_call(call), begin, end, false, placed_call(captured)});
        continue;
      }
      const auto instants = divided(begin, end, shares);
      for (std::uint32_t part = 0; part < shares.size(); ++part) {
        const std::uint32_t of_part = first_call[answers] + part;
        parts.push_back({activity, captured == kNone ? of_part : placed_call(call), instants[part], instants[part + 1],
                         part > 0, captured == kNone ? kNone : of_part});
      }
    }
    std::ranges::stable_sort(parts, {}, &ActivityPart::begin);
    columns_.activity_kind.clear();
    columns_.activity_name.clear();
    columns_.activity_device.clear();
    columns_.activity_stream.clear();
    columns_.activity_call.clear();
    columns_.activity_start.clear();
    columns_.activity_end.clear();
    columns_.activity_bytes.clear();
    columns_.activity_part.clear();
    columns_.activity_captured.clear();
    for (const ActivityPart& part : parts) {
      columns_.activity_kind.push_back(recording_.activity_kind()[part.activity]);
      columns_.activity_name.push_back(recording_.activity_name()[part.activity]);
      columns_.activity_device.push_back(recording_.activity_device()[part.activity]);
      columns_.activity_stream.push_back(recording_.activity_stream()[part.activity]);
      columns_.activity_call.push_back(part.call);
      columns_.activity_start.push_back(part.begin);
      columns_.activity_end.push_back(part.end);
      columns_.activity_bytes.push_back(recording_.activity_bytes()[part.activity]);
      columns_.activity_part.push_back(part.is_further ? 1 : 0);
      if (!recording_.activity_captured().empty()) {
        columns_.activity_captured.push_back(part.captured);
      }
    }
  }

  const Recording& recording_;
  const CompiledCode& code_;
  Columns columns_;
  std::vector<std::optional<GeneratedStack>> generated_;  ///< by recorded node
  std::vector<std::uint32_t> placed_;                     ///< by recorded node in generated code; kNone: not yet known
  std::vector<std::uint32_t> first_part_;                 ///< by recorded operation
  std::size_t added_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;  ///< of a node, by frame
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> codes_;  ///< by file and name
  std::unordered_map<std::uint32_t, std::uint32_t> instances_;              ///< by module of the compiled code
};

base::Result<CompiledCode> code_of(const Recording& recording) {
  const auto bytes = recording.compiled_code();
  return recording::parse_compiled_code({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

base::Result<Recording> place_compiled_code(const Recording& recording) {
  if (recording.compiled_code().empty()) {
    return recording;
  }
  const auto code = code_of(recording);
  if (!code) {
    return code.error();
  }
  if (code->files.empty()) {
    return recording;
  }
  return Recording::parse(Placement(recording, *code).run());
}

std::optional<Compilation> compilation_of(const Recording& recording, const SourceScope& scope) {
  const auto code = recording.compiled_code().empty() ? base::error("") : code_of(recording);
  if (!code) {
    return std::nullopt;
  }
  Compilation made;
  for (const CompiledCode::Break& one : code->breaks) {
    made.breaks.push_back({{display_path(one.file, scope), one.line}, one.function, one.reason, one.count});
  }
  for (const CompiledCode::Compilation& one : code->compilations) {
    made.functions.push_back(
        {{display_path(one.file, scope), one.line}, one.function, one.count, one.seconds, one.guards, one.reasons});
  }
  const auto place = [](const GraphBreak& one) { return std::tie(one.location.file, one.location.line); };
  std::ranges::stable_sort(made.breaks, {}, place);
  std::ranges::stable_sort(made.functions, std::greater{}, &CompiledFunction::seconds);
  return made;
}

}  // namespace ridgeline::analysis
