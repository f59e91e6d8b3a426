// A command that is run again, and must not change the user's files: the kernel notifies us of every system call that
// would, in all processes of the command, and Landlock refuses it where the kernel has that.
//
// Files can be written in a temporary folder of the command's own, in shared memory and in caches; connections to
// other hosts and to services of this one fail. It is no sandbox for code that means harm.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::worker {

/// The file below the folder of run_guarded() with the report.
inline constexpr const char* kReportFile = "guard.json";

/// Runs the command, with our standard streams, to the end of all of its processes, or to the first change of a file;
/// then nothing of it runs on. Below `folder`, which exists, is its TMPDIR, are sockets that it may connect to, and the
/// report is left. Returns its exit code, or 128 and the number of the signal that ended it. Call it in a process that
/// has no other threads and children. It ends with the process that started us.
int run_guarded(const std::vector<std::string>& command, const std::string& folder);

}  // namespace ridgeline::worker
