#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ridgeline::store {

namespace {

constexpr int kBusyMilliseconds = 5000;

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  database.check(
      sqlite3_prepare_v2(database.connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr));
  statement_.reset(statement);
}

Statement& Statement::bind(std::string_view text) {
  if (statement_) {
    database_->check(
        sqlite3_bind_text64(statement_.get(), ++parameters_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  if (statement_) {
    database_->check(sqlite3_bind_int64(statement_.get(), ++parameters_, number));
  }
  return *this;
}

bool Statement::row() {
  if (!statement_ || database_->failed()) {
    return false;
  }
  const int code = sqlite3_step(statement_.get());
  return code == SQLITE_ROW || (code != SQLITE_DONE && database_->check(code));
}

bool Statement::run() {
  while (row()) {
  }
  return !database_->failed();
}

std::string Statement::text(int column) const {
  const auto* start = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return start == nullptr ? "" : std::string(start, static_cast<std::size_t>(size));
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

bool Database::open(const std::string& path) {
  forget_error();
  // SQLite would make it readable for others; its companions follow the file.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    code_ = SQLITE_CANTOPEN;
    message_ = file < 0 ? std::strerror(errno) : "it is not a regular file";
  }
  if (file >= 0) {
    ::close(file);
  }
  if (failed()) {
    return false;
  }
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection, SQLITE_OPEN_READWRITE, nullptr);
  connection_.reset(connection);
  if (!check(code)) {
    return false;
  }
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return true;
}

bool Database::execute(const char* sql) {
  return !failed() && check(sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr));
}

void Database::roll_back() {
  // An error may have undone it already: then this one fails, and the error that counts is the first.
  sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

std::int64_t Database::number(std::string_view sql) {
  Statement reading = statement(sql);
  return reading.row() ? reading.number(0) : -1;
}

bool Database::is_damaged() const { return code_ == SQLITE_CORRUPT || code_ == SQLITE_NOTADB; }

void Database::forget_error() {
  code_ = 0;
  message_.clear();
}

/// Keeps the first error. True when there is none.
bool Database::check(int code) {
  if (code != SQLITE_OK && !failed()) {
    code_ = code & 0xFF;
    message_ = connection_ ? sqlite3_errmsg(connection_.get()) : sqlite3_errstr(code);
  }
  return code == SQLITE_OK;
}

Transaction::~Transaction() {
  if (open_) {
    database_.roll_back();
  }
}

bool Transaction::commit() {
  open_ = open_ && !database_.execute("COMMIT");
  return !open_ && !database_.failed();
}

}  // namespace ridgeline::store
