#include "protocol/recording.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "tests/unit/protocol/small_recording.h"

namespace ridgeline::recording {
namespace {

using testing::small_columns;

base::Result<Recording> parse(std::string bytes) {
  auto recording = Recording::parse(std::move(bytes));
  const std::string error = recording.error().message();
  EXPECT_EQ(recording.has_value(), error.empty()) << error;
  return recording;
}

std::string refusal(std::string bytes) { return Recording::parse(std::move(bytes)).error().message(); }

/// The small recording after a change is refused with words that hold `words`.
void expect_refused(const std::string& words, const std::function<void(Columns&)>& change) {
  Columns columns = small_columns();
  change(columns);
  const std::string error = refusal(serialise(columns));
  EXPECT_NE(error.find(words), std::string::npos) << "wanted \"" << words << "\", got \"" << error << "\"";
}
void expect_accepted(const std::function<void(Columns&)>& change) {
  Columns columns = small_columns();
  change(columns);
  EXPECT_TRUE(parse(serialise(columns)).has_value());
}

/// Changes the directory entry at a place.
void edit_entry(std::string& bytes, std::size_t index, const std::function<void(DirectoryEntry&)>& change) {
  DirectoryEntry entry{};
  char* place = bytes.data() + sizeof(Header) + index * sizeof(DirectoryEntry);
  std::memcpy(&entry, place, sizeof(entry));
  change(entry);
  std::memcpy(place, &entry, sizeof(entry));
}
std::size_t directory_size(const std::string& bytes) {
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.column_count;
}

TEST(Recording, GivesBackEveryColumn) {
  const Columns columns = small_columns();
  const std::string bytes = serialise(columns);
  const auto recording = parse(bytes);
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(recording->bytes().size(), bytes.size());
#define RIDGELINE_COLUMN(name, number, type)                                                               \
  EXPECT_EQ(std::vector<type>(recording->name().begin(), recording->name().end()), columns.name) << #name; \
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(recording->name().data()) % alignof(type), 0U) << #name;
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
  EXPECT_EQ(recording->string(0), "");
  EXPECT_EQ(recording->string(1), "a.py");
  EXPECT_EQ(recording->string(2), "f");
}

TEST(Recording, OutlivesTheOneItWasCopiedFrom) {
  auto recording = parse(serialise(small_columns()));
  ASSERT_TRUE(recording.has_value());
  const Recording copy = *recording;
  recording = base::error("released");
  EXPECT_EQ(copy.string(1), "a.py");
  EXPECT_EQ(copy.op_start()[1], 120U);
}

TEST(Recording, IsRefusedAtEveryLengthButItsOwn) {
  const std::string whole = serialise(small_columns());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
  }
  EXPECT_NE(refusal(whole + '\0'), "");
}

/// Cut, and the header says that it is whole.
TEST(Recording, IsRefusedWhenTheHeaderLiesAboutItsLength) {
  const std::string whole = serialise(small_columns());
  for (std::uint64_t length = sizeof(Header); length + 8 <= whole.size(); ++length) {
    std::string cut = whole.substr(0, length);
    std::memcpy(cut.data() + offsetof(Header, total_bytes), &length, sizeof(length));
    EXPECT_NE(refusal(cut), "") << length;
  }
}

TEST(Recording, IsRefusedWithoutItsMagic) {
  std::string bytes = serialise(small_columns());
  bytes[0] = 'X';
  EXPECT_NE(refusal(bytes).find("not a recording"), std::string::npos);
}

TEST(Recording, IsRefusedInAnotherVersion) {
  std::string bytes = serialise(small_columns());
  const std::uint32_t version = kVersion + 1;
  std::memcpy(bytes.data() + offsetof(Header, version), &version, sizeof(version));
  EXPECT_NE(refusal(bytes).find("version 3"), std::string::npos);
}

TEST(Recording, IsRefusedWithAnImpossibleNumberOfColumns) {
  for (const std::uint32_t count : {0U, 1U, 0xFFFFFFFFU, 0x0FFFFFFFU}) {
    std::string bytes = serialise(small_columns());
    std::memcpy(bytes.data() + offsetof(Header, column_count), &count, sizeof(count));
    EXPECT_NE(refusal(bytes), "") << count;
  }
}

