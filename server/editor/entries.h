// The state of every entry file: its figures, its failure, and its running profile. Shared by all sessions.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/comparison.h"
#include "app/profiling/profile_queue.h"
#include "app/profiling/request.h"
#include "base/lifetime.h"
#include "base/result.h"
#include "base/task.h"
#include "editor/consent.h"
#include "editor/figures.h"
#include "worker/process.h"

namespace ridgeline::editor {

/// Why the last run failed, and the texts that ran, of files that an editor had open.
struct FailedRun : app::RunFailure {
  std::shared_ptr<const std::vector<protocol::SourceText>> sources;
};

/// The trial of the batch size in the code, in the background.
struct TrialState {
  int batch_size = 0;
  std::optional<app::ProfileQueue::Ticket> active;  ///< queued or running
  std::string message;  ///< progress, or why the batch size stays predicted: "batch size 96 is being tried"
};

/// A value of one moment: Entries puts another in its place when something changes.
struct Entry {
  std::string path;  ///< real
  std::string project_root;
  std::shared_ptr<const Figures> figures;  ///< of the last good profile; null: there is none
  std::set<std::string> changed;           ///< files behind the figures that are not what ran; see batch_size_changed
  bool batch_size_changed = false;         ///< of the entry file, nothing but the batch size is not what ran
  std::optional<FailedRun> failed;         ///< the last run, if it failed; the figures before it stay
  std::string change;                      ///< from the figures before: report::change_label()
  /// With the figures before; null: there were none, or they were of another batch size.
  std::shared_ptr<const analysis::Comparison> comparison;
  bool profiled_here = false;  ///< the user requested a profile in this process: a save may profile it, too
  /// How the file was run as a script when its profile was requested last; null: it was profiled as an entry point.
  std::shared_ptr<const app::ScriptRequest> script;
  std::optional<app::ProfileQueue::Ticket> active;  ///< the profile that is queued or running
  protocol::Progress progress;                      ///< of it
  /// What there was before the first figures of that profile replaced it; null: they have not.
  std::shared_ptr<const Entry> before_first;
  std::optional<TrialState> trial;  ///< nothing: neither running nor explained
  int trials = 0;                   ///< with a result, since the process started: tells figures with the same id apart
  std::string not_profiled;         ///< why the last save was not profiled, without its last full stop; mostly empty

  /// The figures are from an older version of the code. They are where only its batch size is another one: what it
  /// would bring is predicted.
  bool is_stale() const { return !changed.empty() || failed.has_value(); }
  /// Why: "from before train.py was changed"; empty when they are not.
  std::string stale_reason() const;
  /// How the own time of the line at `now`, a place in these figures, changed since the last ones; null: not known.
  const analysis::TimeChange* change_of(const analysis::Location& now) const;
};

/// The entry with its new figures, or the failure.
using ProfileEnd = base::Result<std::shared_ptr<const Entry>, app::RunFailure>;

class EntriesListener {
 public:
  virtual ~EntriesListener() = default;
  /// An entry's figures, staleness or failure has changed.
  virtual void entry_changed(const Entry& entry) = 0;
  /// An entry's profile says that it does something else.
  virtual void phase_changed(const Entry& entry) = 0;
};

/// Lives on the loop. Profiles of one project run one after the other; those of several projects at once, which makes
/// their times less certain, so they share one queue, too.
class Entries {
 public:
  /// The listener outlives the entries.
  Entries(boost::asio::io_context& loop, EntriesListener& listener);
  ~Entries();
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;

  /// Null: there is no such entry.
  std::shared_ptr<const Entry> find(std::string_view path) const;
  /// All entries, by path.
  const std::map<std::string, std::shared_ptr<const Entry>, std::less<>>& all() const { return entries_; }
  /// The entry whose figures are shown in a file: the file itself, else the one whose figures are the newest there.
  std::shared_ptr<const Entry> for_file(std::string_view path) const;
  /// By the profile's id, also of an entry whose figures are stale; null: the profile is gone.
  std::shared_ptr<const Entry> by_profile(std::string_view id) const;

  /// Profiles an entry in place of a queued or running profile of it. Consent is checked once more when its turn comes:
  /// without it, the profile fails as "not-trusted". `editor_vouches`: see Consent. Continues when the awaiting task is
  /// destroyed.
  base::Task<ProfileEnd> profile(app::ProfileRequest request, app::Target target, bool editor_vouches,
                                 std::vector<protocol::SourceText> open_texts, protocol::ProgressHandler progress);
  /// Runs a training script as it is, under the same conditions. What it writes goes to `output`.
  base::Task<ProfileEnd> run_script(app::ScriptRequest request, app::Target target, bool editor_vouches,
                                    std::vector<protocol::SourceText> open_texts, protocol::ProgressHandler progress,
                                    protocol::OutputHandler output);
  /// Runs an experiment on an entry, which runs as `script` says where that is not null. Consent is checked as for a
  /// profile. `ticket`: of new_ticket(), for cancel_experiment().
  base::Task<app::ExperimentOutcome> experiment(app::ProfileQueue::Ticket ticket, app::ProfileRequest request,
                                                std::shared_ptr<const app::ScriptRequest> script, app::Target target,
                                                bool editor_vouches, protocol::Experiment experiment,
                                                protocol::ProgressHandler progress);
  app::ProfileQueue::Ticket new_ticket();
  void cancel_experiment(app::ProfileQueue::Ticket ticket);
  /// Cancels the queued or running profile; else the trial.
  void cancel(std::string_view path);
  /// Tries a batch size in the background and adds the result to the entry's figures, unless others have replaced them
  /// meanwhile. The outcome is reported by on_change only. Needs figures. Consent is checked once more when its turn
  /// comes: without it, nothing happens.
  void try_batch_size(app::ProfileRequest request, const app::Target& target, bool editor_vouches, int batch_size);
  void cancel_trial(std::string_view path);
  /// Sets why a batch size stays predicted; empty: no reason.
  void explain_trial(std::string_view path, int batch_size, const std::string& why);
  /// Loads a stored profile that is still valid, if there is no such entry yet.
  void load(app::ProfileRequest request, const app::Target& target);
  /// Puts a stored profile of the files as they are on disk in the place of the entry's figures, and cancels a profile
  /// of older texts; false: there is none. Nothing runs. Texts that are open and not saved must not differ from their
  /// files.
  base::Task<bool> use_stored_profile(app::ProfileRequest request, app::Target target);
  /// The file has a new text, in an editor or on disk; nothing: it was deleted.
  void file_changed(const std::string& path, const std::optional<std::string_view>& text);

