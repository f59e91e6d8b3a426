// Reading a recording: checked columns over bytes that came from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/recording_format.h"

namespace ridgeline::recording {

/// An immutable recording. Copying shares the bytes. Every index that a column holds is known to be in range, parents
/// precede children, and times within one thread do not run backwards, so that readers need no checks of their own.
class Recording {
 public:
  /// Takes the bytes and checks them. On failure returns nothing and says why in `error`.
  static std::optional<Recording> parse(std::string bytes, std::string& error);
  /// The same of bytes that others hold, too; not null.
  static std::optional<Recording> parse(std::shared_ptr<const std::string> bytes, std::string& error);

#define RIDGELINE_COLUMN(name, number, type) \
  std::span<const type> name() const { return name##_; }
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN

  std::string_view string(std::uint32_t index) const;
  std::size_t size_bytes() const { return bytes_->size(); }

 private:
  std::string check() const;

  std::shared_ptr<const std::string> bytes_;
#define RIDGELINE_COLUMN(name, number, type) std::span<const type> name##_;
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
};

}  // namespace ridgeline::recording
