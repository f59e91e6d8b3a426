// Another batch size of a script whose batches do not come from a data loader: the number that decides it is replaced.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/profiling/script_runner.h"
#include "base/task.h"
#include "source/script_batch_size.h"
#include "worker/job.h"

namespace ridgeline::app {

struct ScriptNumber {
  std::string text;  ///< of the script
  source::ScriptBatchSize found;
};

/// The number in the script that the command runs. Nothing where the script states none, or another one than
/// `batch_size`, the samples of its step. Reads the script.
std::optional<ScriptNumber> script_number(const std::vector<std::string>& command, int batch_size);

/// The same, off the loop of `runner`, which outlives the task.
base::Task<std::optional<ScriptNumber>> read_script_number(ScriptRunner& runner, std::vector<std::string> command,
                                                           int batch_size);

/// Has the command run with another batch size: in an argument that decides it, else in the text that runs in place of
/// the script. No file is changed.
void set_batch_size(worker::JobOptions& options, const ScriptNumber& number, int batch_size);

/// The command line with another value for the last word that is given to one of the options, as `--batch-size 64` or
/// `--batch-size=64`; nothing where none is. Pure.
std::optional<std::vector<std::string>> with_option(std::vector<std::string> command,
                                                    std::span<const std::string> options, const std::string& value);

}  // namespace ridgeline::app
