// The results of ridgeline/whatIf and ridgeline/try: what `ridgeline what-if --format json` says, with its figures in
// words.
#pragma once

#include "analysis/values/what_if.h"
#include "protocol/json_rpc.h"

namespace ridgeline::methods {

/// ridgeline/whatIf. `uri`: the entry file as the client names it.
protocol::Json what_if_json(const analysis::WhatIf& answer, const std::string& uri);

/// ridgeline/try: the only row of the answer.
protocol::Json tried_json(const analysis::WhatIf& answer);

}  // namespace ridgeline::methods
