#include "cli/script_options.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>

namespace ridgeline::cli {

namespace {

constexpr int kLargestBatchSize = 1 << 24;

/// Whether the file has that many lines.
bool has_line(const std::string& path, int line) {
  std::ifstream file(path);
  for (int i = 1; i < line; ++i) {
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return file.peek() != std::ifstream::traits_type::eof();
}

}  // namespace

base::Result<protocol::BoundaryRequest> parse_step_boundary(const std::string& text) {
  protocol::BoundaryRequest request;
  if (text.empty()) {
    return request;
  }
  for (const auto& [name, end] :
       {std::pair("optimizer", protocol::StepEnd::kOptimizer), std::pair("dataloader", protocol::StepEnd::kDataLoader),
        std::pair("forward", protocol::StepEnd::kForward)}) {
    if (text == name) {
      request.end = end;
      return request;
    }
  }
  const std::size_t colon = text.rfind(':');
  const char* const end = text.data() + text.size();
  if (colon == std::string::npos || std::from_chars(text.data() + colon + 1, end, request.line).ptr != end ||
      request.line < 1) {
    return base::error("--step-boundary takes optimizer, dataloader, forward or a line such as train.py:12, not " +
                       text);
  }
  std::error_code problem;
  request.end = protocol::StepEnd::kLine;
  request.file = std::filesystem::canonical(text.substr(0, colon), problem).string();
  if (problem || !std::filesystem::is_regular_file(request.file, problem)) {
    return base::error("--step-boundary: there is no file " + text.substr(0, colon));
  }
  if (!has_line(request.file, request.line)) {
    return base::error("--step-boundary: " + text.substr(0, colon) + " has no line " + std::to_string(request.line));
  }
  return request;
}

base::Result<std::vector<int>> parse_batch_sizes(const std::string& text) {
  std::vector<int> sizes;
  if (text.empty() || text == "auto") {
    return sizes;
  }
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int size = 0;
    const auto read = std::from_chars(at, end, size);
    const bool is_last = read.ptr == end;
    if (read.ec != std::errc() || size < 1 || size > kLargestBatchSize || (!is_last && *read.ptr != ',')) {
      return base::error("--batch-sizes takes auto or numbers such as 8,16,64, not " + text);
    }
    sizes.push_back(size);
    if (is_last) {
      return sizes;
    }
    at = read.ptr + 1;
  }
}

}  // namespace ridgeline::cli
