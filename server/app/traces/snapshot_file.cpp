#include "app/traces/snapshot_file.h"

#include <fstream>
#include <memory>

#include "analysis/memory/analyse_snapshot.h"
#include "app/traces/import_file.h"
#include "app/traces/trace_file.h"
#include "ingest/import_error.h"
#include "ingest/read_memory_snapshot.h"

namespace ridgeline::app {

Answer<analysis::MemorySnapshot> memory_snapshot(const std::string& path, const std::string& project_root) {
  const auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    return refusal(Cause::kRequest, "Cannot read " + path + ".");
  }
  try {
    analysis::MemorySnapshot snapshot =
        analysis::analyse_snapshot(ingest::read_memory_snapshot(bytes_of(file, "", "snapshot")),
                                   project_root.empty() ? "" : absolute_path(project_root));
    snapshot.path = absolute_path(path);
    return snapshot;
  } catch (const ingest::ImportError& error) {
    return refusal(Cause::kInput, error.what());
  }
}

}  // namespace ridgeline::app
