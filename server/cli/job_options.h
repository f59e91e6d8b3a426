// Options that several commands of jobs have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "jobs/record/job_file.h"
#include "step/changes/change_table.h"

namespace ridgeline::cli {

/// --change: changes that fit the subject, each of which its description names. Checked where they are used.
void add_change_option(CLI::App& command, std::vector<std::string>& changes, step::Subject subject,
                       const std::string& description);

/// --network: the file of `ridgeline job network` (app/jobs/changed_steps.h).
void add_network_option(CLI::App& command, std::string& network);

/// Writes the file of a job. The exit code; what is wrong is written to stderr.
int write_job(const jobs::Job& job, const std::string& file);

}  // namespace ridgeline::cli
