#include "names.h"

#include <cstring>

namespace ridgeline::agent {

namespace {

constexpr std::size_t kRecentNames = 1024;
constexpr char kEngine[] = "autograd::engine::evaluate_function";  // torch/csrc/autograd/engine.cpp

recording::Scope scope_of_function(const char* name) {
  if (std::strncmp(name, kEngine, sizeof(kEngine) - 1) == 0) {
    return recording::Scope::kBackward;
  }
  return std::strstr(name, "::") != nullptr ? recording::Scope::kFunction : recording::Scope::kPython;
}

std::uint64_t word_at(const char* text) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof(word));
  return word;
}

/// Hashes the length, the beginning, the middle and the end: the engine makes a new name for each node; these are long,
/// share a prefix, and are looked up every time.
std::size_t hash_of(const char* name, std::size_t length) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = length * kFactor;
  if (length >= sizeof(std::uint64_t)) {
    hash = (hash ^ word_at(name)) * kFactor;
    hash = (hash ^ (hash >> 29U) ^ word_at(name + (length - sizeof(std::uint64_t)) / 2)) * kFactor;
    hash = (hash ^ (hash >> 29U) ^ word_at(name + length - sizeof(std::uint64_t))) * kFactor;
  } else {
    for (std::size_t i = 0; i < length; ++i) {
      hash = (hash ^ static_cast<unsigned char>(name[i])) * kFactor;
    }
  }
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

}  // namespace

NameTable::NameTable() : recent_(kRecentNames), names_{""}, scopes_{recording::Scope::kPython}, slots_(1U << 10U) {}

std::size_t NameTable::slot_of(const char* name, std::size_t length) const {
  std::size_t slot = hash_of(name, length) & (slots_.size() - 1);
  while (slots_[slot] != 0) {
    const std::string& present = names_[slots_[slot]];
    if (present.size() == length && std::memcmp(present.data(), name, length) == 0) {
      break;
    }
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

std::uint32_t NameTable::intern(const char* name) {
  const auto pointer = reinterpret_cast<std::size_t>(name);
  Recent& recent = recent_[((pointer >> 4U) ^ (pointer >> 14U)) % kRecentNames];
  if (recent.pointer != name || std::strcmp(names_[recent.name].c_str(), name) != 0) {
    recent = {name, look_up(name)};
  }
  return recent.name;
}

std::uint32_t NameTable::look_up(const char* name) {
  const std::size_t length = std::strlen(name);
  const std::size_t slot = slot_of(name, length);
  if (slots_[slot] != 0) {
    return slots_[slot];
  }
  const auto index = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name, length);
  scopes_.push_back(scope_of_function(name));
  slots_[slot] = index;
  if (names_.size() * 2 > slots_.size()) {
    grow();
  }
  return index;
}

void NameTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::uint32_t index = 1; index < names_.size(); ++index) {
    slots_[slot_of(names_[index].data(), names_[index].size())] = index;
  }
}

}  // namespace ridgeline::agent
