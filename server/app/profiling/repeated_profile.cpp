#include "app/profiling/repeated_profile.h"

#include <utility>

#include "app/profiling/unsaved_text.h"
#include "source/entry_point.h"

namespace ridgeline::app {

ProfileRequest for_comparison(ProfileRequest request, const Target& target) {
  request.keep = false;
  auto text = text_of(target.entry);
  const auto tree = text ? source::SourceTree::parse(std::move(*text)) : std::nullopt;
  const auto entry_point = tree ? source::find_entry_point(*tree) : std::nullopt;
  if (entry_point && entry_point->batch_size.value && *entry_point->batch_size.value <= source::kMaxBatchSize) {
    request.batch_sizes = {static_cast<int>(*entry_point->batch_size.value)};
  }
  return request;
}

}  // namespace ridgeline::app
