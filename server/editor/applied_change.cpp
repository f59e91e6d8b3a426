#include "editor/applied_change.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace ridgeline::editor {

namespace {

bool others_are_equal(const Figures& before, const Figures& now, std::string_view path) {
  return std::ranges::all_of(now.sources(), [&](const protocol::SourceText& source) {
    const auto& known = before.sources();
    const auto was = std::ranges::find(known, source.path, &protocol::SourceText::path);
    return source.path == path || was == known.end() || was->text == source.text;
  });
}

analysis::SpeedUp speed_up(const analysis::Profile& before, const analysis::Profile& now) {
  const double samples = static_cast<double>(now.batch_size) / before.batch_size;
  const auto& was = before.iteration.ms;
  const auto& is = now.iteration.ms;
  return {samples * was.value / is.value, samples * was.low / is.high, samples * was.high / is.low};
}

}  // namespace

std::optional<AppliedChange> applied_change(const Figures& before, std::span<const WrittenChange> changes,
                                            const Figures& now, const std::string& path) {
  const FileFigures* const was = before.file(path);
  const FileFigures* const is = now.file(path);
  if (was == nullptr || is == nullptr || was->text == nullptr || is->text == nullptr ||
      before.profile().id == now.profile().id || before.profile().batch_size <= 0 ||
      !others_are_equal(before, now, path)) {
    return std::nullopt;
  }
  const auto found = std::ranges::find_if(changes, [&](const WrittenChange& change) {
    return !change.edits.empty() && source::edited(*was->text, change.edits) == *is->text;
  });
  if (found == changes.end()) {
    return std::nullopt;
  }
  return AppliedChange{found->answer, speed_up(before.profile(), now.profile())};
}

}  // namespace ridgeline::editor
