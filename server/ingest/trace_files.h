// Which files of a trace are the user's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/profile.h"

namespace ridgeline::ingest {

/// The parts of "model.py(12): forward"; false for any other text.
bool split_frame(std::string_view frame, std::string_view& file, std::uint32_t& line, std::string_view& function);

/// Files have '/' between their folders. torch.profiler strips the sys.path entry in front of a file, so
/// "model.py" and "threading.py" are not distinguishable. A file under the root is the user's. Where none of the
/// trace's files is, the sources are elsewhere: then every file of no known library is the user's.
class TraceFiles {
 public:
  using Exists = bool (*)(const std::string& path);

  /// `root` is absolute; empty: `current`, or the folder that holds all absolute paths of no library if there are any
  /// and no file of the trace lies under `current`.
  TraceFiles(const std::vector<std::string_view>& files, const std::string& root, const std::string& current,
             Exists exists);

  const std::string& root() const { return root_; }
  /// The file as an absolute path; under /site-packages/ where it is not the user's and was cut.
  std::string absolute(std::string_view file) const;
  /// Whether the user's files were recognised by their names only.
  bool guessed() const { return guessed_; }

 private:
  std::string root_;
  Exists exists_;
  bool guessed_ = false;
};

/// Those of the packages `code`, named as they are imported, that the trace's `files` belong to, and where they are. A
/// package is recognised where it is installed, or where torch.profiler has cut the path to it.
std::vector<analysis::CodePackage> packages_in(const std::vector<std::string_view>& files,
                                               const std::vector<std::string>& code, const TraceFiles& names);

}  // namespace ridgeline::ingest
