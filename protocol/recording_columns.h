// A recording as vectors, and its bytes: what the agent, tests and imports make a recording with.
//
// C++17, like recording_format.h: the agent is built from it.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "protocol/recording_format.h"

namespace ridgeline::recording {

struct Columns {
#define RIDGELINE_COLUMN(name, number, type) std::vector<type> name;
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
};

/// The bytes of a recording: header, directory, columns.
inline std::string serialise(const Columns& columns) {
  std::vector<DirectoryEntry> directory;
  std::uint64_t offset = 0;
  const auto add = [&](std::uint32_t number, std::size_t element, std::size_t count) {
    directory.push_back({number, static_cast<std::uint32_t>(element), count, offset});
    offset += (element * count + 7) / 8 * 8;
  };
#define RIDGELINE_COLUMN(name, number, type) add(number, sizeof(type), columns.name.size());
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
  const std::uint64_t data = sizeof(Header) + directory.size() * sizeof(DirectoryEntry);
  for (DirectoryEntry& entry : directory) {
    entry.offset += data;
  }
  std::string bytes(data + offset, '\0');
  Header header{{}, kVersion, static_cast<std::uint32_t>(directory.size()), bytes.size()};
  std::memcpy(header.magic, kMagic, sizeof(header.magic));
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), directory.data(), directory.size() * sizeof(DirectoryEntry));
  std::size_t index = 0;
  const auto copy = [&](const void* from, std::size_t size) {
    if (size > 0) {
      std::memcpy(bytes.data() + directory[index].offset, from, size);
    }
    ++index;
  };
#define RIDGELINE_COLUMN(name, number, type) copy(columns.name.data(), columns.name.size() * sizeof(type));
  RIDGELINE_RECORDING_COLUMNS(RIDGELINE_COLUMN)
#undef RIDGELINE_COLUMN
  return bytes;
}

}  // namespace ridgeline::recording
