// An open document as Python source: its providers, its symbols, and the current places of profiled lines.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/lifetime.h"
#include "editor/document_reader.h"
#include "lsp/session/documents.h"

namespace ridgeline::editor {

/// Follows one open document, whose owner calls changed(). Lives on the loop, which only hands
/// changes to the source thread: the facts arrive later, and is_ready() is false until then.
class SourceView {
 public:
  /// `on_update`: called on the loop when facts, or requested lines, have arrived.
  SourceView(const lsp::Document& document, SourceThread& thread, SourceThread::Group group,
             boost::asio::io_context& loop, base::Callback on_update);
  ~SourceView();
  SourceView(const SourceView&) = delete;
  SourceView& operator=(const SourceView&) = delete;

  void changed(std::span<const lsp::ByteEdit> edits);

  const lsp::Document& document() const { return *document_; }
  /// Whether the facts are of the text as it is now.
  bool is_ready() const { return facts_->version == version_; }
  /// The last that were read; is_ready() says whether they are of the present text.
  const std::shared_ptr<const SourceFacts>& facts() const { return facts_; }

  /// The current places of the lines of a text that ran; null: requested, `on_update` follows. The view has to be
  /// ready.
  std::shared_ptr<const LineView> lines(const std::shared_ptr<const std::string>& profiled);
  /// What is called at a byte of the text; `answer` is not called when the text changes before.
  void find_call(std::size_t offset, DocumentReader::OnCall answer);

 private:
  struct Lines {
    std::shared_ptr<const std::string> profiled;
    std::shared_ptr<const LineView> view;  ///< null: asked for
  };

  void send_text();
  void take(std::shared_ptr<const SourceFacts> facts);

  const lsp::Document* document_;
  boost::asio::io_context& loop_;
  base::Callback on_update_;
  std::uint64_t version_ = 0;
  bool too_large_ = false;
  std::shared_ptr<const SourceFacts> facts_ = std::make_shared<const SourceFacts>();
  std::vector<Lines> lines_;  ///< of this version; a file's figures and its failure have a text each
  std::shared_ptr<DocumentReader> reader_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::editor
