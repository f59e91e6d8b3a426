// Documents in TOML, which come from outside: bounded before the library sees them, since it recurses into them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Errors as values.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/result.h"

namespace ridgeline::base {

/// Far beyond what people write. A table is at most (kMaxTomlNesting + 1) * kMaxTomlKeyParts levels deep.
inline constexpr std::size_t kMaxTomlBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kMaxTomlKeyParts = 32;  ///< a.b.c has three
inline constexpr std::size_t kMaxTomlNesting = 32;   ///< of arrays and inline tables
inline constexpr std::size_t kMaxTomlValues = std::size_t{1} << 18U;

/// Reads a whole document. `name` is that of the file, for errors: "NAME:LINE:COLUMN: what is wrong". Pure.
Result<toml::table> parse_toml(std::string_view text, const std::string& name);

}  // namespace ridgeline::base
