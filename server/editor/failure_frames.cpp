#include "editor/failure_frames.h"

#include <algorithm>

namespace ridgeline::editor {

namespace {

using protocol::TraceFrame;

bool is_own(const Entry& entry, const TraceFrame& frame) {
  return frame.line > 0 && (frame.file == entry.path || (frame.file.starts_with(entry.project_root + "/") &&
                                                         frame.file.find("/site-packages/") == std::string::npos));
}

}  // namespace

std::vector<TraceFrame> own_frames(const Entry& entry) {
  std::vector<TraceFrame> frames;
  if (!entry.failed.has_value()) {
    return frames;
  }
  const std::vector<TraceFrame>& all = entry.failed->frames;
  for (auto frame = all.rbegin(); frame != all.rend(); ++frame) {
    const auto is_same = [&](const TraceFrame& other) {
      return other.file == frame->file && other.line == frame->line;
    };
    if (is_own(entry, *frame) && std::ranges::none_of(frames, is_same)) {
      frames.push_back(*frame);
    }
  }
  std::ranges::reverse(frames);
  return frames;
}

std::string file_of_failure(const Entry& entry, const lsp::Documents& documents) {
  const std::vector<TraceFrame> frames = own_frames(entry);
  const auto open = std::find_if(frames.rbegin(), frames.rend(),
                                 [&](const TraceFrame& frame) { return documents.find_path(frame.file) != nullptr; });
  return open == frames.rend() ? entry.path : open->file;
}

}  // namespace ridgeline::editor
