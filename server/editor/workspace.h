// One session: its settings, its open documents as Python source, and the diagnostics that were published.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/lifetime.h"
#include "base/task.h"
#include "editor/entries.h"
#include "editor/job_methods.h"
#include "editor/settings.h"
#include "editor/snapshot.h"
#include "editor/source_view.h"
#include "lsp/session/session.h"

namespace ridgeline::editor {

/// Lives on the loop, as long as its session.
class Workspace {
 public:
  /// `thread`: parses the open documents; outlives the workspace.
  Workspace(lsp::Session& session, Entries& entries, SourceThread& thread);
  /// Freeing the trees of ten thousand documents takes half a second: done on the thread.
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  lsp::Session& session() const { return session_; }
  const Settings& settings() const { return *settings_; }

  void configure();
  /// Completes once the client has sent its settings, which profiles need.
  base::Task<void> configured();
  /// The task's value; throws OwnerGone when the session has ended meanwhile.
  template <typename T>
  base::Task<T> while_open(base::Task<T> task) {
    return base::while_alive(lifetime_, std::move(task));
  }
  void opened(const lsp::Document& document);
  void changed(const lsp::Document& document, std::span<const lsp::ByteEdit> edits);
  void closed(const lsp::Document& document);
  /// A file has changed on disk: compares it with the figures, unless the client has it open.
  void reread(const std::string& path);
  /// An entry's figures, staleness, failure or profile has changed: notifies the client.
  void entry_changed(const Entry& entry);
  /// What a profile of the entry does has changed: its code lenses say so.
  void phase_changed(const Entry& entry);

  /// What a method needs of an open document.
  struct Question {
    std::string uri;
    std::string entry{};                           ///< whose figures are meant, by path; empty: those shown there
    std::optional<protocol::Position> position{};  ///< the call at this position is needed, too
  };
  /// `snapshot` is null when the document is not open, or not a Python file on this machine.
  using Answer = std::function<void(const Snapshot* snapshot)>;
  /// Calls `answer` with a snapshot: at once, or when the text has been parsed. Edits restart the parse: after many of
  /// them `give_up`, if set, is called instead.
  void when_ready(Question question, Answer answer, base::Callback give_up = {});
  /// The view of an open Python document; null: there is none.
  const SourceView* view(std::string_view uri) const;
  /// From now on the line has a diagnostic; nothing: no line of that job has.
  void show_slow_line(const std::string& job, std::optional<SlowLine> slow);
  std::vector<protocol::Diagnostic> diagnostics_of(const Snapshot& snapshot) const;

  /// Texts of the open documents below a folder.
  std::vector<protocol::SourceText> open_texts(const std::string& folder) const;
  /// Whether the client has a file of the entry's project, or its folder, open.
  bool watches(const Entry& entry) const;

 private:
  struct Waiting {
    Question question;
    Answer answer;
    base::Callback give_up;
    std::size_t changes = 0;                            ///< of the text, while it waits
    std::optional<std::optional<source::Call>> call{};  ///< once known; of the present text
    bool is_call_requested = false;
  };

  base::Task<void> load_figures(std::string path);
  /// Nothing when the view, or what the question needs of it, is not there yet; it has been requested.
  std::optional<Snapshot> snapshot(SourceView& view, const std::shared_ptr<Waiting>& waiting);
  bool find_call(SourceView& view, Snapshot& snapshot, const std::shared_ptr<Waiting>& waiting);
  /// Which file has the error of a failure depends on which are open.
  void move_failure(const lsp::Document& document);
  std::shared_ptr<const Entry> failed_at(const lsp::Document& document) const;
  void on_update(const std::string& uri);
  void report_unparsed(const SourceView& view);
  void count_change(const std::string& uri);
  /// False when it is not waiting any more.
  bool remove(const std::shared_ptr<Waiting>& waiting);

  void refresh_lenses();
  void publish(const std::string& uri);
  void publish_now(const Snapshot& snapshot);
  /// After a pause in the typing.
  void publish_later(const std::string& uri);
  void publish_all();
  void refresh(bool supported, const char* method);

  lsp::Session& session_;
  Entries& entries_;
  std::shared_ptr<const Settings> settings_;
  SourceThread& thread_;
  std::map<std::string, std::unique_ptr<SourceView>, std::less<>> views_;          ///< of open Python documents, by URI
  std::map<std::string, std::vector<std::shared_ptr<Waiting>>> waiting_for_text_;  ///< by URI, in their order
  std::set<std::string> publishing_;                              ///< URIs that wait there for publish_now()
  std::set<std::string> unparsed_;                                ///< URIs that were reported as unparsed
  std::map<std::string, protocol::Json, std::less<>> published_;  ///< diagnostics that the client has, by URI
  std::set<std::string> unpublished_;                             ///< URIs that wait for the timer
  std::map<std::string, SlowLine> slow_lines_;                    ///< by the file of the job
  boost::asio::steady_timer timer_;
  bool is_configured_ = false;
  bool has_refused_ = false;                        ///< a document beyond those that can have figures
  std::vector<std::function<void(bool)>> waiting_;  ///< for the settings
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::editor
