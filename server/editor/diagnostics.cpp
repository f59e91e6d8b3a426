#include "editor/diagnostics.h"

#include <algorithm>
#include <utility>

#include "analysis/advice.h"
#include "base/path.h"
#include "editor/batch_size_method.h"
#include "editor/failure_frames.h"
#include "editor/mistakes.h"
#include "report/labels.h"
#include "report/observation_text.h"
#include "report/out_of_memory_text.h"

namespace ridgeline::editor {

namespace {

using protocol::Diagnostic;
using protocol::DiagnosticSeverity;

constexpr const char* kSource = "ridgeline";

/// Above the code where there is nothing better: the first provider's name, or the first line.
protocol::Range entry_range(const Snapshot& snapshot) {
  const auto& entry_point = snapshot.source->entry_point;
  for (std::size_t i = 0; entry_point.has_value() && i < source::kProviderKinds; ++i) {
    if (const auto& provider = entry_point->providers[i]) {
      return snapshot.range(provider->name_span);
    }
  }
  return snapshot.line_range(0);
}

/// The line of the text that ran, where it is now.
std::optional<std::size_t> line_now(const Snapshot& snapshot, int line) {
  const auto index = static_cast<std::size_t>(line - 1);
  if (snapshot.failed_lines == nullptr) {
    return index;
  }
  const auto& map = snapshot.failed_lines->current;
  return index < map.size() ? map[index] : std::nullopt;
}

/// "blocks.py:37 ← unet.py:24: ": where the failure is and who called that, up to the frame that called frames[called].
std::string way_to(const std::vector<protocol::TraceFrame>& frames, std::size_t called) {
  constexpr std::size_t kMostPlaces = 4;
  std::string way;
  std::size_t places = 0;
  for (std::size_t i = frames.size(); i-- > called && places < kMostPlaces; ++places) {
    way += (way.empty() ? "" : " ← ") + std::string(base::file_name(frames[i].file)) + ":" +
           std::to_string(frames[i].line);
  }
  return frames.size() - called > kMostPlaces ? way + " ← …: " : way + ": ";
}

/// The frames but for the one that is shown, if any; none for a client that cannot show them.
std::vector<protocol::DiagnosticRelatedInformation> other_frames(const Snapshot& snapshot,
                                                                 const std::vector<protocol::TraceFrame>& frames,
                                                                 const protocol::TraceFrame* shown) {
  std::vector<protocol::DiagnosticRelatedInformation> related;
  for (const protocol::TraceFrame& frame : frames) {
    if (snapshot.client.diagnostics.related_information && &frame != shown) {
      const auto line = static_cast<std::uint32_t>(frame.line - 1);
      related.push_back(
          {{frame.file, {{line, 0}, {line + 1, 0}}}, frame.function.empty() ? "called here" : "in " + frame.function});
    }
  }
  return related;
}

/// At the innermost own frame in the file that shows the failure; a hint at each other frame in this document.
void add_failure(const Snapshot& snapshot, const Entry& entry, std::vector<Diagnostic>& diagnostics) {
  const protocol::Failure& failure = *entry.failed;
  const std::vector<protocol::TraceFrame> frames = own_frames(entry);
  const bool shows_it = snapshot.document.path() == snapshot.failed_file;
  Diagnostic shown;
  shown.severity = static_cast<DiagnosticSeverity>(protocol::info_of(failure.kind).severity);
  shown.code = protocol::name_of(failure.kind);
  shown.source = kSource;
  shown.data = {{"stage", failure.stage}};
  bool is_innermost_here = true;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (frames[i].file != snapshot.document.path()) {
      continue;
    }
    const bool is_error = std::exchange(is_innermost_here, false) && shows_it;
    const auto line = line_now(snapshot, frames[i].line);
    if (!line.has_value()) {
      if (is_error) {
        return;  // the line was changed since: it may be fixed
      }
      continue;
    }
    Diagnostic diagnostic = shown;
    diagnostic.range = snapshot.line_range(*line);
    diagnostic.severity = is_error ? shown.severity : DiagnosticSeverity::kHint;
    diagnostic.message = (i + 1 < frames.size() ? way_to(frames, i + 1) : "") + failure.message;
    diagnostic.related_information = other_frames(snapshot, frames, &frames[i]);
    diagnostics.push_back(std::move(diagnostic));
  }
  if (is_innermost_here) {
    shown.range = entry_range(snapshot);
    shown.message = (frames.empty() ? "" : way_to(frames, 0)) + failure.message;
    shown.related_information = other_frames(snapshot, frames, nullptr);
    diagnostics.push_back(std::move(shown));
  }
}

DiagnosticSeverity severity_of(analysis::AdviceKind kind) {
  switch (kind) {
    case analysis::AdviceKind::kWillNotFit:
    case analysis::AdviceKind::kInputStarves:
    case analysis::AdviceKind::kGradientNeverUsed:
      return DiagnosticSeverity::kWarning;
    default:
      return DiagnosticSeverity::kInformation;
  }
}

/// The range of a profiled line; absent where it is in another file, or was changed.
std::optional<protocol::Range> range_of_line(const Snapshot& snapshot, const Figures& figures,
                                             const analysis::Location& location) {
  const auto line =
      figures.path_of(location) == snapshot.document.path() ? snapshot.current_line(location.line) : std::nullopt;
  return line.has_value() ? std::optional(snapshot.line_range(*line)) : std::nullopt;
}

std::optional<protocol::Range> range_of(const Snapshot& snapshot, const Figures& figures,
                                        const analysis::Advice& advice) {
  if (advice.location.file.empty()) {
    const auto size = written_batch_size(*snapshot.source, snapshot.own.get());
    return snapshot.document.path() == figures.profile().entry_path && size.has_value() && size->can_be_edited()
               ? std::optional(snapshot.range(size->literal))
               : std::nullopt;
  }
  return range_of_line(snapshot, figures, advice.location);
}

bool is_wanted(const Snapshot& snapshot, analysis::AdviceKind kind) {
  return snapshot.settings->advice[static_cast<std::size_t>(kind)];
}

Diagnostic advised(const protocol::Range& range, analysis::AdviceKind kind, std::string message) {
  Diagnostic diagnostic;
  diagnostic.range = range;
  diagnostic.severity = severity_of(kind);
  diagnostic.code = analysis::kAdviceCodes[static_cast<std::size_t>(kind)];
  diagnostic.source = kSource;
  diagnostic.message = std::move(message);
  return diagnostic;
}

/// Those observations that are about a line and say what to do: others are advice of their own.
void add_observations(const Snapshot& snapshot, std::vector<Diagnostic>& diagnostics) {
  constexpr auto kKind = analysis::AdviceKind::kLittleArithmetic;
  const Figures* figures = snapshot.figures();
  if (figures == nullptr || snapshot.entry->is_stale() || !is_wanted(snapshot, kKind)) {
    return;
  }
  for (const report::LineObservation& one : report::line_observations(figures->profile(), figures->outlook())) {
    if (const auto range = range_of_line(snapshot, *figures, one.location)) {
      diagnostics.push_back(advised(*range, kKind, one.sentence));
    }
  }
}

void add_advice(const Snapshot& snapshot, std::vector<Diagnostic>& diagnostics) {
  const Figures* figures = snapshot.figures();
  if (figures == nullptr) {
    return;
  }
  const bool is_entry = snapshot.document.path() == figures->profile().entry_path;
  const int batch_size = (is_entry ? batch_size_in_code(*snapshot.source, snapshot.own.get()) : std::nullopt)
                             .value_or(figures->profile().batch_size);
  const bool stale = snapshot.entry->is_stale();
  for (const analysis::Advice& advice : analysis::advise(figures->profile(), figures->predictor(), batch_size)) {
    const bool of_models = advice.location.file.empty();
    const auto range = range_of(snapshot, *figures, advice);
    // What another batch size brings holds while it is being edited; what a line costs does not once code changed.
    if (range.has_value() && is_wanted(snapshot, advice.kind) && (!stale || of_models)) {
      diagnostics.push_back(advised(*range, advice.kind, report::advice_text(advice, figures->profile())));
    }
  }
}

/// Where a step of the user's batch size ran out of memory, which the profile of a smaller one has: at the line that
/// asked for more.
void add_out_of_memory(const Snapshot& snapshot, std::vector<Diagnostic>& diagnostics) {
  const Figures* figures = snapshot.figures();
  if (figures == nullptr || snapshot.entry->is_stale() || !figures->profile().out_of_memory.has_value()) {
    return;
  }
  const analysis::OutOfMemoryError& found = *figures->profile().out_of_memory;
  const bool is_entry = snapshot.document.path() == figures->profile().entry_path;
  auto range = range_of_line(snapshot, *figures, found.location);
  if (found.location.file.empty() && is_entry) {
    range = entry_range(snapshot);
  }
  if (!range.has_value()) {
    return;
  }
  Diagnostic diagnostic;
  diagnostic.range = *range;
  diagnostic.severity = DiagnosticSeverity::kWarning;
  diagnostic.code = protocol::name_of(protocol::FailureKind::kOutOfMemory);
  diagnostic.source = kSource;
  for (const report::Item& note : report::out_of_memory_notes(found)) {
    diagnostic.message += (diagnostic.message.empty() ? "" : "\n") + note.value;
  }
  diagnostics.push_back(std::move(diagnostic));
}

/// Only where something of ours is missing because of it.
void add_unparsed(const Snapshot& snapshot, std::vector<Diagnostic>& diagnostics) {
  if (snapshot.source->parsed ||
      (!snapshot.source->entry_point.has_value() && snapshot.file() == nullptr && snapshot.own == nullptr)) {
    return;
  }
  Diagnostic diagnostic;
  diagnostic.range = entry_range(snapshot);
  diagnostic.severity = DiagnosticSeverity::kInformation;
  diagnostic.code = "source-not-parsed";
  diagnostic.source = kSource;
  diagnostic.message = unparsed_message(snapshot.document);
  diagnostics.push_back(std::move(diagnostic));
}

}  // namespace

