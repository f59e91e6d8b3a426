// What the user agrees to when code may run: an entry file in a project, told from all that comes to the same place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/file_identity.h"

namespace ridgeline::store {

/// The mark that we left in the repository, and the file that it stands in: a copy of it is another file.
struct Mark {
  std::string digits;
  FileIdentity file;
  bool operator==(const Mark&) const = default;
};

struct ProjectIdentity {
  std::string entry;         ///< real path
  std::string project_root;  ///< real path
  /// The project's root, the entry's folder, and the repository's `.git`; where there is no repository: the entry file.
  std::vector<FileIdentity> places;
  std::string anchor;        ///< path of the last of the places
  std::optional<Mark> mark;  ///< none where there is no repository, where nothing was left in it, or it cannot be read
  bool in_repository = false;
  /// Whether it can be relied on once this process has ended: else an inode may have been given out again.
  bool lasting = false;
};

/// As it is now. Writes nothing. Nothing when a place is gone or cannot be looked at.
std::optional<ProjectIdentity> identify(const std::string& entry, const std::string& project_root,
                                        const IdentityOf& identity_of = file_identity);

/// Leaves a mark in the entry's repository, if there is one and it can be written to.
void leave_mark_for(const std::string& entry);

/// Whether what is there `now` is what was agreed to: the same places and, if it had one then, the same mark.
bool covers(const ProjectIdentity& agreed, const ProjectIdentity& now);

/// The same but for the entry file of a project without a repository: many editors write a new file when they save.
bool covers_but_for_the_file(const ProjectIdentity& agreed, const ProjectIdentity& now);

}  // namespace ridgeline::store
