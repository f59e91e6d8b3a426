// `ridgeline operations train`: estimators for operations that nobody measured, from those that somebody did.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/estimator.h"

namespace ridgeline::commands {

/// Those of this user; empty where none were trained. An error where the file cannot be used.
base::Result<std::vector<estimate::Estimators>> own_estimators();

void add_train_command(CLI::App& operations, int& exit_code);

}  // namespace ridgeline::commands
