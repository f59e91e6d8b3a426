#include "ingest/read_execution_trace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

namespace ridgeline::ingest {

namespace {

using analysis::ExecutionNode;
using jobs::CollectiveKind;

/// One field of a message.
struct WireField {
  std::uint64_t number = 0;
  bool is_integer = false;
  std::uint64_t value = 0;
  std::string_view bytes{};
};

/// The fields of a message, one after the other (https://protobuf.dev/programming-guides/encoding).
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  /// False at the end, and where the bytes are none of a message.
  bool next(WireField& field) {
    std::uint64_t tag = 0;
    if (rest_.empty() || !varint(tag)) {
      return false;
    }
    field = {tag >> 3U, (tag & 7U) == 0, 0, {}};
    switch (tag & 7U) {
      case 0:
        return varint(field.value);
      case 1:
        return take(8, field.bytes);
      case 2: {
        std::uint64_t size = 0;
        return varint(size) && take(size, field.bytes);
      }
      case 5:
        return take(4, field.bytes);
      default:
        return fail();
    }
  }

  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) {
        return fail();
      }
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) {
        return true;
      }
    }
    return fail();
  }

  bool take(std::uint64_t size, std::string_view& bytes) {
    if (size > rest_.size()) {
      return fail();
    }
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool is_over() const { return rest_.empty(); }
  bool has_failed() const { return failed_; }

 private:
  bool fail() {
    failed_ = true;
    return false;
  }

  std::string_view rest_;
  bool failed_ = false;
};

ExecutionNode::Type type_of(std::uint64_t node_type) {
  using Type = ExecutionNode::Type;
  constexpr std::array kTypes = {Type::kOther,   Type::kOther, Type::kMemory,  Type::kMemory,
                                 Type::kCompute, Type::kSend,  Type::kReceive, Type::kCollective};
  return node_type < kTypes.size() ? kTypes[node_type] : Type::kOther;
}

/// The kind for a value of CollectiveCommType.
CollectiveKind kind_of(std::uint64_t collective_type) {
  constexpr std::array kKinds = {CollectiveKind::kAllReduce,     CollectiveKind::kReduce,
                                 CollectiveKind::kAllGather,     CollectiveKind::kGather,
                                 CollectiveKind::kScatter,       CollectiveKind::kBroadcast,
                                 CollectiveKind::kAllToAll,      CollectiveKind::kReduceScatter,
                                 CollectiveKind::kReduceScatter, CollectiveKind::kBarrier};
  return collective_type < kKinds.size() ? kKinds[collective_type] : CollectiveKind::kOther;
}

int rank_of(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(std::numeric_limits<int>::max()) ? static_cast<int>(value) : -1;
}

/// AttributeProto: a name, and one value, of which numbers and text are of use here.
bool add_attribute(std::string_view bytes, ExecutionNode& node) {
  Fields fields(bytes);
  WireField field;
  std::string_view name;
  std::string_view text;
  std::uint64_t number = 0;
  while (fields.next(field)) {
    if (field.number == 1) {
      name = field.bytes;
    } else if (field.is_integer) {
      number = field.value;
    } else {
      text = field.bytes;
    }
  }
  if (name == "is_cpu_op") {
    node.on_host = number != 0;
  }
  if (name == "comm_type") {
    node.kind = kind_of(number);
  }
  if (name == "comm_size") {
    node.bytes = number;
  }
  if (name == "pg_name") {
    node.group = text.empty() ? std::to_string(number) : std::string(text);
  }
  if (name == "root") {
    node.root = rank_of(number);
  }
  if (name == "comm_src") {
    node.from = rank_of(number);
  }
  if (name == "comm_dst") {
    node.to = rank_of(number);
  }
  if (name == "comm_tag") {
    node.tag = static_cast<std::int64_t>(number);
  }
  if (name == "line") {
    node.line = text;
  }
  return !fields.has_failed();
}

/// Adds the values of a repeated number, packed or not.
bool add_ids(const WireField& field, std::vector<std::uint64_t>& ids) {
  if (field.is_integer) {
    ids.push_back(field.value);
    return true;
  }
  Fields packed(field.bytes);
  while (!packed.is_over()) {
    std::uint64_t id = 0;
    if (!packed.varint(id)) {
      return false;
    }
    ids.push_back(id);
  }
  return true;
}

bool read_node(std::string_view bytes, ExecutionNode& node) {
  Fields fields(bytes);
  WireField field;
  while (fields.next(field)) {
    bool fits = true;
    if (field.number == 1) {
      node.id = field.value;
    }
    if (field.number == 2) {
      node.name = field.bytes;
    }
    if (field.number == 3) {
      node.type = type_of(field.value);
    }
    if (field.number == 4 || field.number == 5) {
      fits = add_ids(field, node.after);
    }
    if (field.number == 7) {
      node.duration_us = field.value;
    }
    if (field.number == 10) {
      fits = add_attribute(field.bytes, node);
    }
    if (!fits) {
      return false;
    }
  }
  if (node.type == ExecutionNode::Type::kSend) {
    node.kind = CollectiveKind::kSend;
  }
  if (node.type == ExecutionNode::Type::kReceive) {
    node.kind = CollectiveKind::kReceive;
  }
  return !fields.has_failed();
}

}  // namespace

base::Result<analysis::ExecutionTrace> read_execution_trace(std::string_view bytes, int rank) {
  analysis::ExecutionTrace trace{rank, {}};
  std::unordered_set<std::uint64_t> ids;
  Fields messages(bytes);
  for (bool is_first = true; !messages.is_over(); is_first = false) {
    std::uint64_t size = 0;
    std::string_view message;
    if (!messages.varint(size) || !messages.take(size, message)) {
      return base::error("it is cut off, or no such trace");
    }
    if (is_first) {
      continue;  // GlobalMetadata
    }
    ExecutionNode node;
    if (!read_node(message, node)) {
      return base::error("a node of it is damaged, or of another version of the format");
    }
    if (!ids.insert(node.id).second) {
      return base::error("it has two nodes " + std::to_string(node.id));
    }
    trace.nodes.push_back(std::move(node));
  }
  if (trace.nodes.empty()) {
    return base::error("it has no nodes");
  }
  return trace;
}

}  // namespace ridgeline::ingest
