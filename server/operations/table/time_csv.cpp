#include "operations/table/time_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "operations/device/operation_call.h"
#include "operations/table/csv.h"
#include "operations/table/plausibility_check.h"

namespace ridgeline::operations {

namespace {

constexpr std::array<std::pair<std::string_view, double>, 4> kTimeColumns = {
    {{"time_ns", 1}, {"time_us", 1e3}, {"time_ms", 1e6}, {"time_s", 1e9}}};
constexpr std::array<std::string_view, 12> kOtherColumns = {"key", "m",    "n",       "k",      "batch",   "dtype",
                                                            "low", "high", "samples", "device", "threads", "torch"};
constexpr std::array<std::string_view, 2> kLastColumns = {"measured", "source"};
constexpr std::array<std::string_view, 12> kDtypes = {"float32", "float64", "float16",   "bfloat16",
                                                      "int64",   "int32",   "int16",     "int8",
                                                      "uint8",   "bool",    "complex64", "complex128"};
constexpr double kLongestNs = 3600e9;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 32;
constexpr std::size_t kMaxLine = std::size_t{1} << 19U;

/// Thrown within this file: the first thing that is wrong.
struct Problem {
  std::string message;
};

template <typename Number>
Number number(const std::string& text, std::string_view column, Number least, Number most) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw Problem{fmt::format("{} is \"{}\": write a number from {} to {}", column, text.substr(0, 64), least, most)};
  }
  return value;
}

/// Where each column stands.
class Columns {
 public:
  Columns(const std::vector<std::string>& names, const CsvOptions& options) {
    for (const auto& [ours, theirs] : options.columns) {
      if (!is_known(ours)) {
        throw Problem{fmt::format("there is no column \"{}\" to map", ours)};
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto mapped =
          std::ranges::find(options.columns, names[i], &std::pair<const std::string, std::string>::second);
      const std::string& ours = mapped == options.columns.end() ? names[i] : mapped->first;
      if (!is_known(ours) || (mapped == options.columns.end() && options.columns.contains(ours))) {
        continue;
      }
      if (!places_.emplace(ours, i).second) {
        throw Problem{fmt::format("there are two columns {}", ours)};
      }
    }
    for (const auto& [ours, theirs] : options.columns) {
      if (!places_.contains(ours)) {
        throw Problem{fmt::format("there is no column \"{}\", which is to be {}", theirs, ours)};
      }
    }
    count_ = names.size();
    choose_time();
  }

  bool has(const std::string& name) const { return places_.contains(name); }
  void need(const std::string& name) const {
    if (!has(name)) {
      throw Problem{fmt::format("there is no column {}; name it with --column {}=COLUMN", name, name)};
    }
  }
  const std::string& of(const std::vector<std::string>& row, const std::string& name) const {
    return row[places_.at(name)];
  }
  const std::string& time_column() const { return time_column_; }
  double unit_ns() const { return unit_ns_; }
  std::size_t count() const { return count_; }

 private:
  static bool is_known(const std::string& name) {
    return std::ranges::count(kOtherColumns, name) + std::ranges::count(kLastColumns, name) > 0 ||
           std::ranges::any_of(kTimeColumns, [&](const auto& column) { return column.first == name; });
  }

  void choose_time() {
    for (const auto& [name, ns] : kTimeColumns) {
      if (has(std::string(name))) {
        if (!time_column_.empty()) {
          throw Problem{fmt::format("there are {} and {}: one unit at a time", time_column_, name)};
        }
        time_column_ = name;
        unit_ns_ = ns;
      }
    }
    if (time_column_.empty()) {
      throw Problem{"no column says the time: name it with its unit, such as --column time_ms=COLUMN"};
    }
  }

  std::unordered_map<std::string, std::size_t> places_;
  std::string time_column_;
  double unit_ns_ = 1;
  std::size_t count_ = 0;
};

std::string matrix(const std::string& dtype, std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  return batch > 1 ? fmt::format(R"("t:{0}:{1},{2},{3}:{4},{3},1")", dtype, batch, rows, columns, rows * columns)
                   : fmt::format(R"("t:{0}:{1},{2}:{2},1")", dtype, rows, columns);
}

class RowReader {
 public:
  RowReader(Columns columns, const CsvOptions& options) : columns_(std::move(columns)), options_(options) {
    if (options.format == CsvFormat::kMatmul) {
      for (const char* name : {"m", "n", "k"}) {
        columns_.need(name);
      }
    } else {
      columns_.need("key");
    }
    if (columns_.has("device") == !options.device.empty()) {
      throw Problem{options.device.empty() ? "no column says the device: name it with --device"
                                           : "the column device says the device: leave --device out"};
    }
  }

