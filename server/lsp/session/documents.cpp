#include "lsp/session/documents.h"

#include <algorithm>
#include <utility>

namespace ridgeline::lsp {

Document::Document(protocol::TextDocumentItem item, std::string path, PositionEncoding encoding)
    : uri_(std::move(item.uri)),
      path_(std::move(path)),
      language_id_(std::move(item.language_id)),
      version_(item.version),
      encoding_(encoding),
      text_(std::make_shared<Text>(std::move(item.text))) {}

Text& Document::own_text() {
  if (text_.use_count() > 1) {
    text_ = std::make_shared<Text>(*text_);
  }
  return *text_;
}

AppliedChanges Document::change(int version, std::span<const protocol::TextDocumentContentChange> changes) {
  version_ = version;
  AppliedChanges applied;
  for (const protocol::TextDocumentContentChange& change : changes) {
    if (!change.range.has_value()) {
      applied.edits.push_back(own_text().replace(0, bytes().size(), change.text));
      in_sync_ = true;
      continue;
    }
    if (!in_sync_) {
      continue;
    }
    const std::optional<std::size_t> begin = offset(change.range->start);
    const std::optional<std::size_t> end = offset(change.range->end);
    if (!begin.has_value() || !end.has_value() || *begin > *end) {
      in_sync_ = false;
      applied.error = begin.has_value() && end.has_value() ? "a change ends before it begins"
                                                           : "a change begins or ends inside a character";
      continue;
    }
    applied.edits.push_back(own_text().replace(*begin, *end, change.text));
  }
  return applied;
}

const Document* Documents::find(std::string_view uri) const {
  const auto found = documents_.find(uri);
  return found == documents_.end() ? nullptr : &found->second;
}

const Document* Documents::find_path(std::string_view path) const {
  const auto found = std::find_if(documents_.begin(), documents_.end(),
                                  [&](const auto& entry) { return !path.empty() && entry.second.path() == path; });
  return found == documents_.end() ? nullptr : &found->second;
}

const Document& Documents::open(Document document) {
  std::string uri = document.uri();
  return documents_.insert_or_assign(std::move(uri), std::move(document)).first->second;
}

Document* Documents::find_to_change(std::string_view uri) {
  const auto found = documents_.find(uri);
  return found == documents_.end() ? nullptr : &found->second;
}

std::optional<Document> Documents::close(std::string_view uri) {
  const auto found = documents_.find(uri);
  if (found == documents_.end()) {
    return std::nullopt;
  }
  Document closed = std::move(found->second);
  documents_.erase(found);
  return closed;
}

}  // namespace ridgeline::lsp
