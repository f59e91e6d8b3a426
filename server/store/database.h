// SQLite as values: a connection and its statements, with the error of the last call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace ridgeline::store {

class Database;

/// One prepared statement. Parameters are bound in the order of the calls. Used up once: bind, then step or read.
class Statement {
 public:
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);

  /// Steps to the next row; false at the end, and after an error, which Database::code() tells.
  bool row();
  /// Runs to the end. False after an error.
  bool run();

  std::string text(int column) const;
  std::int64_t number(int column) const;

 private:
  friend class Database;
  Statement(Database& database, std::string_view sql);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int parameters_ = 0;
};

/// A connection. It waits up to 5 s for other processes. Not thread-safe. Closes with its owner.
class Database {
 public:
  /// Opens or makes the file, which nobody but the user can read. False, with code() and message(), when that fails.
  bool open(const std::string& path);
  bool is_open() const { return connection_ != nullptr; }
  void close() { connection_.reset(); }

  /// `sql` is a literal of ours: whatever comes from elsewhere is bound.
  Statement statement(std::string_view sql) { return {*this, sql}; }
  /// Statements without parameters or rows, separated by ';'. False after an error.
  bool execute(const char* sql);
  /// The one number that a statement gives; -1 after an error.
  std::int64_t number(std::string_view sql);

  int code() const { return code_; }                       ///< of the first error since open()
  const std::string& message() const { return message_; }  ///< likewise, in words
  bool failed() const { return code_ != 0; }
  /// Whether the file is no database, or a damaged one.
  bool is_damaged() const;
  void forget_error();

 private:
  friend class Statement;
  friend class Transaction;
  bool check(int code);
  void roll_back();

  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
  int code_ = 0;
  std::string message_;
};

/// BEGIN IMMEDIATE until it goes; undone unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database), open_(database.execute("BEGIN IMMEDIATE")) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  bool begun() const { return open_; }
  bool commit();

 private:
  Database& database_;
  bool open_;
};

}  // namespace ridgeline::store
