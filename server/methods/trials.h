// When the batch size in a document has settled, and what becomes of a trial when it changes again. The clock, the
// decision and the run are the owner's: this is the order of things.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "methods/trial_decision.h"

namespace ridgeline::methods {

/// Lives on the loop, as long as its owner. Nothing of it waits: it says when it wants to be woken.
class Trials {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long a text is left alone until its batch size has settled. Each edit, as a dragged bar makes them, begins it
  /// anew.
  static constexpr std::chrono::milliseconds kPause{1500};

  /// An open document of a session.
  struct Document {
    std::uint64_t session = 0;
    std::string uri;
    std::string path;
    auto operator<=>(const Document&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  struct Ports {
    std::function<Clock::time_point()> now;
    /// wake() shall be called then, and not at the time that was asked for before.
    std::function<void(Clock::time_point)> wake_at;
    /// Calls `decided` once: from within, or later. Not at all when the session ends meanwhile. The decision's `start`
    /// is called from within `decided`, or never.
    std::function<void(const Document&, std::function<void(TrialDecision)> decided)> decide;
    /// Ends the trial of an entry, if one goes on.
    std::function<void(const std::string& path)> cancel;
    /// Why an entry's batch size stays predicted; empty: there is nothing to say.
    std::function<void(const std::string& path, int batch_size, const std::string& why)> explain;
  };

  explicit Trials(Ports ports) : ports_(std::move(ports)) {}

  /// The text was edited: a trial that goes on for it is no longer wanted.
  void changed(const Document& document);
  void closed(const Document& document);
  void ended(std::uint64_t session);
  /// What is known of an entry has changed: of a new profile the batch size in the code may be worth a trial, too.
  void entry_changed(const Entry& entry);
  void wake();

 private:
  struct Watched {
    Clock::time_point due{};
    bool is_due = false;     ///< at that time
    std::string profile_id;  ///< of the last decision
    int tried = 0;           ///< batch size that was tried for that profile; not again until the text changes
  };

  void settle(const Document& document);
  void decided(const Document& document, const TrialDecision& decision);
  void wait(Watched& watched);
  void sleep();

  Ports ports_;
  std::map<Document, Watched> watched_;    ///< edited since they were opened
  std::map<std::string, Document> going_;  ///< by entry: who wanted the trial
};

}  // namespace ridgeline::methods
