#include "store/database.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ridgeline::store {

namespace {

constexpr int kBusyMilliseconds = 5000;

/// SQLite would make the file readable for others; its companions (-wal, -shm) get the permissions of the file.
void make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) {
    throw SQLite::Exception(std::strerror(errno), SQLITE_CANTOPEN);
  }
  struct stat status {};
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  ::close(file);
  if (!is_regular) {
    throw SQLite::Exception("it is not a regular file", SQLITE_CANTOPEN);
  }
}

}  // namespace

std::unique_ptr<SQLite::Database> open_database(const std::string& path) {
  make_private_file(path);
  auto database = std::make_unique<SQLite::Database>(path, SQLite::OPEN_READWRITE, kBusyMilliseconds);
  sqlite3_db_config(database->getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database->getHandle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

bool is_damaged(const SQLite::Exception& failure) {
  const int code = failure.getErrorCode() & 0xFF;  // without what extends it
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

}  // namespace ridgeline::store