  ListedTime read(const std::vector<std::string>& row) const {
    if (row.size() != columns_.count()) {
      throw Problem{fmt::format("it has {} fields, the names of the columns are {}", row.size(), columns_.count())};
    }
    ListedTime read;
    read.conditions = {text(row, "device", options_.device), integer(row, "threads", 1, 1 << 16),
                       text(row, "torch", options_.torch)};
    if (read.conditions.device.empty()) {
      throw Problem{"the device is empty"};
    }
    read.measured_s = columns_.has("measured")
                          ? number<std::int64_t>(columns_.of(row, "measured"), "measured", 1, options_.measured_s)
                          : options_.measured_s;
    read.source = text(row, "source", options_.source);
    read.time = time(row);
    read.time.key = key_on(key(row), gpu_sheet(read.conditions.device) != nullptr ? "cuda" : "cpu");
    check_operation(read.time.key);
    return read;
  }

 private:
  std::string text(const std::vector<std::string>& row, const std::string& name, const std::string& otherwise) const {
    return columns_.has(name) ? columns_.of(row, name) : otherwise;
  }
  int integer(const std::vector<std::string>& row, const std::string& name, int otherwise, int most) const {
    return columns_.has(name) ? number<int>(columns_.of(row, name), name, 1, most) : otherwise;
  }
  std::int64_t size(const std::vector<std::string>& row, const std::string& name) const {
    return number<std::int64_t>(columns_.of(row, name), name, 1, kLargestSize);
  }

  OperationTime time(const std::vector<std::string>& row) const {
    const double unit = columns_.unit_ns();
    const auto ns = [&](const std::string& name, double least, double most) {
      return number<double>(columns_.of(row, name), name, least / unit, most / unit) * unit;
    };
    OperationTime time;
    time.ns = ns(columns_.time_column(), 1e-3, kLongestNs);
    time.low = columns_.has("low") ? ns("low", 1e-3, time.ns) : time.ns;
    time.high = columns_.has("high") ? ns("high", time.ns, kLongestNs) : time.ns;
    time.samples = integer(row, "samples", 1, 1'000'000);
    return time;
  }

  std::string key(const std::vector<std::string>& row) const {
    if (options_.format == CsvFormat::kOperations) {
      return columns_.of(row, "key");
    }
    const std::string dtype = text(row, "dtype", options_.dtype);
    const std::int64_t batch = columns_.has("batch") ? size(row, "batch") : 1;
    const std::int64_t m = size(row, "m");
    const std::int64_t n = size(row, "n");
    const std::int64_t k = size(row, "k");
    return fmt::format(R"(["{}.default",[{},{}],{{}}])", batch > 1 ? "aten::bmm" : "aten::mm",
                       matrix(dtype, batch, m, k), matrix(dtype, batch, k, n));
  }

  static void check_operation(const std::string& key) {
    const auto call = parse_call(key);
    if (!call) {
      throw Problem{"the key is not that of an operation"};
    }
    for (const TensorShape* tensor : call->tensors()) {
      if (std::ranges::count(kDtypes, tensor->dtype) == 0) {
        throw Problem{fmt::format("\"{}\" is no type that is known, such as float32", tensor->dtype.substr(0, 64))};
      }
    }
  }

