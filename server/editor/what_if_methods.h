// The methods about changes of a step, and about other devices.
#pragma once

#include "editor/method.h"
#include "editor/method_parameters.h"

namespace ridgeline::editor {

base::Task<lsp::Outcome> what_if(Context context, WhatIfParams params);
base::Task<lsp::Outcome> try_change(Context context, TryParams params);
/// A change as an edit of the entry file. Nothing is written.
base::Task<lsp::Outcome> change_edit(Context context, TryParams params);
/// The text of `ridgeline devices`.
base::Task<lsp::Outcome> compare_devices_command(Context context, CommandParams params);

}  // namespace ridgeline::editor