bool is_optional(const std::string& bytes, std::size_t index) {
  DirectoryEntry entry{};
  std::memcpy(&entry, bytes.data() + sizeof(Header) + index * sizeof(entry), sizeof(entry));
  const auto column = static_cast<Column>(entry.column);
  return column == Column::op_part || column == Column::activity_part || column == Column::activity_captured ||
         column == Column::compiled_code;
}

TEST(Recording, IsRefusedWithADamagedDirectoryEntry) {
  const std::string whole = serialise(small_columns());
  const std::vector<std::function<void(DirectoryEntry&)>> damages = {
      [](DirectoryEntry& entry) { entry.column = 9999; },
      [](DirectoryEntry& entry) { entry.element_bytes += 1; },
      [](DirectoryEntry& entry) { entry.element_bytes = 0; },
      [](DirectoryEntry& entry) { entry.offset += 1; },
      [](DirectoryEntry& entry) { entry.offset = ~std::uint64_t{7}; },
      [](DirectoryEntry& entry) { entry.offset = std::uint64_t{1} << 63U; },
      [](DirectoryEntry& entry) { entry.count = ~std::uint64_t{0}; },
      [](DirectoryEntry& entry) { entry.count = std::uint64_t{1} << 61U; },  // times 8 it overflows to zero
      [](DirectoryEntry& entry) { entry.count = std::uint64_t{1} << 62U; },
      [](DirectoryEntry& entry) { entry.count += 1'000'000; },
  };
  for (std::size_t index = 0; index < directory_size(whole); ++index) {
    // Of a column that earlier recordings do not have, another number only means that it is not there.
    for (std::size_t damage = is_optional(whole, index) ? 1 : 0; damage < damages.size(); ++damage) {
      std::string bytes = whole;
      edit_entry(bytes, index, damages[damage]);
      EXPECT_NE(refusal(bytes), "") << "column " << index << ", damage " << damage;
    }
  }
}

TEST(Recording, IsRefusedWithTwoColumnsOfOneNumber) {
  const std::string whole = serialise(small_columns());
  for (std::size_t index = 1; index < directory_size(whole); ++index) {
    std::string bytes = whole;
    DirectoryEntry first{};
    edit_entry(bytes, 0, [&](DirectoryEntry& entry) { first = entry; });
    edit_entry(bytes, index, [&](DirectoryEntry& entry) { entry = first; });
    EXPECT_NE(refusal(bytes), "") << index;
  }
}

TEST(Recording, IgnoresColumnsItDoesNotKnow) {
  // What an agent of the same version with one column more would write.
  const std::string whole = serialise(small_columns());
  std::string bytes = whole;
  const DirectoryEntry extra{9999, 8, 0, 0};
  const std::size_t end = sizeof(Header) + directory_size(whole) * sizeof(DirectoryEntry);
  bytes.insert(end, reinterpret_cast<const char*>(&extra), sizeof(extra));
  for (std::size_t index = 0; index < directory_size(whole); ++index) {
    edit_entry(bytes, index, [](DirectoryEntry& entry) { entry.offset += sizeof(DirectoryEntry); });
  }
  const auto count = static_cast<std::uint32_t>(directory_size(whole) + 1);
  const std::uint64_t total = bytes.size();
  std::memcpy(bytes.data() + offsetof(Header, column_count), &count, sizeof(count));
  std::memcpy(bytes.data() + offsetof(Header, total_bytes), &total, sizeof(total));
  EXPECT_TRUE(parse(bytes).has_value());
}

TEST(Recording, ChecksStrings) {
  const std::string words = "strings";
  expect_refused(words, [](Columns& columns) { columns.string_ends.back() = 6; });
  expect_refused(words, [](Columns& columns) { columns.string_ends = {0, 5, 4}; });
  expect_refused(words, [](Columns& columns) { columns.string_ends.clear(); });
  expect_refused(words, [](Columns& columns) { columns.string_bytes.clear(); });
}

