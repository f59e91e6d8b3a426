// Builds the columns of a recording: strings, code objects, module instances and stacks, each kept once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "protocol/recording_columns.h"

namespace ridgeline::ingest {

class ColumnsBuilder {
 public:
  recording::Columns columns;

  ColumnsBuilder();

  std::uint32_t text(std::string_view text);
  std::uint32_t code(std::string_view file, std::string_view function);
  std::uint32_t instance(std::string_view type, std::string_view name);
  /// The stack with one more frame.
  std::uint32_t push_frame(std::uint32_t parent, std::uint32_t code, std::uint32_t line, std::uint32_t instance);

 private:
  struct Frame {
    std::uint64_t parent_and_code;
    std::uint64_t line_and_instance;
    bool operator==(const Frame&) const = default;
  };
  struct FrameHash {
    std::size_t operator()(const Frame& frame) const;
  };

  std::unordered_map<std::string, std::uint32_t> texts_;
  std::unordered_map<std::uint64_t, std::uint32_t> codes_;
  std::unordered_map<Frame, std::uint32_t, FrameHash> nodes_;
};

}  // namespace ridgeline::ingest
