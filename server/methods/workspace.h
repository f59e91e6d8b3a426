// One session: its settings, its open documents as source, and what it was told about them.
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

#include "methods/entries.h"
#include "methods/settings.h"
#include "methods/snapshot.h"
#include "methods/source_view.h"
#include "session/session.h"

namespace ridgeline::methods {

/// Lives on the loop, as long as its session.
class Workspace {
 public:
  Workspace(session::Session& session, Entries& entries);
  /// The trees of ten thousand documents take half a second to go: on another thread.
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  session::Session& session() const { return session_; }
  const Settings& settings() const { return settings_; }

  void configure();
  /// Now, or once the client has told its settings: what runs before that would not be what the user wants.
  void when_configured(std::function<void()> action);
  void opened(const session::Document& document);
  void changed(const session::Document& document, std::span<const session::ByteEdit> edits);
  void closed(const session::Document& document);
  /// An entry's figures, staleness, failure or profile has changed: tells the client what follows from it.
  void entry_changed(const Entry& entry);
  /// A profile of the entry has begun or ended: what the code lens says is another thing now.
  void refresh_lenses();

  /// Of an open document; nothing when it is not open, or is no Python file on our side. Throws nothing.
  std::optional<Snapshot> snapshot(std::string_view uri) const;
  const SourceView* view(std::string_view uri) const;
  std::vector<protocol::Diagnostic> diagnostics_of(const Snapshot& snapshot) const;

  /// Texts of open documents below a folder; with `only_unsaved` those that differ from their files.
  std::vector<protocol::SourceText> open_texts(const std::string& folder, bool only_unsaved) const;
  /// Whether the client has to do with the entry: it has a file of its project open, or its folder.
  bool watches(const Entry& entry) const;

 private:
  void publish(std::string_view uri);
  /// When nobody has typed for a moment: the text is parsed in slices, between which others have their turn.
  void publish_later(const std::string& uri);
  void wait_and_publish(std::chrono::milliseconds pause);
  void publish_all();
  void refresh(bool supported, const char* method);

  session::Session& session_;
  Entries& entries_;
  Settings settings_;
  std::map<std::string, SourceView, std::less<>> views_;          ///< of open Python documents, by URI
  std::map<std::string, protocol::Json, std::less<>> published_;  ///< diagnostics as the client has them, by URI
  std::set<std::string> unpublished_;                             ///< URIs that wait for the timer
  boost::asio::steady_timer timer_;
  bool configured_ = false;
  std::vector<std::function<void()>> waiting_;  ///< for the settings
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ridgeline::methods