TEST(Recording, ChecksEveryIndexIntoAnotherColumn) {
  expect_refused("code objects", [](Columns& columns) { columns.code_file[0] = 3; });
  expect_refused("code objects", [](Columns& columns) { columns.code_name[0] = 3; });
  expect_refused("code objects", [](Columns& columns) { columns.run_code[0] = 1; });
  expect_refused("instances", [](Columns& columns) { columns.instance_type[1] = 3; });
  expect_refused("instances", [](Columns& columns) { columns.instance_name[1] = 3; });
  expect_refused("instances", [](Columns& columns) { columns.instance_file[1] = kNone; });
  expect_refused("stacks", [](Columns& columns) { columns.node_code[2] = 1; });
  expect_refused("stacks", [](Columns& columns) { columns.node_instance[2] = 2; });
  expect_refused("stacks", [](Columns& columns) { columns.node_instance[0] = kNone; });
  expect_refused("tree", [](Columns& columns) { columns.node_parent[1] = 1; });
  expect_refused("tree", [](Columns& columns) { columns.node_parent[1] = 2; });
  expect_refused("tree", [](Columns& columns) { columns.node_parent[2] = kNone; });
  expect_refused("ops", [](Columns& columns) { columns.op_thread[2] = 2; });
  expect_refused("ops", [](Columns& columns) { columns.op_scope[1] = kScopeCount; });
  expect_refused("ops", [](Columns& columns) { columns.op_name[1] = 3; });
  expect_refused("ops", [](Columns& columns) { columns.op_node[1] = 3; });
  expect_refused("samples", [](Columns& columns) { columns.sample_node[0] = 3; });
  expect_refused("allocator", [](Columns& columns) { columns.memory_node[0] = 3; });
  expect_refused("allocator", [](Columns& columns) { columns.memory_op[0] = 3; });
  expect_refused("allocator", [](Columns& columns) { columns.memory_stage[0] = kStageCount; });
  expect_refused("parameters", [](Columns& columns) { columns.role_kind[0] = kRoleCount; });
  expect_refused("parameters", [](Columns& columns) { columns.role_parameter[0] = 1; });
  expect_refused("parameters", [](Columns& columns) { columns.parameter_name[0] = 3; });
}

TEST(Recording, ChecksWhatDevicesDid) {
  expect_refused("device calls", [](Columns& columns) { columns.call_thread[0] = 2; });
  expect_refused("device calls", [](Columns& columns) { columns.call_kind[0] = kCallCount; });
  expect_refused("device calls", [](Columns& columns) { columns.call_name[0] = 3; });
  expect_refused("device calls", [](Columns& columns) { columns.call_op[0] = 3; });
  expect_refused("device calls", [](Columns& columns) { columns.call_node[0] = 3; });
  expect_refused("device calls", [](Columns& columns) { columns.call_end[0] = columns.call_start[0] - 1; });
  expect_refused("device calls", [](Columns& columns) { columns.call_start[1] = columns.call_start[0] - 1; });
  expect_refused("device calls", [](Columns& columns) { columns.call_thread = {1, 0}; });
  expect_refused("device activities", [](Columns& columns) { columns.activity_kind[0] = kActivityCount; });
  expect_refused("device activities", [](Columns& columns) { columns.activity_name[0] = 3; });
  expect_refused("device activities", [](Columns& columns) { columns.activity_call[0] = 2; });
  expect_refused("device activities", [](Columns& columns) { columns.activity_start[0] = 150; });
  expect_refused("before it begins", [](Columns& columns) { columns.activity_end[1] = 144; });
  expect_accepted([](Columns& columns) { columns.call_op[0] = columns.activity_call[0] = kNone; });
}

TEST(Recording, ChecksTheOrderOfOps) {
  const std::string words = "out of order";
  expect_refused(words, [](Columns& columns) { columns.op_end[0] = 109; });
  expect_refused(words, [](Columns& columns) { columns.op_start[1] = 109; });
  expect_refused(words, [](Columns& columns) { columns.op_parent[0] = 0; });
  expect_refused(words, [](Columns& columns) { columns.op_parent[0] = 1; });
  expect_refused(words, [](Columns& columns) { columns.op_parent[2] = 1; });  // of another thread
  expect_refused(words, [](Columns& columns) { columns.op_thread = {1, 0, 0}; });
}

TEST(Recording, ChecksTheOrderOfTimes) {
  expect_refused("allocator", [](Columns& columns) { columns.memory_time = {50, 180, 120}; });
  expect_refused("samples", [](Columns& columns) { columns.sample_time = {170, 160}; });
}

