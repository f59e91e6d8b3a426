#include "ingest/text_window.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "protocol/shown_text.h"

namespace ridgeline::ingest {

namespace {

constexpr std::size_t kWindowChunk = std::size_t{1} << 18U;
constexpr std::size_t kBefore = 64;  ///< held of what was passed
constexpr std::size_t kNear = 24;    ///< shown on either side

}  // namespace

TextWindow::TextWindow(ByteSource source) : source_(std::move(source)), buffer_(2 * kWindowChunk) {}

bool TextWindow::fill() {
  if (is_at_end_) {
    return false;
  }
  if (buffer_.size() - end_ < kWindowChunk) {
    const std::size_t gone = passed();
    const std::string_view text(buffer_.data(), gone);
    lines_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
    if (const std::size_t last = text.rfind('\n'); last != std::string_view::npos) {
      line_begin_ = base_ + last + 1;
    }
    std::memmove(buffer_.data(), buffer_.data() + gone, end_ - gone);
    base_ += gone;
    at_ -= gone;
    end_ -= gone;
    buffer_.resize(std::max(buffer_.size(), end_ + kWindowChunk));
  }
  const std::size_t count = source_(std::span(buffer_).subspan(end_));
  end_ += count;
  is_at_end_ = count == 0;
  return !is_at_end_;
}

std::size_t TextWindow::passed() {
  if (keeps() && position() - keep_ > kMostKept) {
    forget();
  }
  const std::size_t needed = keeps() ? static_cast<std::size_t>(keep_ - base_) : at_;
  return needed - std::min(needed, kBefore);
}

std::string TextWindow::place(std::uint64_t position) {
  while (base_ + end_ < position + kNear && fill()) {
  }
  if (position < base_) {
    return "at byte " + std::to_string(position);
  }
  const auto at = static_cast<std::size_t>(position - base_);
  const std::string_view before(buffer_.data(), std::min(at, end_));
  const std::size_t last = before.rfind('\n');
  const std::uint64_t line = lines_ + static_cast<std::uint64_t>(std::ranges::count(before, '\n'));
  const std::uint64_t begin = last == std::string_view::npos ? line_begin_ : base_ + last + 1;
  const std::size_t from = before.size() - std::min(before.size(), kNear);
  const std::string_view near(buffer_.data() + from, std::min(end_, at + kNear) - from);
  return "at byte " + std::to_string(position) + " (line " + std::to_string(line + 1) + ", column " +
         std::to_string(position - begin + 1) + ")" +
         (near.empty() ? "" : ", near \"" + protocol::printable(near) + "\"");
}

}  // namespace ridgeline::ingest
