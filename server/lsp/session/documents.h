// The documents that a client has open, as the client sees them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/session/document_text.h"
#include "protocol/lsp.h"

namespace ridgeline::lsp {

struct AppliedChanges {
  std::vector<ByteEdit> edits;       ///< in their order
  std::optional<std::string> error;  ///< of the last change that is invalid
};

/// A value: a copy shares the text until one of the two changes, and is as cheap as the names. On the loop.
class Document {
 public:
  Document(protocol::TextDocumentItem item, std::string path, PositionEncoding encoding);

  const std::string& uri() const { return uri_; }    ///< as the client writes it
  const std::string& path() const { return path_; }  ///< on our side; empty when the document is no file
  const std::string& language_id() const { return language_id_; }
  int version() const { return version_; }
  PositionEncoding encoding() const { return encoding_; }

  const Text& text() const { return *text_; }
  const std::string& bytes() const { return text_->bytes(); }
  /// The client's text is what we have. False after an invalid change, until the client sends all of it.
  bool in_sync() const { return in_sync_; }

  protocol::Position position(std::size_t offset) const { return text_->position(offset, encoding_); }
  protocol::Range range(std::size_t begin, std::size_t end) const { return {position(begin), position(end)}; }
  /// Nothing when the position is inside a character.
  std::optional<std::size_t> offset(protocol::Position position) const { return text_->offset(position, encoding_); }

  /// Applies the changes in their order and takes the version. An invalid change puts the document out of sync; changes
  /// applied before it stay. Out of sync, changes of a part are skipped.
  AppliedChanges change(int version, std::span<const protocol::TextDocumentContentChange> changes);

 private:
  /// To change: no copy has it.
  Text& own_text();

  std::string uri_;
  std::string path_;
  std::string language_id_;
  int version_ = 0;
  PositionEncoding encoding_;
  std::shared_ptr<Text> text_;
  bool in_sync_ = true;
};

/// By URI, as the client writes it. A reference to a document holds until it is closed.
class Documents {
 public:
  /// Nothing when it is not open.
  const Document* find(std::string_view uri) const;
  /// By the path on our side.
  const Document* find_path(std::string_view path) const;
  auto begin() const { return documents_.begin(); }  ///< of pairs (URI, document)
  auto end() const { return documents_.end(); }
  std::size_t size() const { return documents_.size(); }

  /// Opened anew when it was open.
  const Document& open(Document document);
  Document* find_to_change(std::string_view uri);
  std::optional<Document> close(std::string_view uri);

 private:
  std::map<std::string, Document, std::less<>> documents_;
};

}  // namespace ridgeline::lsp
