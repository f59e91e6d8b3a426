#include "worker/guard/write_rules.h"

#include <fcntl.h>

#include <algorithm>

#include "base/path.h"

namespace ridgeline::worker {

namespace {

/// O_TMPFILE contains O_DIRECTORY, which has another meaning by itself.
bool makes_unnamed(int flags) { return (flags & O_TMPFILE) == O_TMPFILE; }

bool opening_fails(int flags, Found found) {
  if (makes_unnamed(flags)) {
    return found != Found::kFolder;
  }
  if ((flags & O_CREAT) == 0) {
    return found == Found::kNothing || found == Found::kFolder;
  }
  return found == Found::kFolder || ((flags & O_EXCL) != 0 && found != Found::kNothing);
}

/// With an error, and without a change of anything.
bool fails_anyway(const Attempt& attempt) {
  const Found found = attempt.target.found;
  if (found == Found::kNoFolder || !attempt.target.permitted) {
    return true;
  }
  switch (attempt.change) {
    case Change::kOpen:
      return opening_fails(attempt.open_flags, found);
    case Change::kMake:
      return found != Found::kNothing;
    case Change::kReplace:
    case Change::kLinked:  // it may be a file without a name
      return false;
    case Change::kRemove:
    case Change::kAlter:
      return found == Found::kNothing;
  }
  return false;
}

/// Whether an existing file is merely opened, without a mode in which something is bound to be written.
bool may_only_read(const Attempt& attempt) {
  const int flags = attempt.open_flags;
  return attempt.change == Change::kOpen && attempt.target.found == Found::kFile && (flags & O_ACCMODE) == O_RDWR &&
         (flags & (O_TRUNC | O_APPEND)) == 0;
}

bool creates_nothing(const Attempt& attempt) {
  return attempt.change == Change::kOpen && attempt.target.found != Found::kNothing &&
         (attempt.open_flags & (O_ACCMODE | O_TRUNC)) == O_RDONLY;
}

/// The folder of a place is opened to make a file without a name in it; it is itself neither made nor removed.
bool is_in_place(const Attempt& attempt, const std::string& folder) {
  const bool uses_folder = attempt.change == Change::kOpen || attempt.change == Change::kAlter;
  return base::is_below(attempt.target.path, folder) || (uses_folder && attempt.target.path == folder);
}

bool is_allowed(const Attempt& attempt, const WritablePaths& writable) {
  const Target& target = attempt.target;
  const bool kept = std::ranges::any_of(
      writable.kept, [&](const std::string& one) { return target.path == one || base::is_below(target.path, one); });
  return !kept &&
         std::ranges::any_of(writable.folders, [&](const std::string& folder) { return is_in_place(attempt, folder); });
}

Verdict judge_one(const Attempt& attempt, const WritablePaths& writable) {
  const bool to_device =
      attempt.target.found == Found::kDevice && (attempt.change == Change::kOpen || attempt.change == Change::kAlter);
  if (to_device || creates_nothing(attempt) || is_allowed(attempt, writable)) {
    return Verdict::kAllow;
  }
  const bool cached_code = (attempt.target.path + "/").find("/__pycache__/") != std::string::npos;
  return cached_code || attempt.change == Change::kLinked || may_only_read(attempt) ? Verdict::kRefuse : Verdict::kEnd;
}

}  // namespace

Verdict judge(std::span<const Attempt> attempts, const WritablePaths& writable) {
  if (std::ranges::any_of(attempts, fails_anyway)) {
    return Verdict::kAllow;
  }
  Verdict worst = Verdict::kAllow;
  for (const Attempt& attempt : attempts) {
    worst = std::max(worst, judge_one(attempt, writable));
  }
  return worst;
}

}  // namespace ridgeline::worker
