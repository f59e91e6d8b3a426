#include "app/profiling/unsaved_text.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace ridgeline::app {

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

std::vector<protocol::SourceText> as_overlay(std::vector<protocol::SourceText> texts) {
  std::size_t bytes = 0;
  const auto beyond = std::ranges::find_if(texts, [&](const protocol::SourceText& one) {
    bytes += one.text.size();
    return bytes > protocol::kMaxOverlayBytes;
  });
  texts.erase(beyond, texts.end());
  return texts;
}

std::vector<protocol::SourceText> unsaved_of(std::vector<protocol::SourceText> texts) {
  std::erase_if(texts, [](const protocol::SourceText& one) { return text_of(one.path) == one.text; });
  return as_overlay(std::move(texts));
}

}  // namespace ridgeline::app
