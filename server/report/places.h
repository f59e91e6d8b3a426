// How the text report names files: as short as a reader of the entry file needs.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::report {

/// A file below the entry file's folder is named from there, one of an installed package or of a package of the
/// profile's `code` from where it is installed, as "timm/layers/mlp.py", any other as in the profile: from the project
/// root, or absolute outside it. No two of the profile's files get one name. All names are printable.
class Places {
 public:
  explicit Places(const analysis::Profile& profile);

  /// "resnet.py:42"; empty for no place.
  std::string name(const analysis::Location& location) const;

 private:
  /// From where the package is installed; empty where the file is of no package.
  std::string short_name(std::string_view path) const;
  /// Whether another file than `file` has that name.
  bool is_ambiguous(const std::string& name, const std::string& file) const;

  std::string root_;                          ///< of the project, ends with '/'; or empty
  std::string folder_;                        ///< the entry file's, absolute, ends with '/'; or empty
  std::set<std::string> files_;               ///< that own lines, as in the profile
  std::vector<std::string> package_folders_;  ///< that hold the packages of `code`
};

/// The entry file from the project root, with the root's own name where it lies right in it; absolute outside the
/// project.
std::string entry_name(const analysis::Profile& profile);

}  // namespace ridgeline::report
