#include "app/profiling/known_device.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/content_hash.h"
#include "base/file.h"
#include "operations/device/device_file.h"
#include "worker/machine.h"

namespace ridgeline::app {

namespace {

/// Another number where the benchmarks measure something else: what was measured before is measured again. Until 1 the
/// products of bfloat16 with AVX-512 came out up to four times too fast.
constexpr const char* kBenchmarks = "2";

}  // namespace

std::string device_path(const std::string& cache) {
  base::ContentHash identity;
  identity.add(kBenchmarks);
  identity.end_part();
  identity.add(worker::processor_name());
  identity.end_part();
  // With a quota the same processors attain less.
  const bool limited = worker::processor_time() < worker::processor_count();
  identity.add(std::to_string(worker::processor_count()) +
               (limited ? fmt::format(" at {:.2f}", worker::processor_time()) : ""));
  return fmt::format("{}/devices/{}.json", cache, identity.text());
}

base::Result<operations::Device> read_device(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(operations::kMaxDeviceFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return base::error(path + ": cannot be read; give a file that `ridgeline machine measure --output` wrote");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return operations::parse_device(text, path);
}

base::Result<std::optional<operations::Device>> kept_device(const std::string& cache) {
  const std::string path = device_path(cache);
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) {
    return std::optional<operations::Device>();
  }
  auto device = read_device(path);
  if (!device) {
    return device.error();
  }
  return std::optional(std::move(*device));
}

base::Result<void> keep_device(const std::string& cache, const operations::Device& device) {
  const std::string path = device_path(cache);
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  problem = base::write_atomically(path, operations::device_json(device), base::FileAccess::kOwner);
  if (problem) {
    return base::error(path + ": cannot be written: " + problem.message());
  }
  return {};
}

}  // namespace ridgeline::app
