#include "protocol/recording.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace ridgeline::recording {

namespace {

template <typename T>
bool all_below(std::span<const T> values, std::size_t bound) {
  return std::ranges::all_of(values, [bound](T value) { return value < bound; });
}

bool all_below_or_none(std::span<const std::uint32_t> values, std::size_t bound) {
  return std::ranges::all_of(values, [bound](std::uint32_t value) { return value < bound || value == kNone; });
}

template <typename... Spans>
bool same_size(std::size_t size, const Spans&... spans) {
  return ((spans.size() == size) && ...);
}

template <typename T>
std::span<const T> view(const std::string& bytes, const DirectoryEntry& entry) {
  return {reinterpret_cast<const T*>(bytes.data() + entry.offset), static_cast<std::size_t>(entry.count)};
}

/// Not empty.
base::Result<std::vector<DirectoryEntry>> read_directory(const std::string& bytes) {
  Header header{};
  if (bytes.size() < sizeof(header)) {
    return base::error("the recording is shorter than its header");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return base::error("these bytes are not a recording");
  }
  if (header.version != kVersion) {
    return base::error("the recording has version " + std::to_string(header.version) +
                       ", and this daemon reads version " + std::to_string(kVersion));
  }
  const std::size_t room = (bytes.size() - sizeof(header)) / sizeof(DirectoryEntry);
  if (header.total_bytes != bytes.size() || header.column_count == 0 || header.column_count > room) {
    return base::error("the recording is cut off");
  }
  std::vector<DirectoryEntry> directory(header.column_count);
  std::memcpy(directory.data(), bytes.data() + sizeof(header), directory.size() * sizeof(DirectoryEntry));
  return directory;
}

/// Columns that came later: earlier recordings do not have them.
constexpr bool is_optional(std::uint32_t column) {
  return column == static_cast<std::uint32_t>(Column::op_part) ||
         column == static_cast<std::uint32_t>(Column::activity_part) ||
         column == static_cast<std::uint32_t>(Column::activity_captured) ||
         column == static_cast<std::uint32_t>(Column::compiled_code);
}

bool fits(const DirectoryEntry& entry, std::size_t element, std::size_t total) {
  return entry.element_bytes == element && entry.offset % 8 == 0 && entry.offset <= total &&
         entry.count <= (total - entry.offset) / element;
}

}  // namespace

base::Result<Recording> Recording::parse(std::string bytes) {
  return parse(std::make_shared<const std::string>(std::move(bytes)));
}

base::Result<Recording> Recording::parse(std::shared_ptr<const std::string> bytes) {
  Recording recording;
  recording.bytes_ = std::move(bytes);
  const auto directory = read_directory(*recording.bytes_);
  if (!directory) {
    return directory.error();
  }
  std::set<std::uint32_t> found;
  for (const DirectoryEntry& entry : *directory) {
    bool is_known = false;
#define RIDGELINE_COLUMN(name, number, type)                                             \
  if (entry.column == (number) && fits(entry, sizeof(type), recording.bytes_->size())) { \
    recording.name##_ = view<type>(*recording.bytes_, entry);                            \
    is_known = true;                                                                     \
  }
    RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
    if (is_known && !found.insert(entry.column).second) {
      return base::error("a column of the recording is there twice");
    }
    if (!is_known && is_optional(entry.column)) {
      return base::error("a column of the recording is damaged");
    }
  }
  bool is_whole = true;
#define RIDGELINE_COLUMN(name, number, type) is_whole = is_whole && (is_optional(number) || found.contains(number));
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
  if (!is_whole) {
    return base::error("a column of the recording is missing or damaged");
  }
  if (auto problem = recording.check(); !problem) {
    return problem.error();
  }
  return recording;
}

std::string_view Recording::string(std::uint32_t index) const {
  const std::uint32_t begin = index == 0 ? 0 : string_ends_[index - 1];
  return {reinterpret_cast<const char*>(string_bytes_.data()) + begin, string_ends_[index] - begin};
}

/// Whether the columns fit together. Each check relies on those before it.
base::Result<void> Recording::check() const {
  for (const auto part : {&Recording::check_stacks, &Recording::check_ops, &Recording::check_memory,
                          &Recording::check_device, &Recording::check_parameters}) {
    if (auto problem = (this->*part)(); !problem) {
      return problem;
    }
  }
  return {};
}

/// Strings, and what stacks are made of.
base::Result<void> Recording::check_stacks() const {
  const std::size_t strings = string_ends_.size();
  const std::size_t nodes = node_parent_.size();
  if (strings == 0 || !std::ranges::is_sorted(string_ends_) || string_ends_.back() > string_bytes_.size()) {
    return base::error("the strings of the recording are damaged");
  }
  if (!same_size(code_file_.size(), code_name_) || !all_below(code_file_, strings) || !all_below(code_name_, strings) ||
      !same_size(run_code_.size(), run_line_, run_count_) || !all_below(run_code_, code_file_.size())) {
    return base::error("the code objects of the recording are damaged");
  }
  const std::size_t instances = instance_type_.size();
  if (instances == 0 || !same_size(instances, instance_name_, instance_file_, instance_line_, instance_calls_) ||
      !all_below(instance_type_, strings) || !all_below(instance_name_, strings) ||
      !all_below(instance_file_, strings)) {
    return base::error("the module instances of the recording are damaged");
  }
  if (nodes == 0 || !same_size(nodes, node_code_, node_instruction_, node_line_, node_instance_) ||
      !all_below(node_instance_, instances) || !all_below(node_code_.subspan(1), code_file_.size())) {
    return base::error("the stacks of the recording are damaged");
  }
  for (std::size_t i = 1; i < nodes; ++i) {
    if (node_parent_[i] >= i) {
      return base::error("the stacks of the recording are not a tree");
    }
  }
  return {};
}