TEST(Recording, ChecksIterations) {
  expect_refused("no iteration", [](Columns& columns) { columns.iteration_start = columns.iteration_end = {}; });
  expect_refused("no iteration", [](Columns& columns) { columns.iteration_end.pop_back(); });
  expect_refused("no iteration", [](Columns& columns) { columns.thread_torch_id.clear(); });
  expect_refused("not finished", [](Columns& columns) { columns.iteration_end[1] = 299; });
  expect_refused("not finished", [](Columns& columns) { columns.iteration_start[1] = 199; });
}

TEST(Recording, ChecksTheCalibration) {
  for (const double cost : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    expect_refused("calibration", [&](Columns& columns) { columns.cost[2] = cost; });
  }
  expect_refused("calibration", [](Columns& columns) { columns.cost.pop_back(); });
  expect_refused("calibration", [](Columns& columns) { columns.loss.push_back(0); });
}

/// One entry too few in a column whose neighbours go with it.
TEST(Recording, ChecksThatColumnsGoTogether) {
#define SHORTER(name) [](Columns& columns) { columns.name.pop_back(); }
  for (const std::function<void(Columns&)>& change :
       std::vector<std::function<void(Columns&)>>{SHORTER(code_name),
                                                  SHORTER(run_line),
                                                  SHORTER(run_count),
                                                  SHORTER(instance_type),
                                                  SHORTER(instance_name),
                                                  SHORTER(instance_file),
                                                  SHORTER(instance_line),
                                                  SHORTER(instance_calls),
                                                  SHORTER(node_code),
                                                  SHORTER(node_line),
                                                  SHORTER(node_instance),
                                                  SHORTER(node_instruction),
                                                  SHORTER(iteration_start),
                                                  SHORTER(op_thread),
                                                  SHORTER(op_scope),
                                                  SHORTER(op_node),
                                                  SHORTER(op_parent),
                                                  SHORTER(op_start),
                                                  SHORTER(op_end),
                                                  SHORTER(op_sequence),
                                                  SHORTER(op_forward_thread),
                                                  SHORTER(pause_end),
                                                  SHORTER(sample_time),
                                                  SHORTER(sample_node),
                                                  SHORTER(memory_time),
                                                  SHORTER(memory_address),
                                                  SHORTER(memory_bytes),
                                                  SHORTER(memory_node),
                                                  SHORTER(memory_op),
                                                  SHORTER(memory_stage),
                                                  SHORTER(memory_thread),
                                                  SHORTER(memory_reserved),
                                                  SHORTER(memory_requested),
                                                  SHORTER(memory_stream),
                                                  SHORTER(first_address),
                                                  SHORTER(first_bytes),
                                                  SHORTER(first_requested),
                                                  SHORTER(call_thread),
                                                  SHORTER(call_kind),
                                                  SHORTER(call_op),
                                                  SHORTER(call_node),
                                                  SHORTER(call_start),
                                                  SHORTER(call_end),
                                                  SHORTER(activity_kind),
                                                  SHORTER(activity_device),
                                                  SHORTER(activity_stream),
                                                  SHORTER(activity_call),
                                                  SHORTER(activity_start),
                                                  SHORTER(activity_end),
                                                  SHORTER(activity_bytes),
                                                  SHORTER(role_time),
                                                  SHORTER(role_address),
                                                  SHORTER(role_kind),
                                                  SHORTER(role_parameter),
                                                  SHORTER(parameter_address),
                                                  SHORTER(cost),
                                                  SHORTER(loss)}) {
    expect_refused("", change);
    Columns columns = small_columns();
    change(columns);
    EXPECT_NE(refusal(serialise(columns)), "");
  }
#undef SHORTER
}

TEST(Recording, NeedsNothingButAnIteration) {
  expect_accepted([](Columns& columns) {
    Columns least;
    least.string_ends = least.instance_type = least.instance_name = least.instance_file = least.instance_line = {0};
    least.instance_calls = {0};
    least.node_parent = least.node_code = least.node_instruction = least.node_line = least.node_instance = {0};
    least.thread_torch_id = {1};
    least.iteration_start = {5};
    least.iteration_end = {5};
    least.cost.resize(kCostCount);
    least.loss.resize(kLossCount);
    columns = least;
  });
}

}  // namespace
}  // namespace ridgeline::recording