std::string unparsed_message(const lsp::Document& document) {
  const std::string name(base::file_name(document.path()));
  if (document.bytes().size() > source::kMaxTextBytes) {
    return name + " is larger than " + std::to_string(source::kMaxTextBytes >> 20) +
           " MiB. It is not parsed, and shows no figures.";
  }
  return name +
         " could not be parsed: it took too long. Look for a bracket or a quote that is not closed. Until then, hovers "
         "on "
         "functions and classes show no figures; profiling, the figures on lines and the batch size still work.";
}

std::vector<Diagnostic> diagnostics(const Snapshot& snapshot) {
  const auto& failed = snapshot.failed;
  std::vector<Diagnostic> diagnostics;
  add_mistakes(snapshot, diagnostics);
  add_unparsed(snapshot, diagnostics);
  // A mistake that the text shows is reported above, even if the run found it too.
  const auto is_same = [&](const Diagnostic& diagnostic) {
    return diagnostic.code == protocol::name_of(failed->failed->kind);
  };
  if (failed != nullptr && failed->failed.has_value() && std::ranges::none_of(diagnostics, is_same)) {
    add_failure(snapshot, *failed, diagnostics);
  }
  add_out_of_memory(snapshot, diagnostics);
  add_advice(snapshot, diagnostics);
  add_observations(snapshot, diagnostics);
  return diagnostics;
}

}  // namespace ridgeline::editor