base::Result<void> Recording::check_ops() const {
  const std::size_t ops = op_name_.size();
  if (thread_torch_id_.empty() || iteration_start_.empty() || !same_size(iteration_start_.size(), iteration_end_)) {
    return base::error("the recording holds no iteration");
  }
  for (std::size_t i = 0; i < iteration_start_.size(); ++i) {
    if (iteration_end_[i] < iteration_start_[i] || (i > 0 && iteration_start_[i] < iteration_end_[i - 1])) {
      return base::error("an iteration of the recording was not finished");
    }
  }
  if (!same_size(ops, op_thread_, op_scope_, op_node_, op_parent_, op_start_, op_end_, op_sequence_,
                 op_forward_thread_) ||
      (!op_part_.empty() && !same_size(ops, op_part_)) || !all_below(op_thread_, thread_torch_id_.size()) ||
      !all_below(op_scope_, kScopeCount) || !all_below(op_name_, string_ends_.size()) ||
      !all_below(op_node_, node_parent_.size())) {
    return base::error("the ops of the recording are damaged");
  }
  for (std::size_t i = 0; i < ops; ++i) {
    const std::uint32_t parent = op_parent_[i];
    const bool first = i == 0 || op_thread_[i] != op_thread_[i - 1];
    if (op_end_[i] < op_start_[i] || (!first && op_start_[i] < op_start_[i - 1]) ||
        (i > 0 && op_thread_[i] < op_thread_[i - 1]) ||
        (parent != kNone && (parent >= i || op_thread_[parent] != op_thread_[i]))) {
      return base::error("the ops of the recording are out of order");
    }
  }
  return {};
}

/// Events of the allocator, and what is sampled beside the ops.
base::Result<void> Recording::check_memory() const {
  const std::size_t nodes = node_parent_.size();
  if (!same_size(pause_start_.size(), pause_end_) || !same_size(sample_time_.size(), sample_node_) ||
      !all_below(sample_node_, nodes) || !std::ranges::is_sorted(sample_time_)) {
    return base::error("the samples of the recording are damaged");
  }
  if (!same_size(first_time_.size(), first_address_, first_bytes_, first_requested_) ||
      !std::ranges::is_sorted(first_time_)) {
    return base::error("the first events of the allocator do not go together");
  }
  if (!same_size(memory_time_.size(), memory_address_, memory_bytes_, memory_node_, memory_op_, memory_stage_,
                 memory_thread_, memory_reserved_, memory_requested_, memory_stream_) ||
      !all_below(memory_node_, nodes) || !all_below_or_none(memory_op_, op_name_.size()) ||
      !all_below(memory_stage_, kStageCount) || !std::ranges::is_sorted(memory_time_)) {
    return base::error("the allocator events of the recording are damaged");
  }
  return {};
}

/// Calls of the device's runtime, and what ran on the device.
base::Result<void> Recording::check_device() const {
  const std::size_t strings = string_ends_.size();
  const std::size_t calls = call_name_.size();
  if (!same_size(calls, call_thread_, call_kind_, call_op_, call_node_, call_start_, call_end_) ||
      !all_below(call_thread_, thread_torch_id_.size()) || !all_below(call_kind_, kCallCount) ||
      !all_below(call_name_, strings) || !all_below_or_none(call_op_, op_name_.size()) ||
      !all_below(call_node_, node_parent_.size())) {
    return base::error("the device calls of the recording are damaged");
  }
  for (std::size_t i = 0; i < calls; ++i) {
    const bool first = i == 0 || call_thread_[i] != call_thread_[i - 1];
    if (call_end_[i] < call_start_[i] || (!first && call_start_[i] < call_start_[i - 1]) ||
        (i > 0 && call_thread_[i] < call_thread_[i - 1])) {
      return base::error("the device calls of the recording are out of order");
    }
  }
  const std::size_t activities = activity_name_.size();
  if (!same_size(activities, activity_kind_, activity_device_, activity_stream_, activity_call_, activity_start_,
                 activity_end_, activity_bytes_) ||
      (!activity_part_.empty() && !same_size(activities, activity_part_)) ||
      (!activity_captured_.empty() && !same_size(activities, activity_captured_)) ||
      !all_below_or_none(activity_captured_, calls) || !all_below(activity_kind_, kActivityCount) ||
      !all_below(activity_name_, strings) || !all_below_or_none(activity_call_, calls) ||
      !std::ranges::is_sorted(activity_start_)) {
    return base::error("the device activities of the recording are damaged");
  }
  for (std::size_t i = 0; i < activities; ++i) {
    if (activity_end_[i] < activity_start_[i]) {
      return base::error("a device activity of the recording ends before it begins");
    }
  }
  return {};
}

/// Parameters and their roles, and what recording itself costs.
base::Result<void> Recording::check_parameters() const {
  if (!same_size(role_time_.size(), role_address_, role_kind_, role_parameter_) ||
      !std::ranges::is_sorted(role_time_) || !all_below(role_kind_, kRoleCount) ||
      !all_below_or_none(role_parameter_, parameter_name_.size()) ||
      !same_size(parameter_name_.size(), parameter_address_) || !all_below(parameter_name_, string_ends_.size())) {
    return base::error("the parameters of the recording are damaged");
  }
  if (cost_.size() != kCostCount || loss_.size() != kLossCount ||
      !std::ranges::all_of(cost_, [](double cost) { return std::isfinite(cost) && cost >= 0; })) {
    return base::error("the calibration of the recording is damaged");
  }
  return {};
}

}  // namespace ridgeline::recording
