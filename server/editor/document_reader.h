// The Python source of an open document, parsed on the source thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "editor/source_thread.h"
#include "source/calls.h"
#include "source/definitions.h"
#include "source/entry_point.h"
#include "source/script_batch_size.h"
#include "source/source_tree.h"

namespace ridgeline::editor {

/// What is known of one version of a text. Immutable.
struct SourceFacts {
  std::uint64_t version = 0;  ///< counts the changes of the text since it was opened, not as the client does
  bool parsed = false;        ///< false: too large, or the parser gave up; the providers are still searched for
  /// Nothing when the file has no provider.
  std::optional<source::EntryPoint> entry_point;
  std::vector<source::Definition> definitions;
  /// The statement that starts the training in a file without providers that trains when it is run.
  std::optional<source::Span> script{};
  std::optional<source::ScriptBatchSize> script_batch_size{};  ///< of such a file
};

/// Lines of one text in another, both ways; from 0.
struct LineView {
  std::vector<std::optional<std::size_t>> current;   ///< by line of the profiled text
  std::vector<std::optional<std::size_t>> profiled;  ///< by line of the current text
};
LineView make_line_view(std::string_view profiled, std::string_view current);

/// The tree of one document. Its owner calls the public functions on the loop; everything else happens on the source
/// thread, including the calls of `on_facts` and the destruction of the tree.
class DocumentReader : public std::enable_shared_from_this<DocumentReader> {
 public:
  using OnFacts = std::function<void(std::shared_ptr<const SourceFacts>)>;
  using OnCall = std::function<void(std::optional<source::Call>)>;
  DocumentReader(SourceThread& thread, SourceThread::Group group, OnFacts on_facts);

  /// The text is, or has become, `text`.
  void replace(std::uint64_t version, std::string text);
  /// The text is too large to be parsed.
  void drop(std::uint64_t version);
  /// One place of it was changed.
  void edit(std::uint64_t version, source::TextEdit edit);
  /// Stops reading.
  void close();

  // About a version whose facts have arrived; not called back when the text has changed since.
  void find_call(std::uint64_t version, std::size_t offset, OnCall on_call);
  void find_lines(std::uint64_t version, std::shared_ptr<const std::string> profiled,
                  std::function<void(LineView)> on_lines);

 private:
  struct Change {
    std::uint64_t version = 0;
    std::variant<std::monostate, std::string, source::TextEdit> what;  ///< nothing: the text is too large
  };

  void add(Change change);
  bool read_slice();
  bool parse_slice();
  void make_changes();
  void make_change(Change change);
  void parse_from_scratch(std::string text);
  SourceFacts facts() const;

  SourceThread& thread_;
  const SourceThread::Group group_;
  const OnFacts on_facts_;
  std::atomic<bool> closed_ = false;
  std::mutex mutex_;
  std::vector<Change> changes_;  ///< under mutex_: to be applied
  bool reading_ = false;         ///< under mutex_: read_slice() will be called

  // On the thread:
  std::uint64_t version_ = 0;
  std::optional<source::SourceTree> tree_;  ///< nothing: the text is too large
};

}  // namespace ridgeline::editor
