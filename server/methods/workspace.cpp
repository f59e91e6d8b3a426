#include "methods/workspace.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "methods/answers_json.h"
#include "methods/diagnostics.h"
#include "profiling/source_text.h"

namespace ridgeline::methods {

namespace {

bool is_python(const session::Document& document) {
  return !document.path().empty() && (document.language_id() == "python" || document.path().ends_with(".py"));
}

bool is_inside(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

Workspace::Workspace(session::Session& session, Entries& entries)
    : session_(session), entries_(entries), timer_(session.loop()) {
  settings_.advice.fill(true);
}

Workspace::~Workspace() {
  entries_.let_go([views = std::make_shared<decltype(views_)>(std::move(views_))] {
    constexpr std::ptrdiff_t kAtOnce = 128;
    const auto count = std::min<std::ptrdiff_t>(kAtOnce, std::ssize(*views));
    views->erase(views->begin(), std::next(views->begin(), count));
    return !views->empty();
  });
}

void Workspace::configure() {
  std::vector<std::string> problems;
  settings_ = read_settings(session_.settings(), problems);
  for (const std::string& problem : problems) {
    session_.show(protocol::MessageType::kWarning, problem);
  }
  configured_ = true;
  for (const auto& action : std::exchange(waiting_, {})) {
    try {
      action();
    } catch (const std::exception& problem) {  // the others have waited, too
      session_.log(protocol::MessageType::kError,
                   std::string("what waited for the settings failed: ") + problem.what());
    }
  }
  publish_all();
  refresh(session_.capabilities().workspace.inlay_hint_refresh, "workspace/inlayHint/refresh");
}

void Workspace::when_configured(std::function<void()> action) {
  if (configured_ || !session_.capabilities().workspace.configuration) {
    action();
  } else {
    waiting_.push_back(std::move(action));
  }
}

void Workspace::opened(const session::Document& document) {
  if (!is_python(document)) {
    return;
  }
  views_.insert_or_assign(document.uri(), SourceView(document));
  const std::string& path = document.path();
  entries_.file_is(path, document.bytes());
  if (views_.at(document.uri()).entry_point().has_value()) {
    when_configured([this, path] {
      const profiling::ProfileRequest request = settings_.request(path);
      auto found = profiling::find_target(request);
      if (const auto* target = std::get_if<profiling::Target>(&found)) {
        entries_.load(request, *target);
      }
    });
  }
  publish(document.uri());
}

void Workspace::changed(const session::Document& document, std::span<const session::ByteEdit> edits) {
  const auto view = views_.find(document.uri());
  if (view == views_.end()) {
    return;
  }
  view->second.changed(edits);
  entries_.file_is(document.path(), document.bytes());
  publish_later(document.uri());
}

void Workspace::closed(const session::Document& document) {
  views_.erase(document.uri());
  if (published_.erase(document.uri()) > 0 && session_.running()) {
    session_.notify("textDocument/publishDiagnostics",
                    protocol::PublishDiagnosticsParams{document.uri(), std::nullopt, {}});
  }
  if (is_python(document)) {
    entries_.file_is(document.path(), profiling::text_of(document.path()));
  }
}

void Workspace::entry_changed(const Entry& entry) {
  if (!session_.running() || !watches(entry)) {
    return;
  }
  protocol::Json changed = changed_json(entry);
  changed["uri"] = session_.uri_of(entry.path);
  session_.notify("ridgeline/profileChanged", std::move(changed));
  publish_all();
  const auto& client = session_.capabilities().workspace;
  refresh(client.inlay_hint_refresh, "workspace/inlayHint/refresh");
  refresh(session_.capabilities().diagnostics.pull, "workspace/diagnostic/refresh");
  refresh_lenses();
}

void Workspace::refresh_lenses() {
  refresh(session_.capabilities().workspace.code_lens_refresh, "workspace/codeLens/refresh");
}

void Workspace::refresh(bool supported, const char* method) {
  if (supported && session_.running()) {
    session_.request(method, nullptr);
  }
}

std::optional<Snapshot> Workspace::snapshot(std::string_view uri) const {
  const SourceView* source = view(uri);
  if (source == nullptr) {
    return std::nullopt;
  }
  const session::Document& document = source->document();
  Snapshot snapshot{document, *source, settings_, session_.capabilities()};
  snapshot.own = entries_.find(document.path());
  snapshot.entry = entries_.for_file(document.path());
  if (const FileFigures* file = snapshot.file(); file != nullptr && file->text != nullptr) {
    snapshot.lines = &source->lines(*file->text);
  }
  return snapshot;
}

const SourceView* Workspace::view(std::string_view uri) const {
  const auto found = views_.find(uri);
  return found == views_.end() ? nullptr : &found->second;
}

std::vector<protocol::Diagnostic> Workspace::diagnostics_of(const Snapshot& snapshot) const {
  const Entry* failed = nullptr;
  for (const auto& [path, entry] : entries_.all()) {
    if (!entry.failed.has_value()) {
      continue;
    }
    const std::string place = place_of(entry).path;
    const bool shown_there = place == path || session_.documents().find_path(place) != nullptr;
    if (snapshot.document.path() == (shown_there ? place : path)) {
      failed = &entry;
      break;
    }
  }
  std::vector<protocol::Diagnostic> found = diagnostics(snapshot, failed);
  for (protocol::Diagnostic& diagnostic : found) {
    for (protocol::DiagnosticRelatedInformation& related : diagnostic.related_information) {
      if (related.location.uri.starts_with("/")) {
        related.location.uri = session_.uri_of(related.location.uri);
      }
    }
  }
  return found;
}

void Workspace::publish(std::string_view uri) {
  if (session_.capabilities().diagnostics.pull || !session_.running()) {
    return;
  }
  const std::optional<Snapshot> shown = snapshot(uri);
  if (!shown.has_value()) {
    return;
  }
  protocol::PublishDiagnosticsParams params{std::string(uri), std::nullopt, diagnostics_of(*shown)};
  if (session_.capabilities().diagnostics.version) {
    params.version = shown->document.version();
  }
  protocol::Json items = params.diagnostics;
  const auto before = published_.find(uri);
  if (before == published_.end() ? items.empty() : before->second == items) {
    return;
  }
  published_[std::string(uri)] = std::move(items);
  session_.notify("textDocument/publishDiagnostics", params);
}

void Workspace::publish_later(const std::string& uri) {
  constexpr std::chrono::milliseconds kPause{25};
  unpublished_.insert(uri);
  wait_and_publish(kPause);
}

void Workspace::wait_and_publish(std::chrono::milliseconds pause) {
  timer_.expires_after(pause);
  // An expired timer cannot be cancelled any more: its handler may run after the session's end.
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const auto& error) {
    if (error || alive.expired()) {
      return;
    }
    for (auto uri = unpublished_.begin(); uri != unpublished_.end();) {
      const auto view = views_.find(*uri);
      if (view != views_.end() && !view->second.catch_up()) {
        wait_and_publish(std::chrono::milliseconds(0));
        return;
      }
      publish(*uri);
      uri = unpublished_.erase(uri);
    }
  });
}

void Workspace::publish_all() {
  for (const auto& [uri, view] : views_) {
    publish(uri);
  }
}

std::vector<protocol::SourceText> Workspace::open_texts(const std::string& folder, bool only_unsaved) const {
  std::vector<protocol::SourceText> texts;
  std::size_t bytes = 0;
  for (const auto& [uri, view] : views_) {
    const session::Document& document = view.document();
    const std::string& path = document.path();
    const bool wanted = is_inside(path, folder) && document.in_sync();
    if (!wanted || (only_unsaved && profiling::text_of(path) == document.bytes())) {
      continue;
    }
    bytes += document.bytes().size();
    if (bytes > protocol::kMaxOverlayBytes) {
      break;
    }
    texts.push_back({path, document.bytes()});
  }
  return texts;
}

bool Workspace::watches(const Entry& entry) const {
  const auto inside = [&](const std::string& path) {
    return is_inside(path, entry.project_root) || path == entry.path;
  };
  for (const auto& [uri, view] : views_) {
    if (inside(view.document().path())) {
      return true;
    }
  }
  return std::ranges::any_of(session_.folders(), [&](const protocol::WorkspaceFolder& folder) {
    const auto path = session_.path_of(folder.uri);
    return path.has_value() && (inside(*path) || *path == entry.project_root || is_inside(entry.path, *path));
  });
}

}  // namespace ridgeline::methods
