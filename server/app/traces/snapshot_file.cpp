#include "app/traces/snapshot_file.h"

#include <array>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/memory/analyse_snapshot.h"
#include "app/traces/import_file.h"
#include "ingest/import_error.h"
#include "ingest/read_memory_snapshot.h"

namespace ridgeline::app {

bool looks_like_snapshot(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> first{};
  file.read(first.data(), first.size());
  return ingest::is_pickle({first.data(), static_cast<std::size_t>(file.gcount())});
}

Answer<analysis::MemorySnapshot> memory_snapshot(const std::string& path, const std::string& project_root) {
  const auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    return refusal(Cause::kRequest, "Cannot read " + path + ".");
  }
  const auto source = [file](std::span<char> buffer) {
    file->read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (file->bad()) {
      throw ingest::ImportError("The snapshot cannot be read completely.");
    }
    return static_cast<std::size_t>(file->gcount());
  };
  try {
    analysis::MemorySnapshot snapshot = analysis::analyse_snapshot(
        ingest::read_memory_snapshot(source), project_root.empty() ? "" : absolute_path(project_root));
    snapshot.path = absolute_path(path);
    return snapshot;
  } catch (const ingest::ImportError& error) {
    return refusal(Cause::kInput, error.what());
  }
}

}  // namespace ridgeline::app
