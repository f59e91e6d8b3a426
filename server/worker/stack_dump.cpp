#include "worker/stack_dump.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace ridgeline::worker {

namespace {

constexpr std::string_view kTitle = "Stack (most recent call first):\n";

/// `  File "entry.py", line 3 in iteration`
std::optional<protocol::TraceFrame> frame_of(std::string_view line) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  constexpr std::string_view kIn = " in ";
  const std::size_t number = line.rfind(kLine);
  if (!line.starts_with(kFile) || number == std::string_view::npos || number < kFile.size()) {
    return std::nullopt;
  }
  protocol::TraceFrame frame;
  frame.file = line.substr(kFile.size(), number - kFile.size());
  const std::string_view rest = line.substr(number + kLine.size());
  const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), frame.line);
  const std::string_view name = rest.substr(static_cast<std::size_t>(end - rest.data()));
  if (problem != std::errc() || !name.starts_with(kIn)) {
    return std::nullopt;
  }
  frame.function = name.substr(kIn.size());
  return frame;
}

bool is_ours(const protocol::TraceFrame& frame) {
  return frame.file.find("/ridgeline_runner/") != std::string::npos || frame.file.starts_with("<frozen importlib");
}

}  // namespace

std::vector<protocol::TraceFrame> take_stack_dump(std::string& output) {
  const std::size_t start = output.rfind(kTitle);
  if (start == std::string::npos) {
    return {};
  }
  std::vector<protocol::TraceFrame> frames;
  std::size_t end = start + kTitle.size();
  for (std::size_t next = output.find('\n', end); next != std::string::npos; next = output.find('\n', end)) {
    std::optional<protocol::TraceFrame> frame = frame_of(std::string_view(output).substr(end, next - end));
    if (!frame.has_value()) {
      break;
    }
    frames.push_back(std::move(*frame));
    end = next + 1;
  }
  output.erase(start, end - start);
  std::erase_if(frames, is_ours);
  std::ranges::reverse(frames);
  return frames;
}

}  // namespace ridgeline::worker
