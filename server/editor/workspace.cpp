#include "editor/workspace.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/profiling/unsaved_text.h"
#include "base/path.h"
#include "editor/answers_json.h"
#include "editor/diagnostics.h"
#include "editor/failure_frames.h"

namespace ridgeline::editor {

namespace {

constexpr std::size_t kMostViews = 2048;  ///< each keeps the tree of its text

bool is_python(const lsp::Document& document) {
  return !document.path().empty() && (document.language_id() == "python" || document.path().ends_with(".py"));
}

/// Commands that the client has itself, for lenses: {"commands": [...]} in its initializationOptions.
bool has_command(const protocol::Json& options, const char* name) {
  const auto commands = options.is_object() ? options.find("commands") : options.end();
  return commands != options.end() && commands->is_array() && std::ranges::find(*commands, name) != commands->end();
}

/// The text of the file that ran, as the editor had it open; null: it had not.
std::shared_ptr<const std::string> ran_text(const Entry& entry, const std::string& path) {
  const auto& sources = entry.failed->sources;
  const auto ran = std::ranges::find(*sources, path, &protocol::SourceText::path);
  return ran == sources->end() ? nullptr : std::shared_ptr<const std::string>(sources, &ran->text);
}

/// Entries::file_changed() with the text on disk, unless the session's client has opened the file by then.
base::Task<void> reread_file(Entries& entries, std::weak_ptr<lsp::Session> session, std::string path) {
  auto reading = entries.read_files([path] { return app::text_of(path); });
  const std::optional<std::string> text = co_await std::move(reading);
  const auto alive = session.lock();
  if (alive == nullptr || alive->documents().find_path(path) == nullptr) {
    entries.file_changed(path, text);
  }
}

}  // namespace

Workspace::Workspace(lsp::Session& session, Entries& entries, SourceThread& thread)
    : session_(session), entries_(entries), thread_(thread), timer_(session.loop()) {
  Settings settings;
  settings.advice.fill(true);
  settings_ = std::make_shared<const Settings>(std::move(settings));
}

Workspace::~Workspace() {
  views_.clear();
  thread_.add(session_.id(), [] {
    ::malloc_trim(0);  // glibc keeps freed blocks that others lie above
    return false;
  });
}

void Workspace::configure() {
  std::vector<std::string> problems;
  settings_ = std::make_shared<const Settings>(read_settings(session_.settings(), problems));
  for (const std::string& problem : problems) {
    session_.show(protocol::MessageType::kWarning, problem);
  }
  is_configured_ = true;
  for (const auto& resume : std::exchange(waiting_, {})) {
    resume(true);
  }
  publish_all();
  refresh(session_.capabilities().workspace.inlay_hint_refresh, "workspace/inlayHint/refresh");
}

base::Task<void> Workspace::configured() {
  if (!is_configured_ && session_.capabilities().workspace.configuration) {
    const auto wait = [this](std::function<void(bool)> resume) { waiting_.push_back(std::move(resume)); };
    auto task = base::callback<bool>(wait);
    co_await std::move(task);
  }
}

void Workspace::opened(const lsp::Document& document) {
  if (!is_python(document)) {
    return;
  }
  if (views_.size() >= kMostViews) {
    if (!std::exchange(has_refused_, true)) {
      session_.log(protocol::MessageType::kWarning,
                   fmt::format("{} Python files are open: others, such as {}, have no figures. Close some, and open it "
                               "again.",
                               kMostViews, document.uri()));
    }
    return;
  }
  const std::string& uri = document.uri();
  const auto on_view_news = [this, uri] { on_update(uri); };
  views_[uri] = std::make_unique<SourceView>(document, thread_, session_.id(), session_.loop(), on_view_news);
  entries_.file_changed(document.path(), document.bytes());
  when_ready({uri}, [this](const Snapshot* snapshot) {
    if (snapshot != nullptr && (snapshot->source->entry_point.has_value() || snapshot->source->script.has_value())) {
      base::start(session_.loop(), load_figures(snapshot->document.path()));
    }
  });
  publish(uri);
  move_failure(document);
}

base::Task<void> Workspace::load_figures(std::string path) {
  auto settings = configured();
  co_await std::move(settings);
  const app::ProfileRequest request = settings_->request(path);
  auto found = while_open(entries_.find_target(request));
  const auto target = co_await std::move(found);
  if (target) {
    entries_.load(request, *target);
  }
}

void Workspace::changed(const lsp::Document& document, std::span<const lsp::ByteEdit> edits) {
  const auto view = views_.find(document.uri());
  if (view == views_.end()) {
    return;
  }
  view->second->changed(edits);
  entries_.file_changed(document.path(), document.bytes());
  count_change(document.uri());
  publish_later(document.uri());
}

void Workspace::closed(const lsp::Document& document) {
  views_.erase(document.uri());
  unparsed_.erase(document.uri());
  on_update(document.uri());
  if (published_.erase(document.uri()) > 0 && session_.running()) {
    session_.notify("textDocument/publishDiagnostics",
                    protocol::PublishDiagnosticsParams{document.uri(), std::nullopt, {}});
  }
  if (is_python(document)) {
    reread(document.path());
    move_failure(document);
  }
}

void Workspace::move_failure(const lsp::Document& document) {
  if (failed_at(document) != nullptr) {
    for (const auto& [uri, view] : views_) {
      publish_later(uri);
    }
    refresh(session_.capabilities().diagnostics.pull, "workspace/diagnostic/refresh");
  }
}

void Workspace::reread(const std::string& path) {
  base::start(entries_.loop(), reread_file(entries_, session_.weak_from_this(), path));
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

void Workspace::phase_changed(const Entry& entry) {
  if (session_.running() && watches(entry)) {
    refresh_lenses();
  }
}

void Workspace::refresh_lenses() {
  refresh(session_.capabilities().workspace.code_lens_refresh, "workspace/codeLens/refresh");
}

void Workspace::refresh(bool supported, const char* method) {
  if (supported && session_.running()) {
    session_.request(method, nullptr);
  }
}

// ---- requests that wait for a text to be parsed

void Workspace::when_ready(Question question, Answer answer, std::function<void()> give_up) {
  const std::string uri = question.uri;
  waiting_for_text_[uri].push_back(
      std::make_shared<Waiting>(Waiting{std::move(question), std::move(answer), std::move(give_up)}));
  on_update(uri);
}

void Workspace::on_update(const std::string& uri) {
  const auto view = views_.find(uri);
  if (view != views_.end() && view->second->is_ready()) {
    report_unparsed(*view->second);
  }
  // An answer may make another request, close the document, or end the session.
  const auto alive = lifetime_.watch();
  const auto found_waiting = waiting_for_text_.find(uri);
  const auto waiting =
      found_waiting == waiting_for_text_.end() ? std::vector<std::shared_ptr<Waiting>>() : found_waiting->second;
  for (const auto& one : waiting) {
    const auto now = views_.find(uri);
    const std::optional<Snapshot> found = now != views_.end() ? snapshot(*now->second, one) : std::nullopt;
    if (now != views_.end() && !found.has_value()) {
      continue;
    }
    if (remove(one)) {
      one->answer(found.has_value() ? &*found : nullptr);
    }
    if (alive.expired()) {
      return;
    }
  }
}

void Workspace::count_change(const std::string& uri) {
  constexpr std::size_t kMaxChanges = 64;
  const auto alive = lifetime_.watch();
  std::vector<std::shared_ptr<Waiting>> given_up;
  const auto waiting = waiting_for_text_.find(uri);
  if (waiting == waiting_for_text_.end()) {
    return;
  }
  for (const auto& one : waiting->second) {
    one->call.reset();
    one->is_call_requested = false;
    if (++one->changes > kMaxChanges && one->give_up) {
      given_up.push_back(one);
    }
  }
  for (const auto& one : given_up) {
    if (alive.expired()) {
      return;
    }
    if (remove(one)) {
      one->give_up();
    }
  }
}

bool Workspace::remove(const std::shared_ptr<Waiting>& waiting) {
  const auto found = waiting_for_text_.find(waiting->question.uri);
  if (found == waiting_for_text_.end() || std::erase(found->second, waiting) == 0) {
    return false;
  }
  if (found->second.empty()) {
    waiting_for_text_.erase(found);
  }
  return true;
}

std::optional<Snapshot> Workspace::snapshot(SourceView& view, const std::shared_ptr<Waiting>& waiting) {
  if (!view.is_ready()) {
    return std::nullopt;
  }
  const lsp::Document& document = view.document();
  Snapshot snapshot{document, view.facts(), settings_, session_.capabilities()};
  snapshot.writes_entry_points = has_command(session_.client().options, "ridgeline.writeEntryPoint");
  snapshot.own = entries_.find(document.path());
  const std::string& entry = waiting->question.entry;
  snapshot.entry = entry.empty() ? entries_.for_file(document.path()) : entries_.find(entry);
  snapshot.failed = failed_at(document);
  if (snapshot.failed != nullptr) {
    snapshot.failed_file = file_of_failure(*snapshot.failed, session_.documents());
  }
  bool complete = true;
  if (const FileFigures* file = snapshot.file(); file != nullptr && file->text != nullptr) {
    snapshot.lines = view.lines({snapshot.entry->figures, file->text});
    complete = snapshot.lines != nullptr;
  }
  if (const auto ran = snapshot.failed != nullptr ? ran_text(*snapshot.failed, document.path()) : nullptr;
      ran != nullptr && *ran != document.bytes()) {
    snapshot.failed_lines = view.lines(ran);
    complete = complete && snapshot.failed_lines != nullptr;
  }
  complete = find_call(view, snapshot, waiting) && complete;
  return complete ? std::optional(std::move(snapshot)) : std::nullopt;
}

bool Workspace::find_call(SourceView& view, Snapshot& snapshot, const std::shared_ptr<Waiting>& waiting) {
  if (!waiting->question.position.has_value() || snapshot.file() == nullptr) {
    return true;
  }
  const auto offset = view.document().offset(*waiting->question.position);
  if (!offset.has_value()) {
    return true;
  }
  if (waiting->call.has_value()) {
    snapshot.call = *waiting->call;
    return true;
  }
  if (!std::exchange(waiting->is_call_requested, true)) {
    view.find_call(*offset, [this, waiting](std::optional<source::Call> call) {
      waiting->call = std::move(call);
      on_update(waiting->question.uri);
    });
  }
  return false;
}

std::shared_ptr<const Entry> Workspace::failed_at(const lsp::Document& document) const {
  for (const auto& [path, entry] : entries_.all()) {
    const std::vector<protocol::TraceFrame> frames = own_frames(*entry);
    if (entry->failed.has_value() &&
        (document.path() == file_of_failure(*entry, session_.documents()) ||
         std::ranges::find(frames, document.path(), &protocol::TraceFrame::file) != frames.end())) {
      return entry;
    }
  }
  return nullptr;
}

void Workspace::report_unparsed(const SourceView& view) {
  if (!session_.running()) {
    return;  // after `shutdown` nothing is sent
  }
  const std::string& uri = view.document().uri();
  if (view.facts()->parsed) {
    unparsed_.erase(uri);
  } else if (unparsed_.insert(uri).second) {
    session_.log(protocol::MessageType::kInfo, unparsed_message(view.document()));
  }
}

// ---- diagnostics

const SourceView* Workspace::view(std::string_view uri) const {
  const auto found = views_.find(uri);
  return found == views_.end() ? nullptr : found->second.get();
}

void Workspace::show_slow_line(const std::string& job, std::optional<SlowLine> slow) {
  slow_lines_.erase(job);
  if (slow.has_value()) {
    slow_lines_.emplace(job, std::move(*slow));
  }
  publish_all();
  refresh(session_.capabilities().diagnostics.pull, "workspace/diagnostic/refresh");
}

std::vector<protocol::Diagnostic> Workspace::diagnostics_of(const Snapshot& snapshot) const {
  std::vector<protocol::Diagnostic> found = diagnostics(snapshot);
  for (const auto& [job, slow] : slow_lines_) {
    add_slow_line(snapshot, slow, found);
  }
  for (protocol::Diagnostic& diagnostic : found) {
    for (protocol::DiagnosticRelatedInformation& related : diagnostic.related_information) {
      if (related.location.uri.starts_with("/")) {
        related.location.uri = session_.uri_of(related.location.uri);
      }
    }
  }
  return found;
}

void Workspace::publish(const std::string& uri) {
  if (session_.capabilities().diagnostics.pull || !session_.running() || !publishing_.insert(uri).second) {
    return;
  }
  when_ready({uri}, [this, uri](const Snapshot* snapshot) {
    publishing_.erase(uri);
    if (snapshot != nullptr && session_.running()) {
      publish_now(*snapshot);
    }
  });
}

void Workspace::publish_now(const Snapshot& snapshot) {
  const std::string& uri = snapshot.document.uri();
  protocol::PublishDiagnosticsParams params{uri, std::nullopt, diagnostics_of(snapshot)};
  if (session_.capabilities().diagnostics.version) {
    params.version = snapshot.document.version();
  }
  protocol::Json items = params.diagnostics;
  const auto before = published_.find(uri);
  if (before == published_.end() ? items.empty() : before->second == items) {
    return;
  }
  published_[uri] = std::move(items);
  session_.notify("textDocument/publishDiagnostics", params);
}

void Workspace::publish_later(const std::string& uri) {
  constexpr std::chrono::milliseconds kPause{25};
  unpublished_.insert(uri);
  timer_.expires_after(kPause);
  // An expired timer cannot be cancelled any more: its handler may run after the session's end.
  timer_.async_wait(lifetime_.guard([this](const auto& error) {
    if (error) {
      return;
    }
    for (const std::string& waiting : std::exchange(unpublished_, {})) {
      publish(waiting);
    }
  }));
}

void Workspace::publish_all() {
  std::vector<std::string> uris;
  for (const auto& [uri, view] : views_) {
    uris.push_back(uri);
  }
  for (const std::string& uri : uris) {
    publish(uri);
  }
}

std::vector<protocol::SourceText> Workspace::open_texts(const std::string& folder) const {
  std::vector<protocol::SourceText> texts;
  for (const auto& [uri, view] : views_) {
    const lsp::Document& document = view->document();
    if (base::is_below(document.path(), folder) && document.in_sync()) {
      texts.push_back({document.path(), document.bytes()});
    }
  }
  return texts;
}

bool Workspace::watches(const Entry& entry) const {
  const auto inside = [&](const std::string& path) {
    return base::is_below(path, entry.project_root) || path == entry.path;
  };
  for (const auto& [uri, view] : views_) {
    if (inside(view->document().path())) {
      return true;
    }
  }
  return std::ranges::any_of(session_.folders(), [&](const protocol::WorkspaceFolder& folder) {
    const auto path = session_.path_of(folder.uri);
    return path.has_value() && (inside(*path) || *path == entry.project_root || base::is_below(entry.path, *path));
  });
}

}  // namespace ridgeline::editor
