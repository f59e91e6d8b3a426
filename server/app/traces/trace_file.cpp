#include "app/traces/trace_file.h"

#include <array>
#include <cstddef>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "ingest/import_error.h"
#include "ingest/read_trace.h"
#include "store/foreign_tables.h"

namespace ridgeline::app {

ingest::ByteSource bytes_of(const std::shared_ptr<std::ifstream>& file, std::string first, const std::string& name) {
  return [file, first = std::move(first), name](std::span<char> buffer) mutable {
    if (!first.empty()) {
      const std::size_t count = first.copy(buffer.data(), buffer.size());
      first.erase(0, count);
      return count;
    }
    file->read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (file->bad()) {
      throw ingest::ImportError("The " + name + " cannot be read completely.");
    }
    return static_cast<std::size_t>(file->gcount());
  };
}

ingest::Trace read_trace_file(const std::string& path, const ingest::NsysOptions& nsys, bool inputs) {
  const auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  std::array<char, 16> first{};
  file->read(first.data(), first.size());
  const std::string_view bytes(first.data(), static_cast<std::size_t>(file->gcount()));
  if (ingest::is_unexported_report(path, bytes)) {
    throw ingest::ImportError(
        "The file is a report of Nsight Systems as nsys profile writes it. Export it first: nsys export --type "
        "sqlite " +
        path);
  }
  if (store::ForeignTables::is_sqlite(bytes)) {
    try {
      store::ForeignTables tables(path);
      return ingest::read_nsys(tables, nsys);
    } catch (const store::ForeignTablesError& problem) {
      throw ingest::ImportError(problem.what());
    }
  }
  if (nsys.process.has_value()) {
    throw ingest::ImportError("--process is for reports of Nsight Systems: a trace of torch.profiler has one process.");
  }
  return ingest::read_trace(bytes_of(file, std::string(bytes), "trace"), {.inputs = inputs});
}

}  // namespace ridgeline::app
