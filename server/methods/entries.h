// What is known of every entry file: its figures, its failure, and the profile that goes on. One for all sessions.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.h"
#include "base/result.h"
#include "base/task.h"
#include "methods/consent.h"
#include "methods/figures.h"
#include "profiling/profile_queue.h"
#include "profiling/request.h"
#include "worker/process.h"

namespace ridgeline::methods {

/// The last run failed: what went wrong, and the texts that ran, as far as an editor had them open.
struct FailedRun : profiling::RunFailure {
  std::shared_ptr<const std::vector<protocol::SourceText>> sources;
};

/// What is being found out about the batch size in the code, in the background.
struct TrialState {
  int batch_size = 0;
  std::optional<profiling::ProfileQueue::Ticket> going;  ///< the trial that waits or runs
  std::string message;  ///< what goes on, or why the batch size stays predicted: "batch size 96 is being tried"
};

/// A value of one moment: Entries puts another in its place when something changes.
struct Entry {
  std::string path;  ///< real
  std::string project_root;
  std::shared_ptr<const Figures> figures;  ///< of the last good profile; null: there is none
  std::set<std::string> changed;           ///< files behind the figures that are not what ran
  std::optional<FailedRun> failed;         ///< the last run, if it failed; the figures before it stay
  bool profiled_here = false;              ///< the user asked for a profile in this process: a save may ask again
  std::optional<profiling::ProfileQueue::Ticket> going;  ///< the profile that waits or runs
  protocol::Progress progress;                           ///< of it
  std::optional<TrialState> trial;                       ///< nothing where there is nothing to say
  int trials = 0;  ///< that have ended with something seen, since the process began: figures with the same id differ

  /// The figures are not of what is there now.
  bool is_stale() const { return !changed.empty() || failed.has_value(); }
  /// Why, in words: "train.py has changed since"; empty when they are not.
  std::string stale_words() const;
};

/// New figures of an entry, or why there are none.
using ProfileEnd = base::Result<std::shared_ptr<const Entry>, profiling::RunFailure>;

/// Lives on the loop. Profiles of one project run one after the other; those of several projects at once, which makes
/// their times less sure, so they too share one queue.
class Entries {
 public:
  /// `on_change` is called after an entry's figures, staleness or failure has changed.
  Entries(boost::asio::io_context& loop, std::function<void(const Entry&)> on_change);
  ~Entries();
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;

  /// Null: nothing is known of it.
  std::shared_ptr<const Entry> find(std::string_view path) const;
  /// All entries, by path.
  const std::map<std::string, std::shared_ptr<const Entry>, std::less<>>& all() const { return entries_; }
  /// The entry whose figures are shown in a file: the file itself, else the one whose figures are the newest there.
  std::shared_ptr<const Entry> for_file(std::string_view path) const;
  /// By the profile's id, also of an entry whose figures are stale; null: the profile is gone.
  std::shared_ptr<const Entry> by_profile(std::string_view id) const;

  /// Profiles it; what waits or runs for the same entry gives way. Whether its code may run is checked once more when
  /// its turn has come: if not, it fails as "not-trusted". `editor_vouches`: as Consent has it. Goes on without the
  /// task that waits for it.
  base::Task<ProfileEnd> profile(profiling::ProfileRequest request, profiling::Target target, bool editor_vouches,
                                 std::vector<protocol::SourceText> open_texts,
                                 std::function<void(const protocol::Progress&)> progress);
  /// Ends the profile that waits or runs; else the trial.
  void cancel(std::string_view path);
  /// Tries a batch size in the background: what is seen is added to the entry's figures, if they are still those that
  /// were there at the beginning. Whatever comes of it, only on_change tells. Needs figures. Whether the code may run
  /// is looked at once more when its turn has come: if not, nothing happens.
  void try_batch_size(profiling::ProfileRequest request, const profiling::Target& target, bool editor_vouches,
                      int batch_size);
  void cancel_trial(std::string_view path);
  /// Why a batch size stays predicted; empty: there is nothing to say.
  void explain_trial(std::string_view path, int batch_size, const std::string& why);
  /// Looks for a kept profile that holds, if nothing is known of the entry yet.
  void load(profiling::ProfileRequest request, const profiling::Target& target);
  /// In an editor or on disk the file holds `text` now; nothing: it is gone.
  void file_changed(const std::string& path, const std::optional<std::string_view>& text);
  /// As file_changed(), with what is on disk; unless `is_open` says that an editor has it by then.
  void reread(const std::string& path, std::function<bool()> is_open);

  /// What `work` returns, called on the thread that reads files: the loop never waits for a disk.
  template <typename Work>
  auto read_files(Work work) {
    return base::while_alive(lifetime_, base::run_on(files_, std::move(work)));
  }
  /// What `question` returns of the consent, which lives on that thread.
  template <typename Question>
  auto ask_consent(Question question) {
    return read_files([this, question = std::move(question)] { return question(consent_); });
  }
  /// What runs for a request: its entry file, project, interpreter and cache folder.
  base::Task<base::Result<profiling::Target, profiling::RunFailure>> find_target(profiling::ProfileRequest request);
  /// Whether the target's code may run, as it is now. `editor_vouches`: as Consent has it.
  base::Task<bool> consent_holds(profiling::Target target, bool editor_vouches);
  /// The user does not want the entry profiled when it is saved.
  void leave_saves_alone(const std::string& path) { change(path).profiled_here = false; }

  /// Ends the worker and what goes on, untold. Nothing is profiled after it.
  void stop();

  boost::asio::io_context& loop() { return loop_; }
  std::size_t waiting_or_running() const { return queue_ ? queue_->size() : 0; }
  bool is_worker_warm() const { return queue_ && queue_->is_warm(); }

 private:
  /// A copy in the place of the entry, to be changed before anything is awaited or announced.
  Entry& change(const std::string& path);
  Entry& change(const profiling::Target& target);
  void announce(const std::string& path) const;
  base::Task<void> run_trial(std::string path, profiling::ProfileQueue::Ticket ticket,
                             std::shared_ptr<const Figures> held, base::Task<profiling::ProfileOutcome> trial);
  void profiled(const std::string& path, profiling::ProfileQueue::Ticket ticket, profiling::ProfileOutcome& outcome,
                std::vector<protocol::SourceText> open_texts);
  base::Task<void> load_kept(profiling::ProfileRequest request, profiling::Target target);
  base::Task<void> read_again(std::string path, std::function<bool()> is_open);
  void end_trial(const std::string& path, const std::shared_ptr<const Figures>& held,
                 profiling::ProfileOutcome outcome);

  boost::asio::io_context& loop_;
  std::function<void(const Entry&)> on_change_;
  boost::asio::thread_pool pool_;
  Consent consent_;  ///< on the thread of `files_`
  boost::asio::thread_pool files_{1};
  worker::Reaper reaper_;
  std::unique_ptr<profiling::ProfileQueue> queue_;
  std::map<std::string, std::shared_ptr<const Entry>, std::less<>> entries_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::methods
