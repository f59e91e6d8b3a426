// How fast a table of a million operation times is imported and looked up, and how large it is. Prints JSON.
// `ridgeline_operations_bench FOLDER`: where the table is made, and left.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "operations/table/operation_table.h"
#include "operations/table/time_csv.h"

namespace {

using namespace ridgeline;

constexpr int kRows = 1'000'000;
constexpr int kLookUps = 20'000;
constexpr std::int64_t kMeasured = 1'700'000'000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Distinct matrices on four devices.
std::string table_of_matrices() {
  std::string csv = "m,n,k,time_ms,device\n";
  for (int row = 0; row < kRows; ++row) {
    csv += fmt::format("{},{},{},{},device {}\n", row % 1000 + 1, row / 1000 % 500 + 1, 256, 0.01 + row % 97 * 0.01,
                       row / 500'000 * 2 + row % 2);
  }
  return csv;
}

/// Median, over single look-ups of keys in random order, each with a statement of its own as a prediction makes it.
double look_up_us(operations::OperationTable& table, const std::vector<operations::ListedTime>& rows) {
  std::mt19937 random(1);
  std::vector<double> times;
  for (int i = 0; i < kLookUps; ++i) {
    const operations::ListedTime& row = rows[random() % rows.size()];
    const std::vector<std::string> key = {row.time.key};
    const auto start = std::chrono::steady_clock::now();
    const auto found = table.find_on(row.conditions.device, key);
    times.push_back(seconds_since(start) * 1e6);
    if (!found || !found->at(0).has_value()) {
      std::fputs("a row is not found\n", stderr);
      std::exit(1);
    }
  }
  std::ranges::nth_element(times, times.begin() + kLookUps / 2);
  return times[kLookUps / 2];
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: ridgeline_operations_bench FOLDER\n", stderr);
    return 2;
  }
  const std::string path = std::string(arguments[1]) + "/million.sqlite";
  const std::string csv = table_of_matrices();
  const auto start = std::chrono::steady_clock::now();
  const auto rows =
      operations::parse_times(csv, "table", {.format = operations::CsvFormat::kMatmul, .measured_s = kMeasured});
  auto table = operations::OperationTable::open(path);
  const auto merged = rows && table ? table->add_rows(*rows) : base::error("no table");
  if (!merged || merged->added != kRows) {
    std::fprintf(stderr, "%s\n", !rows ? rows.error().message().c_str() : "the rows were not added");
    return 1;
  }
  const double import_s = seconds_since(start);
  const double us = look_up_us(*table, *rows);
  fmt::print("[{{\"rows\": {}, \"importSeconds\": {:.2f}, \"lookUpMicroseconds\": {:.2f}, \"fileBytes\": {}}}]\n",
             kRows, import_s, us, std::filesystem::file_size(path));
  return 0;
}
