#include "store/foreign_tables.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/worker/places.h"

namespace ridgeline::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using worker::testing::TemporaryFolder;

class ForeignTablesTest : public ::testing::Test {
 protected:
  std::string made(const std::string& statements, const std::string& name = "a #50%?.sqlite") {
    std::string path = (folder_.path() / name).string();
    SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(statements);
    return path;
  }

  static std::vector<std::string> texts(ForeignTables& tables, const std::string& table, const std::string& column) {
    std::vector<std::string> found;
    tables.read(table, {column}, [&](const ForeignRow& row) { found.emplace_back(row.text(0)); });
    return found;
  }

  static std::string error_of(const std::string& path, const ForeignLimits& limits = {}) {
    try {
      ForeignTables tables(path, limits);
      texts(tables, "a", "x");
    } catch (const ForeignTablesError& problem) {
      return problem.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(ForeignTablesTest, ReadsWhatIsThere) {
  ForeignTables tables(made("CREATE TABLE a (x TEXT, y INT); INSERT INTO a VALUES ('one', 1), (NULL, 'no number')"));
  EXPECT_TRUE(tables.has("a"));
  EXPECT_FALSE(tables.has("b"));
  EXPECT_THAT(tables.columns("a"), ElementsAre("x", "y"));
  EXPECT_THAT(tables.columns("b"), IsEmpty());
  std::vector<std::optional<std::int64_t>> numbers;
  tables.read("a", {"y", "missing"}, [&](const ForeignRow& row) {
    numbers.push_back(row.integer(0));
    numbers.push_back(row.integer(1));
  });
  EXPECT_THAT(numbers, ElementsAre(1, std::nullopt, std::nullopt, std::nullopt));
  EXPECT_THAT(texts(tables, "a", "x"), ElementsAre("one", ""));
  EXPECT_THAT(texts(tables, "b", "x"), IsEmpty());
}

TEST_F(ForeignTablesTest, ChangesNothing) {
  const std::string path = made("CREATE TABLE a (x TEXT); INSERT INTO a VALUES ('one')");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  const auto before = std::filesystem::last_write_time(path);
  ForeignTables tables(path);
  EXPECT_THAT(texts(tables, "a", "x"), ElementsAre("one"));
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1U) << "no journal, no lock";
}

TEST_F(ForeignTablesTest, TakesNoViewForATable) {
  ForeignTables tables(made("CREATE TABLE b (x TEXT); CREATE VIEW a AS SELECT x FROM b"));
  EXPECT_FALSE(tables.has("a"));
  EXPECT_THAT(texts(tables, "a", "x"), IsEmpty());
}

TEST_F(ForeignTablesTest, SaysWhatIsWrongWithAFile) {
  const std::string path = made(
      "CREATE TABLE a (x TEXT); INSERT INTO a SELECT hex(randomblob(2000)) FROM (SELECT 1 "
      "UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5)");
  EXPECT_EQ(error_of(path), "");
  ForeignLimits limits;
  limits.value_bytes = 1000;
  EXPECT_THAT(error_of(path, limits), HasSubstr("has a value of more than"));
  limits = {};
  limits.text_bytes = 10'000;
  EXPECT_THAT(error_of(path, limits), HasSubstr("texts of the SQLite file are longer"));
  limits = {};
  limits.file_bytes = 1000;
  EXPECT_THAT(error_of(path, limits), HasSubstr("larger than"));
  EXPECT_THAT(error_of((folder_.path() / "none").string()), HasSubstr("Cannot read"));
  std::filesystem::resize_file(path, 5000);
  EXPECT_THAT(error_of(path), HasSubstr("damaged or cut off"));
  std::ofstream(path, std::ios::binary) << "not a database at all, but as long as a header of one: "
                                        << std::string(80, 'x');
  EXPECT_THAT(error_of(path), HasSubstr("damaged or cut off"));
}

TEST_F(ForeignTablesTest, EndsWhatTakesTooLong) {
  ForeignLimits limits;
  limits.instructions = 50'000;
  const std::string path = made(
      "CREATE TABLE a (x TEXT); INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM n LIMIT 100000) SELECT i FROM n");
  EXPECT_THAT(error_of(path, limits), HasSubstr("more work than an import may do (table a)"));
  EXPECT_EQ(error_of(path), "");
}

TEST_F(ForeignTablesTest, ReadsBytesAsAFile) {
  const std::string path = made("CREATE TABLE a (x TEXT); INSERT INTO a VALUES ('one')");
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(ForeignTables::is_sqlite(bytes));
  ForeignTables tables = ForeignTables::of_bytes(bytes);
  EXPECT_THAT(texts(tables, "a", "x"), ElementsAre("one"));
  EXPECT_FALSE(ForeignTables::is_sqlite("{}"));
}

}  // namespace
}  // namespace ridgeline::store
