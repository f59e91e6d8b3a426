// Names of ops as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/recording_format.h"

namespace ridgeline::agent {

/// By content. Used by one thread. LibTorch hands out the same pointer for the same operator nearly always: a
/// pointer that was seen before is only compared.
class NameTable {
 public:
  NameTable();
  std::uint32_t intern(const char* name);
  const std::vector<std::string>& names() const { return names_; }
  /// What LibTorch records as a function, by its name: "aten::add" is an operator, what Python opens has none of "::",
  /// and the engine has a name of its own for a node together with its hooks.
  recording::Scope function_scope(std::uint32_t name) const { return scopes_[name]; }

 private:
  struct Recent {
    const char* pointer = nullptr;
    std::uint32_t name = 0;
  };
  std::uint32_t look_up(const char* name);
  void grow();
  std::size_t slot_of(const char* name, std::size_t length) const;

  std::vector<Recent> recent_;
  std::vector<std::string> names_;
  std::vector<recording::Scope> scopes_;
  std::vector<std::uint32_t> slots_;  ///< open addressing; 0 is an empty slot
};

}  // namespace ridgeline::agent
