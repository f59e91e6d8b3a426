// Reading a recording: checked columns over bytes that came from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/recording_format.h"

namespace ridgeline::recording {

/// An immutable recording. Copying shares the bytes. Every index that a column holds is known to be in range, parents
/// precede children, and times within one thread do not run backwards, so that readers need no checks of their own.
class Recording {
 public:
  /// Takes the bytes and checks them. The error is a clause without a full stop.
  static base::Result<Recording> parse(std::string bytes);
  /// The same for shared bytes; not null.
  static base::Result<Recording> parse(std::shared_ptr<const std::string> bytes);

#define RIDGELINE_COLUMN(name, number, type) \
  std::span<const type> name() const { return name##_; }
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN

  std::string_view string(std::uint32_t index) const;
  /// Empty where nothing was parsed.
  std::string_view bytes() const { return bytes_ == nullptr ? std::string_view() : std::string_view(*bytes_); }

 private:
  base::Result<void> check() const;
  base::Result<void> check_stacks() const;
  base::Result<void> check_ops() const;
  base::Result<void> check_memory() const;
  base::Result<void> check_device() const;
  base::Result<void> check_parameters() const;

  std::shared_ptr<const std::string> bytes_;
#define RIDGELINE_COLUMN(name, number, type) std::span<const type> name##_;
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
};

}  // namespace ridgeline::recording
