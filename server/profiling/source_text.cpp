#include "profiling/source_text.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace ridgeline::profiling {

namespace {

constexpr std::uintmax_t kMaxSourceBytes = std::uintmax_t{16} << 20U;

}  // namespace

std::optional<std::string> text_of(const std::string& path) {
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  if (problem || size > kMaxSourceBytes) {
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  return file ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace ridgeline::profiling
