// Reports of Nsight Systems in a few words: small SQLite files, made by the tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include "ingest/import_trace.h"
#include "ingest/nsys_report.h"

namespace ridgeline::ingest::testing {

/// Times are microseconds; those in the file are nanoseconds.
class Report {
 public:
  Report() : database_(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
    run("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)");
    run("CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, totalMemory INT, cuDevice INT)");
    run("CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, endGlobalTid INT, "
        "textId INT, domainId INT)");
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId "
        "INT, nameId INT)");
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, "
        "globalPid INT, demangledName INT, shortName INT)");
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, correlationId INT, "
        "globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT)");
    run("CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, streamId INT, "
        "correlationId INT, globalPid INT, syncType INT, eventId INT)");
  }

  /// The process whose events come next.
  Report& process(std::uint64_t pid) {
    process_ = (std::uint64_t{1} << 48U) | (pid << 24U);
    return *this;
  }

  Report& range(std::string_view text, double start, double end, int thread = 1, int domain = 0) {
    run(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, '{}', {}, NULL, NULL, {})", ns(start), ns(end), text,
                    process_ + static_cast<std::uint64_t>(thread), domain));
    return *this;
  }

  Report& call(std::string_view name, double start, double end, int correlation, int thread = 1) {
    run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 1, {}, {}, {})", ns(start), ns(end),
                    process_ + static_cast<std::uint64_t>(thread), correlation, id(name)));
    return *this;
  }

  Report& kernel(std::string_view name, double start, double end, int correlation, int stream = 7, int device = 0) {
    run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, {}, {}, {}, {}, {})", ns(start),
                    ns(end), device, stream, correlation, process_, id(std::string(name) + "<float>"), id(name)));
    return *this;
  }

  /// From pinned memory to the device.
  Report& copy(double start, double end, int correlation, int bytes, int stream = 7) {
    run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({}, {}, 0, {}, {}, {}, {}, 1, 1, 2)", ns(start),
                    ns(end), stream, correlation, process_, bytes));
    return *this;
  }

  Report& synchronisation(double start, double end, int correlation, std::uint32_t stream, std::uint32_t event) {
    run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES ({}, {}, 0, {}, {}, {}, 3, {})", ns(start),
                    ns(end), stream, correlation, process_, event));
    return *this;
  }

  Report& run(const std::string& statement) {
    database_.exec(statement);
    return *this;
  }

  /// The file.
  std::string bytes() {
    sqlite3_int64 size = 0;
    unsigned char* data = sqlite3_serialize(database_.getHandle(), "main", &size, 0);
    std::string bytes(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    sqlite3_free(data);
    return bytes;
  }

 private:
  static std::int64_t ns(double microseconds) { return static_cast<std::int64_t>(microseconds * 1000); }

  std::int64_t id(std::string_view text) {
    const auto [found, inserted] = ids_.try_emplace(std::string(text), static_cast<std::int64_t>(ids_.size()) + 100);
    if (inserted) {
      run(fmt::format("INSERT INTO StringIds VALUES ({}, '{}')", found->second, text));
    }
    return found->second;
  }

  SQLite::Database database_;
  std::map<std::string, std::int64_t> ids_;
  std::uint64_t process_ = (std::uint64_t{1} << 48U) | (std::uint64_t{4242} << 24U);
};

inline Trace read(const std::string& bytes, const NsysOptions& options = {}, const TraceLimits& limits = {}) {
  auto tables = store::ForeignTables::of_bytes(bytes);
  return read_nsys(tables, options, limits);
}

inline analysis::RunInput import(Report& report, const NsysOptions& options = {}) {
  ImportOptions how{"/reports/r.sqlite", "/project", "/elsewhere", {}, 4};
  how.exists = [](const std::string&) { return false; };
  return import_trace(read(report.bytes(), options), how);
}

}  // namespace ridgeline::ingest::testing
