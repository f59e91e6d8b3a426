// The fields of what torch.compile did.
#pragma once

#include "analysis/values/compilation.h"
#include "report/cost_fields.h"

namespace ridgeline::report {

template <typename Io>
void fields(Io& io, analysis::GraphBreak& found) {
  io("file", found.location.file, "Path relative to the project root with '/', or absolute outside it.");
  io("line", found.location.line, "Line number. The first line is 1.");
  io("function", found.function, "The function that was compiled.");
  io("reason", found.reason, "Why the compiler could not go on, in torch's words. Untrusted text.");
  io("count", found.count, "How often, over all compilations.");
}

template <typename Io>
void fields(Io& io, analysis::CompiledFunction& function) {
  io("file", function.location.file, "Path relative to the project root with '/', or absolute outside it.");
  io("line", function.location.line, "Its first line. The first line of a file is 1.");
  io("function", function.function, "Its name.");
  io("count", function.count, "How often it was compiled.");
  io("seconds", function.seconds, "The time of all its compilations, with those of its backward where torch says so.");
  io("guards", function.guards, "Guards that are checked before each call of the newest code.");
  io("reasons", function.reasons, "Why it was compiled again, in torch's words, each once. Untrusted text.");
}

template <typename Io>
void fields(Io& io, analysis::Compilation& compilation) {
  io("functions", compilation.functions, "Those that were compiled, most time first.");
  io("breaks", compilation.breaks, "Lines at which graphs ended because the compiler could not go on.");
}

}  // namespace ridgeline::report
