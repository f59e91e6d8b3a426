#include "editor/source_view.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace ridgeline::editor {

namespace asio = boost::asio;

SourceView::SourceView(const lsp::Document& document, SourceThread& thread, SourceThread::Group group,
                       asio::io_context& loop, std::function<void()> on_update)
    : document_(&document), loop_(loop), on_update_(std::move(on_update)) {
  const auto taken = lifetime_.guard([this](std::shared_ptr<const SourceFacts> facts) { take(std::move(facts)); });
  const auto on_facts = [&loop, taken](std::shared_ptr<const SourceFacts> facts) {
    asio::post(loop, [taken, facts = std::move(facts)]() mutable { taken(std::move(facts)); });
  };
  reader_ = std::make_shared<DocumentReader>(thread, group, on_facts);
  version_ = 1;
  send_text();
}

SourceView::~SourceView() { reader_->close(); }

void SourceView::send_text() {
  too_large_ = document_->bytes().size() > source::kMaxTextBytes;
  if (too_large_) {
    reader_->drop(version_);
  } else {
    reader_->replace(version_, document_->bytes());
  }
}

void SourceView::changed(std::span<const lsp::ByteEdit> edits) {
  if (edits.empty()) {
    return;  // the changes were not valid, and the text is unchanged
  }
  ++version_;
  lines_.clear();
  if (edits.size() != 1 || too_large_ || document_->bytes().size() > source::kMaxTextBytes) {
    send_text();
    return;
  }
  const lsp::ByteEdit& edit = edits.front();
  reader_->edit(version_,
                {{edit.begin, edit.old_end}, document_->bytes().substr(edit.begin, edit.new_end - edit.begin)});
}

void SourceView::take(std::shared_ptr<const SourceFacts> facts) {
  facts_ = std::move(facts);
  if (is_ready()) {
    on_update_();
  }
}

std::shared_ptr<const LineView> SourceView::lines(const std::shared_ptr<const std::string>& profiled) {
  const auto known = std::ranges::find(lines_, profiled, &Lines::profiled);
  if (known != lines_.end()) {
    return known->view;
  }
  constexpr std::size_t kMaxTexts = 8;
  if (lines_.size() >= kMaxTexts) {
    lines_.erase(lines_.begin());
  }
  lines_.push_back({profiled, nullptr});
  const auto found = lifetime_.guard([this, profiled, version = version_](LineView view) {
    if (version != version_) {
      return;
    }
    const auto asked = std::ranges::find(lines_, profiled, &Lines::profiled);
    if (asked != lines_.end()) {
      asked->view = std::make_shared<const LineView>(std::move(view));
    }
    on_update_();
  });
  reader_->find_lines(version_, profiled, [&loop = loop_, found](LineView view) {
    asio::post(loop, [found, view = std::move(view)]() mutable { found(std::move(view)); });
  });
  return nullptr;
}

void SourceView::find_call(std::size_t offset, std::function<void(std::optional<source::Call>)> answer) {
  const auto found =
      lifetime_.guard([this, version = version_, answer = std::move(answer)](std::optional<source::Call> call) {
        if (version == version_) {
          answer(std::move(call));
        }
      });
  reader_->find_call(version_, offset, [&loop = loop_, found](std::optional<source::Call> call) {
    asio::post(loop, [found, call = std::move(call)]() mutable { found(std::move(call)); });
  });
}

}  // namespace ridgeline::editor
