// When the batch size in a document has settled, and which trial an edit cancels. The owner supplies the clock, the
// decision and the run.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "editor/trial_decision.h"

namespace ridgeline::editor {

/// Lives on the loop, as long as its owner. Never waits: it requests to be woken.
class Trials {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long after the last edit the batch size has settled. Each edit, as while a bar is dragged, restarts the pause.
  static constexpr std::chrono::milliseconds kPause{1500};

  /// An open document of a session.
  struct Document {
    std::uint64_t session = 0;
    std::string uri;
    std::string path;
    auto operator<=>(const Document&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  using DecisionHandler = std::function<void(TrialDecision)>;

  /// What trials need of the server. Outlives them.
  class Ports {
   public:
    virtual ~Ports() = default;
    virtual Clock::time_point now() const { return Clock::now(); }
    /// Requests a call of wake() at that time, in place of the time requested before.
    virtual void wake_at(Clock::time_point at) = 0;
    /// Calls `decided` once: from within, or later. Not at all when the session ends meanwhile. The decision's `start`
    /// is called from within `decided`, or never.
    virtual void decide(const Document& document, DecisionHandler decided) = 0;
    /// Cancels the trial of an entry, if one is running.
    virtual void cancel(const std::string& path) = 0;
    /// Shows why an entry's batch size stays predicted; empty: no reason.
    virtual void explain(const std::string& path, int batch_size, const std::string& why) = 0;
  };

  explicit Trials(Ports& ports) : ports_(ports) {}

  /// The text was edited: cancels its running trial.
  void changed(const Document& document);
  void closed(const Document& document);
  void ended(std::uint64_t session);
  /// An entry has changed: with a new profile, the batch size in the code may need a trial.
  void entry_changed(const Entry& entry);
  void wake();

 private:
  struct Watched {
    Clock::time_point due{};
    bool is_due = false;     ///< at that time
    std::string profile_id;  ///< of the last decision
    int tried = 0;           ///< batch size that was tried for that profile; not repeated until the text changes
  };

  void settle(const Document& document);
  void decided(const Document& document, const TrialDecision& decision);
  void restart_pause(Watched& watched);
  void schedule_wake();

  Ports& ports_;
  std::map<Document, Watched> watched_;      ///< those edited since they were opened
  std::map<std::string, Document> running_;  ///< by entry: the document whose batch size is being tried
};

}  // namespace ridgeline::editor
