#include "ingest/columns_builder.h"

namespace ridgeline::ingest {

namespace {

std::uint64_t pack(std::uint32_t high, std::uint32_t low) { return (std::uint64_t{high} << 32U) | low; }

template <typename Column>
std::uint32_t size_of(const Column& column) {
  return static_cast<std::uint32_t>(column.size());
}

}  // namespace

std::size_t ColumnsBuilder::FrameHash::operator()(const Frame& frame) const {
  std::uint64_t hash = frame.parent_and_code * 0x9E3779B97F4A7C15ULL ^ frame.line_and_instance;
  hash = (hash ^ (hash >> 29U)) * 0xBF58476D1CE4E5B9ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

ColumnsBuilder::ColumnsBuilder() {
  text("");
  columns.node_parent = columns.node_code = columns.node_instruction = columns.node_line = columns.node_instance = {0};
  columns.cost.resize(recording::kCostCount);
  columns.loss.resize(recording::kLossCount);
  instance("", "");
}

std::uint32_t ColumnsBuilder::text(std::string_view text) {
  const auto [found, inserted] = texts_.try_emplace(std::string(text), size_of(columns.string_ends));
  if (inserted) {
    columns.string_bytes.insert(columns.string_bytes.end(), text.begin(), text.end());
    columns.string_ends.push_back(size_of(columns.string_bytes));
  }
  return found->second;
}

std::uint32_t ColumnsBuilder::code(std::string_view file, std::string_view function) {
  const std::uint32_t file_text = text(file);
  const std::uint32_t name_text = text(function);
  const auto [found, inserted] = codes_.try_emplace(pack(file_text, name_text), size_of(columns.code_file));
  if (inserted) {
    columns.code_file.push_back(file_text);
    columns.code_name.push_back(name_text);
  }
  return found->second;
}

std::uint32_t ColumnsBuilder::instance(std::string_view type, std::string_view name) {
  columns.instance_type.push_back(text(type));
  columns.instance_name.push_back(text(name));
  columns.instance_file.push_back(0);
  columns.instance_line.push_back(0);
  columns.instance_calls.push_back(0);
  return size_of(columns.instance_type) - 1;
}

std::uint32_t ColumnsBuilder::push_frame(std::uint32_t parent, std::uint32_t code, std::uint32_t line,
                                         std::uint32_t instance) {
  const auto [found, inserted] =
      nodes_.try_emplace({pack(parent, code), pack(line, instance)}, size_of(columns.node_parent));
  if (inserted) {
    columns.node_parent.push_back(parent);
    columns.node_code.push_back(code);
    columns.node_instruction.push_back(line);
    columns.node_line.push_back(line);
    columns.node_instance.push_back(instance);
  }
  return found->second;
}

}  // namespace ridgeline::ingest
