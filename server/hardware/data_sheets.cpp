#include "hardware/data_sheets.h"

#include <algorithm>
#include <array>
#include <string>

namespace ridgeline::hardware {

namespace {

struct Sheet {
  std::string_view name;
  int units;
  double boost_mhz;
  double float32, tf32, float16, bfloat16;  // TFLOP/s; 0: not supported
  double shared_kib;                        // of shared memory that a unit's blocks may use
  double l2_mib;
  double memory_gb;
  double memory_gb_per_s;
  double power_w;
};

// NVIDIA's data sheets and architecture white papers of each GPU: Pascal P100 and P4, Volta V100, Turing T4, Ampere
// A100 and A10, Ada L4 and L40S, Hopper H100 and H200. Sizes of shared memory: CUDA C++ Programming Guide, compute
// capabilities.
constexpr std::array kSheets = {
    Sheet{"P4", 20, 1063, 5.5, 0, 0, 0, 96, 2, 8, 192, 75},
    Sheet{"P100-PCIE", 56, 1303, 9.3, 0, 18.7, 0, 64, 4, 16, 732, 250},
    Sheet{"P100", 56, 1480, 10.6, 0, 21.2, 0, 64, 4, 16, 732, 300},
    Sheet{"T4", 40, 1590, 8.1, 0, 65, 0, 64, 4, 16, 320, 70},
    Sheet{"V100-PCIE", 80, 1380, 14, 0, 112, 0, 96, 6, 16, 900, 250},
    Sheet{"V100", 80, 1530, 15.7, 0, 125, 0, 96, 6, 16, 900, 300},
    Sheet{"A10", 72, 1695, 31.2, 62.5, 125, 125, 100, 6, 24, 600, 150},
    Sheet{"A100", 108, 1410, 19.5, 156, 312, 312, 164, 40, 40, 1555, 400},
    Sheet{"A100-SXM4-80GB", 108, 1410, 19.5, 156, 312, 312, 164, 40, 80, 2039, 400},
    Sheet{"A100 80GB PCIe", 108, 1410, 19.5, 156, 312, 312, 164, 40, 80, 1935, 300},
    Sheet{"L4", 58, 2040, 30.3, 60, 121, 121, 100, 48, 24, 300, 72},
    Sheet{"L40S", 142, 2520, 91.6, 183, 362, 362, 100, 96, 48, 864, 350},
    Sheet{"H100", 132, 1830, 67, 494.7, 989.4, 989.4, 228, 50, 80, 3350, 700},
    Sheet{"H100 PCIe", 114, 1755, 51, 378, 756, 756, 228, 50, 80, 2000, 350},
    Sheet{"H200", 132, 1830, 67, 494.7, 989.4, 989.4, 228, 50, 141, 4800, 700},
};

constexpr double kSharedBytesPerClock = 128;  // of a unit: 32 banks of 4 bytes, CUDA C++ Programming Guide
constexpr double kWarpBytes = 32 * 4;

Figure stated(double value) { return {value, Source::kDataSheet}; }

Device device_of(const Sheet& sheet) {
  Device device;
  device.name = sheet.name;
  device.kind = DeviceKind::kGpu;
  device.compute_units = sheet.units;
  device.vector_bytes = kWarpBytes;
  device.clock_hz = stated(sheet.boost_mhz * 1e6);
  const std::array<std::pair<const char*, double>, 4> peaks = {
      {{"float32", sheet.float32}, {"tf32", sheet.tf32}, {"float16", sheet.float16}, {"bfloat16", sheet.bfloat16}}};
  for (const auto& [dtype, tera] : peaks) {
    if (tera > 0) {
      device.peaks.push_back({dtype, {stated(tera * 1e12), stated(tera * 1e12 / sheet.units)}});
    }
  }
  const double shared = kSharedBytesPerClock * sheet.boost_mhz * 1e6;
  device.levels = {
      {"shared memory", sheet.shared_kib * 1024, 1, kSharedBytesPerClock,
       Rate{stated(shared * sheet.units), stated(shared)}},
      {"L2", sheet.l2_mib * 1024 * 1024, sheet.units, 32, std::nullopt},
      {"memory", sheet.memory_gb * 1e9, sheet.units, 32, Rate{stated(sheet.memory_gb_per_s * 1e9)}},
  };
  device.memory_capacity_bytes = stated(sheet.memory_gb * 1e9);
  device.power_w = stated(sheet.power_w);
  return device;
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return made;
}

bool is_word_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// "l4" is in "nvidia l4", and not in "nvidia l40".
bool has_word(const std::string& text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || !is_word_char(text[at - 1])) && (end == text.size() || !is_word_char(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

const std::vector<Device>& data_sheets() {
  static const std::vector<Device> all = [] {
    std::vector<Device> made;
    for (const Sheet& sheet : kSheets) {
      made.push_back(device_of(sheet));
    }
    return made;
  }();
  return all;
}

std::optional<Device> find_data_sheet(std::string_view name) {
  const std::string wanted = lower(name);
  const Device* best = nullptr;
  for (const Device& device : data_sheets()) {
    if (has_word(wanted, lower(device.name)) && (best == nullptr || device.name.size() > best->name.size())) {
      best = &device;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace ridgeline::hardware
