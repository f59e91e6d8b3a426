// What the user lets run. It is looked at anew before every run: what stands at a path may be another project by then.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiling/request.h"
#include "store/project_identity.h"
#include "worker/process.h"

namespace ridgeline::methods {

/// Lives on one thread, which may wait for a disk: reads a few files' status at each call.
class Consent {
 public:
  explicit Consent(store::IdentityOf identity_of = store::file_identity) : identity_of_(std::move(identity_of)) {}

  /// The entry's project as it is now; nothing when it cannot be told, and then nothing of it may run.
  std::optional<store::ProjectIdentity> identify(const profiling::Target& target) const;
  /// Whether what is there now is what the user agreed to; with `editor_vouches` also what an editor has vouched for.
  bool holds(const profiling::Target& target, bool editor_vouches) const;
  /// Whether the entry's path was agreed to, whatever is there now.
  bool held(const profiling::Target& target) const;

  /// The user agreed to what he was asked about. False when something else is there now: ask again. Kept in the cache
  /// folder where it can be told later; when that fails `problem` says why, and it holds for this process.
  bool agree(const profiling::Target& target, const store::ProjectIdentity& asked_about, std::string& problem);
  /// An editor that asks its user itself was told to profile it. Holds for such editors, for this process.
  void vouch(const profiling::Target& target);
  /// A profile begins by what was agreed to earlier, perhaps in another process.
  void rely_on(const profiling::Target& target);
  /// An editor of the user's saved the entry file, and holds the text that is there now. What was agreed to in this
  /// process goes on for the new file.
  void saved(const std::string& entry);

 private:
  /// While a file is held open, its inode is not given out again: for file systems that remember no birth.
  struct Agreed {
    std::string cache;
    store::ProjectIdentity project;
    std::vector<worker::Descriptor> pins;
  };
  using ByEntry = std::map<std::string, Agreed, std::less<>>;

  void remember(ByEntry& where, const std::string& cache, store::ProjectIdentity project) const;
  bool is_in(const ByEntry& where, const store::ProjectIdentity& now) const;

  store::IdentityOf identity_of_;
  ByEntry by_user_;
  ByEntry by_editor_;
};

}  // namespace ridgeline::methods