  /// Runs `work` on the thread that reads files, so that the loop does not wait for a disk; returns its result.
  template <typename Work>
  auto read_files(Work work) {
    return base::while_alive(lifetime_, base::run_on(files_, std::move(work)));
  }
  /// Runs `work`, which computes for long, on the pool of the analyses; returns its result.
  template <typename Work>
  auto compute(Work work) {
    return base::while_alive(lifetime_, base::run_on(pool_, std::move(work)));
  }
  /// Runs `question` with the consent, on the same thread as read_files(); returns its result.
  template <typename Question>
  auto ask_consent(Question question) {
    return read_files([this, question = std::move(question)] { return question(consent_); });
  }
  /// The entry file, project, interpreter and cache folder of a request.
  base::Task<base::Result<app::Target, app::RunFailure>> find_target(app::ProfileRequest request);
  /// app::check_entry() of what an editor has open, or else of the file. What it refuses is a failed run.
  base::Task<base::Result<void, app::RunFailure>> check(app::Target target,
                                                        std::vector<protocol::SourceText> open_texts);
  /// app::runs_as_script() of what an editor has open, or else of the file.
  base::Task<bool> is_script(std::string path, std::vector<protocol::SourceText> open_texts);
  /// Whether the target's code may run, as it is now. `editor_vouches`: see Consent.
  base::Task<bool> consent_holds(app::Target target, bool editor_vouches);
  /// A save no longer profiles the entry.
  void stop_profiling_saves(const std::string& path) { change(path).profiled_here = false; }

  /// Ends the worker and all runs, without reporting them. Nothing is profiled afterwards.
  void stop();

  boost::asio::io_context& loop() { return loop_; }
  std::size_t waiting_or_running() const { return queue_ ? queue_->size() : 0; }
  bool is_worker_warm() const { return queue_ && queue_->is_warm(); }

 private:
  /// A copy in the place of the entry, to be changed before anything is awaited or announced.
  Entry& change(const std::string& path);
  Entry& change(const app::Target& target);
  void announce(const std::string& path) const;
  base::Task<void> run_trial(std::string path, app::ProfileQueue::Ticket ticket, std::shared_ptr<const Figures> held,
                             base::Task<app::ProfileOutcome> trial);
  /// What a job of the entry asks and reports.
  app::JobEvents events_of(const app::Target& target, app::ProfileQueue::Ticket ticket, bool editor_vouches,
                           protocol::ProgressHandler progress);
  /// Follows the job that was queued last to its end.
  base::Task<ProfileEnd> follow(app::ProfileQueue::Ticket ticket, app::Target target, bool must_end_soon,
                                std::vector<protocol::SourceText> open_texts, base::Task<app::ProfileOutcome> job);
  /// The failure as an editor shows it, with another interpreter where that would mend it.
  base::Task<app::RunFailure> explain(app::RunFailure failure, app::Target target);
  /// `must_end_soon`: a run that took too long is no failure of the code; the figures before it stay, and say why.
  void profiled(const std::string& path, app::ProfileQueue::Ticket ticket, app::ProfileOutcome& outcome,
                bool must_end_soon, std::vector<protocol::SourceText> open_texts);
  /// A stored profile that is up to date; null: there is none.
  base::Task<std::shared_ptr<const Figures>> kept(app::ProfileRequest request, app::Target target);
  base::Task<void> load_kept(app::ProfileRequest request, app::Target target);
  /// In the place of those before. `changed`: files that are not what ran. `before_first`: where they are the first
  /// figures of a profile, what there was before.
  void show(const std::string& path, std::shared_ptr<const Figures> figures, std::set<std::string> changed,
            std::shared_ptr<const Entry> before_first = nullptr);
  /// The first figures of the profile that runs, until it ends.
  void show_first(const std::string& path, app::ProfileWithSources first);
  void end_trial(const std::string& path, const std::shared_ptr<const Figures>& held, app::ProfileOutcome outcome);

  boost::asio::io_context& loop_;
  EntriesListener& listener_;
  boost::asio::thread_pool pool_;
  Consent consent_;  ///< on the thread of `files_`
  boost::asio::thread_pool files_{1};
  worker::Reaper reaper_;
  std::unique_ptr<app::ProfileQueue> queue_;
  std::map<std::string, std::shared_ptr<const Entry>, std::less<>> entries_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::editor
