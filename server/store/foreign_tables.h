// A SQLite file that others made, read table by table: never changed, and never trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"

struct sqlite3_stmt;  // NOLINT(readability-identifier-naming): the library's

namespace ridgeline::store {

/// What SQLite says of a file that cannot be read. The message is for the user.
class ForeignTablesError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Beyond these, reading ends with a ForeignTablesError.
struct ForeignLimits {
  std::uint64_t file_bytes = std::uint64_t{1} << 34U;
  std::size_t value_bytes = std::size_t{1} << 22U;       ///< one text or blob
  std::uint64_t text_bytes = std::uint64_t{1} << 33U;    ///< of all texts that were read
  std::uint64_t instructions = std::uint64_t{1} << 32U;  ///< of SQLite's virtual machine, over all tables
};

/// A row, while it is being read. Columns are numbered as they were asked for.
class ForeignRow {
 public:
  explicit ForeignRow(sqlite3_stmt* statement) : statement_(statement) {}
  /// Null for NULL, for what is no integer, and for a column that the table lacks.
  std::optional<std::int64_t> integer(int column) const;
  /// Empty for NULL, what is no text, and a column that the table lacks; may be no UTF-8. Valid until the next row.
  std::string_view text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// Not for use by two threads at once.
class ForeignTables {
 public:
  /// Whether the bytes, at least 16, are the beginning of a SQLite file.
  static bool is_sqlite(std::string_view bytes);

  /// Opens a file as one that nobody writes: neither locks nor journals are looked at. Throws ForeignTablesError.
  explicit ForeignTables(const std::string& path, const ForeignLimits& limits = {});
  /// Opens a file in memory.
  static ForeignTables of_bytes(std::string bytes, const ForeignLimits& limits = {});
  ForeignTables(ForeignTables&& other) noexcept;
  ForeignTables(const ForeignTables&) = delete;
  ForeignTables& operator=(const ForeignTables&) = delete;
  ForeignTables& operator=(ForeignTables&&) = delete;
  ~ForeignTables();

  /// Whether there is a table of this name: views and virtual tables are none.
  bool has(std::string_view table) const;
  /// Its columns as they are declared; none of a table that is not there.
  std::vector<std::string> columns(const std::string& table);
  /// Calls `use` with each row in the table's order. A table that is not there has no rows.
  void read(const std::string& table, const std::vector<std::string>& wanted,
            base::FunctionRef<void(const ForeignRow&)> use);

 private:
  struct State;
  explicit ForeignTables(std::unique_ptr<State> state);
  void prepare();
  void count_texts(sqlite3_stmt* row, const std::string& table);

  std::unique_ptr<State> state_;  ///< where SQLite's callback finds it
};

}  // namespace ridgeline::store
