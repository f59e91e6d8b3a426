// What the user gives permission for: an entry file in a project, as opposed to others that come to be at the same
// path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/file_identity.h"

namespace ridgeline::store {

/// The mark that we left in the repository, and the file that contains it: a copy of the mark is another file.
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
  std::string anchor;        ///< path of the last element of `places`
  std::optional<Mark> mark;  ///< none without a repository, without a mark in it, or when it cannot be read
  bool in_repository = false;
  /// Whether it remains valid after this process has ended: otherwise an inode may have been reused.
  bool lasting = false;
};

/// The identity as it is now; nothing when one of the places does not exist or cannot be inspected. Writes nothing.
std::optional<ProjectIdentity> identify(const std::string& entry, const std::string& project_root,
                                        const IdentityOf& identity_of = file_identity);

/// Leaves a mark in the entry's repository, if there is one and it can be written to.
void leave_mark_for(const std::string& entry);

/// Whether `now` is what permission was given for: the same places and, if there was a mark then, the same mark.
bool covers(const ProjectIdentity& agreed, const ProjectIdentity& now);

/// As covers(), but ignores the entry file of a project without a repository: many editors save by writing a new file.
bool covers_but_for_the_file(const ProjectIdentity& agreed, const ProjectIdentity& now);

}  // namespace ridgeline::store
