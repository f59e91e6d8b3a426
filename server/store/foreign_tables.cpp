#include "store/foreign_tables.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "store/database.h"

namespace ridgeline::store {

namespace {

constexpr int kInstructionsPerCall = 10'000;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};

/// A path as part of a URI.
std::string escaped(std::string_view path) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char letter : path) {
    if (letter == '%' || letter == '?' || letter == '#') {
      const auto code = static_cast<unsigned char>(letter);
      text += '%';
      text += kDigits[code >> 4U];
      text += kDigits[code & 15U];
    } else {
      text += letter;
    }
  }
  return text;
}

std::string identifier(std::string_view name) {
  std::string text = "\"";
  for (const char letter : name) {
    text += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return text + "\"";
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

/// What SQLite's failure means to whoever has the file.
ForeignTablesError explained(const SQLite::Exception& failure, const std::string& where, const ForeignLimits& limits) {
  const int code = failure.getErrorCode() & 0xFF;
  if (is_damaged(failure)) {
    return ForeignTablesError("The SQLite file is damaged or cut off (" + where + ": " + failure.what() +
                              "). Copy or export it again.");
  }
  if (code == SQLITE_TOOBIG) {
    return ForeignTablesError("The SQLite file has a value of more than " + mebibytes(limits.value_bytes) + " (" +
                              where + "), which is the limit of an import.");
  }
  if (code == SQLITE_INTERRUPT) {
    return ForeignTablesError("Reading the SQLite file takes more work than an import may do (" + where +
                              "). Export a shorter part of the run.");
  }
  return ForeignTablesError("The SQLite file cannot be read (" + where + ": " + failure.what() + ").");
}

}  // namespace

struct ForeignTables::State {
  ForeignLimits limits;
  std::string bytes;  ///< of a file in memory; outlives the connection
  std::unique_ptr<SQLite::Database> database;
  std::unordered_set<std::string> tables;
  std::uint64_t instructions = 0;
  std::uint64_t text_bytes = 0;

  /// SQLite's progress handler: not 0 ends the statement.
  static int is_over(void* state) {
    auto& own = *static_cast<State*>(state);
    own.instructions += kInstructionsPerCall;
    return own.instructions > own.limits.instructions ? 1 : 0;
  }
};

std::optional<std::int64_t> ForeignRow::integer(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER
             ? std::optional<std::int64_t>(sqlite3_column_int64(statement_, column))
             : std::nullopt;
}

std::string_view ForeignRow::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) {
    return {};
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

bool ForeignTables::is_sqlite(std::string_view bytes) { return bytes.starts_with(kMagic); }

ForeignTables::ForeignTables(std::unique_ptr<State> state) : state_(std::move(state)) {}
ForeignTables::ForeignTables(ForeignTables&& other) noexcept = default;
ForeignTables::~ForeignTables() = default;

ForeignTables::ForeignTables(const std::string& path, const ForeignLimits& limits) : state_(std::make_unique<State>()) {
  state_->limits = limits;
  std::error_code problem;
  const std::uint64_t size = std::filesystem::file_size(path, problem);
  if (problem) {
    throw ForeignTablesError("Cannot read " + path + ": " + problem.message() + ".");
  }
  if (size > limits.file_bytes) {
    throw ForeignTablesError("The SQLite file is larger than " + mebibytes(limits.file_bytes) +
                             ", which is the limit of an import.");
  }
  const std::string uri = "file:" + escaped(std::filesystem::absolute(path, problem).string()) + "?mode=ro&immutable=1";
  try {
    state_->database = std::make_unique<SQLite::Database>(uri, SQLite::OPEN_READONLY | SQLite::OPEN_URI);
    prepare();
  } catch (const SQLite::Exception& failure) {
    throw explained(failure, "when it was opened", limits);
  }
}

ForeignTables ForeignTables::of_bytes(std::string bytes, const ForeignLimits& limits) {
  ForeignTables tables(std::make_unique<State>());
  State& state = *tables.state_;
  state.limits = limits;
  state.bytes = std::move(bytes);
  try {
    state.database = std::make_unique<SQLite::Database>(":memory:", SQLite::OPEN_READWRITE);
    const auto size = static_cast<sqlite3_int64>(state.bytes.size());
    auto* data = reinterpret_cast<unsigned char*>(state.bytes.data());
    sqlite3* handle = state.database->getHandle();
    if (sqlite3_deserialize(handle, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
      throw SQLite::Exception(handle);
    }
    tables.prepare();
  } catch (const SQLite::Exception& failure) {
    throw explained(failure, "when it was opened", limits);
  }
  return tables;
}

void ForeignTables::prepare() {
  State& state = *state_;
  sqlite3* handle = state.database->getHandle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, static_cast<int>(state.limits.value_bytes));
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_progress_handler(handle, kInstructionsPerCall, &State::is_over, state_.get());
  SQLite::Statement names(*state.database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0");
  while (names.executeStep()) {
    state.tables.insert(names.getColumn(0).getString());
  }
}

bool ForeignTables::has(std::string_view table) const { return state_->tables.contains(std::string(table)); }

std::vector<std::string> ForeignTables::columns(const std::string& table) {
  std::vector<std::string> found;
  if (!has(table)) {
    return found;
  }
  try {
    SQLite::Statement statement(*state_->database, "SELECT name FROM pragma_table_info(?)");
    statement.bind(1, table);
    while (statement.executeStep()) {
      found.push_back(statement.getColumn(0).getString());
    }
  } catch (const SQLite::Exception& failure) {
    throw explained(failure, "table " + table, state_->limits);
  }
  return found;
}

void ForeignTables::read(const std::string& table, const std::vector<std::string>& wanted,
                         base::FunctionRef<void(const ForeignRow&)> use) {
  if (!has(table)) {
    return;
  }
  const std::vector<std::string> there = columns(table);
  std::string query = "SELECT ";
  for (const std::string& column : wanted) {
    const bool known = std::ranges::find(there, column) != there.end();
    query += (&column == wanted.data() ? "" : ", ") + (known ? identifier(column) : "NULL");
  }
  query += " FROM " + identifier(table) + " NOT INDEXED";
  sqlite3* handle = state_->database->getHandle();
  const auto check = [&](int result, int expected) {
    if (result != expected) {
      throw explained(SQLite::Exception(handle, result), "table " + table, state_->limits);
    }
  };
  sqlite3_stmt* prepared = nullptr;
  check(sqlite3_prepare_v2(handle, query.c_str(), -1, &prepared, nullptr), SQLITE_OK);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, &sqlite3_finalize);
  const ForeignRow row(prepared);
  int result = SQLITE_OK;
  while ((result = sqlite3_step(prepared)) == SQLITE_ROW) {
    count_texts(prepared, table);
    use(row);
  }
  check(result, SQLITE_DONE);
}

void ForeignTables::count_texts(sqlite3_stmt* row, const std::string& table) {
  for (int i = 0; i < sqlite3_column_count(row); ++i) {
    if (const int type = sqlite3_column_type(row, i); type == SQLITE_TEXT || type == SQLITE_BLOB) {
      state_->text_bytes += static_cast<std::uint64_t>(sqlite3_column_bytes(row, i));
    }
  }
  if (state_->text_bytes > state_->limits.text_bytes) {
    throw ForeignTablesError("The texts of the SQLite file are longer than " + mebibytes(state_->limits.text_bytes) +
                             " (table " + table + "), which is the limit of an import.");
  }
}

}  // namespace ridgeline::store
