// Where the daemon's log goes: standard error.
#pragma once

namespace ridgeline::cli {

/// Makes spdlog write to standard error, a line per message. A reader who does not read never makes the daemon wait:
/// what does not fit is dropped.
void log_to_standard_error();

}  // namespace ridgeline::cli
