// How the store opens a SQLite file, and what SQLite's errors mean for it.
#pragma once

#include <memory>
#include <string>

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's
class Database;
class Exception;
}  // namespace SQLite

namespace ridgeline::store {

/// Opens or makes the file, which nobody but the user can read. The connection waits up to 5 s for other processes and
/// does not trust what is in the file. Throws SQLite::Exception.
std::unique_ptr<SQLite::Database> open_database(const std::string& path);

/// Whether the file is not a database, or a damaged one.
bool is_damaged(const SQLite::Exception& failure);

}  // namespace ridgeline::store
