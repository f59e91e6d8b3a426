#include "operations/device/data_sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "operations/device/bank_conflicts.h"
#include "operations/device/data_sheet_table.h"

namespace ridgeline::operations {

namespace {

constexpr auto kSharedBytesPerClock = static_cast<double>(kBanks * kBankBytes);  // of a unit
constexpr double kWarpBytes = 32 * 4;
constexpr double kSectorBytes = 32;    // of NVIDIA's L2, CUDA C++ Best Practices Guide
constexpr double kAmdLineBytes = 128;  // of CDNA 2's and CDNA 3's L2
constexpr double kKib = 1024;

Figure stated(double value) { return {value, FigureSource::kDataSheet}; }

Rate of_units(double one, double units) { return {stated(one * units), stated(one)}; }

std::vector<Peak> peaks_of(const Sheet& sheet) {
  const std::array<std::pair<const char*, const Cell*>, 4> cells = {
      {{"float32", &sheet.float32}, {"tf32", &sheet.tf32}, {"float16", &sheet.float16}, {"bfloat16", &sheet.bfloat16}}};
  std::vector<Peak> peaks;
  for (const auto& [dtype, tera] : cells) {
    if (tera->known()) {
      peaks.push_back({dtype, of_units(tera->value * 1e12 / sheet.units.value, sheet.units.value)});
    }
  }
  return peaks;
}

std::vector<MemoryLevel> levels_of(const Sheet& sheet) {
  const double line = sheet.amd ? kAmdLineBytes : kSectorBytes;
  const int all = static_cast<int>(sheet.units.value);
  std::vector<MemoryLevel> levels;
  if (sheet.shared_kib.known() && sheet.boost_mhz.known()) {
    levels.push_back({"shared memory", sheet.shared_kib.value * kKib, 1, kSharedBytesPerClock,
                      of_units(kSharedBytesPerClock * sheet.boost_mhz.value * 1e6, sheet.units.value)});
  }
  levels.push_back({"L2", sheet.l2_mib.value * kKib * kKib, sheet.units_of_l2 > 0 ? sheet.units_of_l2 : all, line, {}});
  if (sheet.last_cache_mib.known()) {
    levels.push_back({"Infinity Cache", sheet.last_cache_mib.value * kKib * kKib, all, line, {}});
  }
  levels.push_back(
      {"memory", sheet.memory_gb.value * 1e9, all, line, Rate{stated(sheet.memory_gb_per_s.value * 1e9), {}}});
  return levels;
}

std::optional<Figure> stated(const Cell& cell, double scale) {
  return cell.known() ? std::optional(stated(cell.value * scale)) : std::nullopt;
}

Device device_of(const Sheet& sheet) {
  Device device;
  device.name = sheet.name;
  device.kind = DeviceKind::kGpu;
  device.compute_units = static_cast<int>(sheet.units.value);
  device.vector_bytes = sheet.amd ? 2 * kWarpBytes : kWarpBytes;  // a wavefront: 64 words
  device.clock_hz = stated(sheet.boost_mhz, 1e6);
  device.peaks = peaks_of(sheet);
  device.levels = levels_of(sheet);
  device.memory_capacity_bytes = stated(sheet.memory_gb, 1e9);
  device.power_w = stated(sheet.power_w, 1);
  return device;
}

/// Lower case, each run of other characters than letters and digits as one space: " nvidia h100 80gb hbm3 ".
std::string words_of(std::string_view text) {
  std::string words = " ";
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    const bool is_word = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
    if (is_word || words.back() != ' ') {
      words += is_word ? low : ' ';
    }
  }
  return words.back() == ' ' ? words : words + " ";
}

/// A capacity that is not the sheet's, or the name of another card of the family.
bool is_other(std::string_view word, const Sheet& sheet) {
  constexpr std::array<std::string_view, 9> kOthers = {"ti", "super", "laptop", "mobile", "max",
                                                       "d",  "nvl",   "mig",    "sxm3"};
  if (word.ends_with("gb") && word.find_first_not_of("0123456789") == word.size() - 2 && word.size() > 2) {
    return word != fmt::format("{:.0f}gb", sheet.memory_gb.value);
  }
  return std::ranges::find(kOthers, word) != kOthers.end() &&
         words_of(sheet.name).find(fmt::format(" {} ", word)) == std::string::npos;
}

bool is_of(const std::string& wanted, const Sheet& sheet) {
  if (wanted.find(words_of(sheet.name)) == std::string::npos) {
    return false;
  }
  for (std::size_t at = 1; at < wanted.size();) {
    const std::size_t end = wanted.find(' ', at);
    if (is_other(std::string_view(wanted).substr(at, end - at), sheet)) {
      return false;
    }
    at = end + 1;
  }
  return true;
}

}  // namespace

const std::vector<Device>& data_sheets() {
  static const std::vector<Device> all = [] {
    std::vector<Device> made;
    for (const Sheet& sheet : data_sheet_table()) {
      made.push_back(device_of(sheet));
    }
    return made;
  }();
  return all;
}

std::string data_sheet_names() {
  std::string names;
  for (const Device& device : data_sheets()) {
    names += (names.empty() ? "" : ", ") + device.name;
  }
  return names;
}

bool names_device(std::string_view name, std::string_view device) {
  if (name == device) {
    return true;
  }
  const auto sheet = find_data_sheet(name);
  return sheet && sheet->name == device;
}

std::optional<Device> find_data_sheet(std::string_view name) {
  const std::string wanted = words_of(name);
  const Sheet* best = nullptr;
  for (const Sheet& sheet : data_sheet_table()) {
    if (is_of(wanted, sheet) && (best == nullptr || sheet.name.size() > best->name.size())) {
      best = &sheet;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(device_of(*best));
}

}  // namespace ridgeline::operations
