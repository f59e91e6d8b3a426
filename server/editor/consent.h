// Which projects the user allows to run. Checked before every run: another project may have taken a path by then.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/profiling/request.h"
#include "store/project_identity.h"
#include "worker/process.h"

namespace ridgeline::editor {

/// Lives on one thread, which may wait for a disk: each call stats a few files.
class Consent {
 public:
  explicit Consent(store::IdentityOf identity_of = store::file_identity) : identity_of_(std::move(identity_of)) {}

  /// The entry's project as it is now; nothing when it cannot be determined: then none of its code may run.
  std::optional<store::ProjectIdentity> identify(const app::Target& target) const;
  /// Whether the user has agreed to what is there now; with `editor_vouches`, an editor's word for it counts as well.
  bool holds(const app::Target& target, bool editor_vouches) const;
  /// Whether the entry's path was agreed to, whatever is there now.
  bool held(const app::Target& target) const;

  struct Agreement {
    bool holds = false;   ///< false when something else is there now: ask once more
    std::string warning;  ///< why it could not be stored, and holds for this process only; mostly empty
  };
  /// The user agreed to what the question was about. Kept in the cache folder where the project can be recognised
  /// later.
  Agreement agree(const app::Target& target, const store::ProjectIdentity& asked_about);
  /// The user started a profile in an editor that asks for trust itself. Holds for such editors, for this process.
  void vouch(const app::Target& target);
  /// A profile starts on an earlier consent, perhaps given to another process.
  void rely_on(const app::Target& target);
  /// The user's editor saved the entry file, and has the text that is there now. A consent given to this process
  /// carries over to the new file.
  void saved(const std::string& entry);

 private:
  /// While a file is held open, its inode is not reused: for file systems without birth times.
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

}  // namespace ridgeline::editor