  Columns columns_;
  const CsvOptions& options_;
};

/// Refuses what stands in the table twice.
class SeenRows {
 public:
  void take(const ListedTime& row, std::size_t number) {
    const std::string identity = row.time.key + '\n' + row.conditions.device + '\n' +
                                 std::to_string(row.conditions.threads) + '\n' + row.conditions.torch;
    if (const auto [first, added] = rows_.emplace(identity, number); !added) {
      throw Problem{fmt::format("it is the operation of row {} again, under the same conditions", first->second)};
    }
  }

 private:
  std::unordered_map<std::string, std::size_t> rows_;
};

constexpr std::string_view kDevice = "v:device:";

/// Where the next tensor or device of a key begins, with its quotation mark; npos: there is none.
std::size_t next_placed(std::string_view key) { return std::min(key.find(R"("t:)"), key.find(R"("v:device:)")); }

/// A tensor ("t:dtype:sizes:strides[:device]") or a device on a kind of device. What is in the host's pinned memory
/// stays there.
std::string placed(std::string_view text, std::string_view device_type) {
  const bool on_host = device_type == "cpu";
  if (!on_host && text.ends_with(":pinned")) {
    return std::string(text);
  }
  if (text.starts_with(kDevice)) {
    return fmt::format("{}{}{}", kDevice, device_type, on_host ? "" : ":0");
  }
  std::size_t colon = 0;
  for (int i = 0; i < 4 && colon != std::string_view::npos; ++i) {
    colon = text.find(':', colon + 1);
  }
  const auto tensor = text.substr(0, std::min(colon, text.size()));
  return on_host ? std::string(tensor) : fmt::format("{}:{}", tensor, device_type);
}

}  // namespace

base::Result<std::vector<ListedTime>> parse_times(std::string_view csv, const std::string& name,
                                                  const CsvOptions& options) {
  if (csv.size() > kMaxCsvBytes) {
    return base::error(name + " is larger than 1 GiB: split it");
  }
  std::size_t number = 0;
  try {
    std::optional<RowReader> reader;
    SeenRows seen;
    PlausibilityCheck plausibility;
    std::vector<ListedTime> rows;
    while (!csv.empty()) {
      ++number;
      const std::string_view line = take_line(csv);
      if (line.empty()) {
        continue;
      }
      auto fields = line.size() > kMaxLine ? base::error("it is longer than 512 KiB") : csv_fields(line);
      if (!fields) {
        throw Problem{fields.error().message()};
      }
      if (!reader) {
        reader.emplace(Columns(*fields, options), options);
        continue;
      }
      rows.push_back(reader->read(*fields));
      seen.take(rows.back(), number);
      if (const auto checked = plausibility.check(rows.back()); !checked) {
        throw Problem{checked.error().message()};
      }
      if (rows.size() > kMaxCsvRows) {
        throw Problem{fmt::format("there are more than {} rows: split the table", kMaxCsvRows)};
      }
    }
    if (rows.empty()) {
      return base::error(name + ": there are no rows");
    }
    if (const auto checked = plausibility.check_all(); !checked) {
      return base::error(name + ": " + checked.error().message());
    }
    return rows;
  } catch (const Problem& problem) {
    return base::error(fmt::format("{}: row {}: {}", name, number, problem.message));
  }
}

std::string key_on(std::string_view key, std::string_view device_type) {
  std::string made;
  made.reserve(key.size() + 32);
  for (std::size_t at = next_placed(key); at != std::string_view::npos; at = next_placed(key)) {
    const std::size_t end = key.find('"', at + 1);
    if (end == std::string_view::npos) {
      break;
    }
    made += key.substr(0, at + 1);
    made += placed(key.substr(at + 1, end - at - 1), device_type);
    key.remove_prefix(end);
    made += '"';
    key.remove_prefix(1);
  }
  return made.append(key);
}

}  // namespace ridgeline::operations
