#include <vector>

#include "assistant/change_tools.h"
#include "assistant/measure_tools.h"
#include "assistant/tool.h"

namespace ridgeline::assistant {

namespace {

constexpr const char* kEntryOnly = R"({"type": "object", "additionalProperties": false, "properties": {
  "file": {"type": "string", "description": "Entry point or profiled script, relative to the project; default: entry.py"}}})";

constexpr const char* kSummary =
    R"({"type": "object", "required": ["profileId", "file", "batchSize", "step"], "properties": {
  "profileId": {"type": "string"}, "file": {"type": "string"}, "batchSize": {"type": "integer"},
  "device": {"type": "string"}, "step": {"type": "object"}, "samplesPerSecond": {"type": ["number", "null"]},
  "peakBytes": {"type": ["object", "null"]}, "largestBatchSizeThatFits": {"type": ["integer", "null"]},
  "stale": {"type": "boolean"}, "costliestLines": {"type": "array", "items": {"type": "object"}}}})";

constexpr const char* kRows = R"({"type": "object", "required": ["rows"], "properties": {
  "of": {"type": "string"}, "by": {"type": "string"}, "phase": {"type": ["string", "null"]}, "kind": {"type": "string"}, "step": {"type": "object"},
  "peakBytes": {"type": ["object", "null"]}, "capacityBytes": {"type": "integer"}, "byCategory": {"type": "object"},
  "rows": {"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string"}, "file": {"type": ["string", "null"]}, "line": {"type": ["integer", "null"]},
    "ms": {"type": "number"}, "share": {"type": "number"}, "peakBytes": {"type": "integer"},
    "calls": {"type": ["integer", "null"]}}}}}})";

constexpr const char* kChangeRow = R"({"type": "object", "required": ["change", "title"], "properties": {
  "change": {"type": "array", "items": {"type": "string"}}, "title": {"type": "string"}, "applies": {"type": "boolean"},
  "predicted": {"type": ["object", "null"]}, "tried": {"type": ["object", "null"]},
  "verdict": {"type": ["string", "null"]}, "peakBytes": {"type": ["number", "null"]},
  "canBeWritten": {"type": "boolean"}}})";

constexpr const char* kChangeInput =
    R"({"type": "object", "additionalProperties": false, "required": ["change"], "properties": {
  "file": {"type": "string", "description": "Entry point or profiled script; default: entry.py"},
  "change": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 8,
             "description": "One change, or several at once, as what_if names them: [\"bf16-autocast\"], [\"batch-size:64\"]"}}})";

}  // namespace

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = {
      {"profile", "Profile a training step",
       "Runs the training step of an entry point and measures time and memory of each line. Needs the person's "
       "consent, "
       "and takes seconds to minutes. Start here.",
       R"({"type": "object", "additionalProperties": false, "properties": {
         "file": {"type": "string", "description": "Entry point, relative to the project; default: entry.py"},
         "batch_sizes": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 16,
                         "description": "Sizes to time for predictions, instead of those that are chosen"},
         "code": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 16,
                  "description": "Packages whose lines get figures too"},
         "time_budget_seconds": {"type": "number", "minimum": 0.1, "maximum": 600}}})",
       kSummary, true, profile},
      {"run_script", "Profile a training script",
       "Runs a training script as it is and measures some of its steps. Needs the person's consent.",
       R"({"type": "object", "additionalProperties": false, "required": ["file"], "properties": {
         "file": {"type": "string", "description": "The script, relative to the project"},
         "arguments": {"type": "array", "items": {"type": "string"}, "maxItems": 64},
         "folder": {"type": "string", "description": "Working folder, in the project"}}})",
       kSummary, true, run_script},
      {"costliest", "Costliest lines, modules or operations",
       "What the last profile spent most time or memory on. Runs nothing.",
       R"({"type": "object", "additionalProperties": false, "properties": {
         "file": {"type": "string", "description": "Entry point or profiled script; default: entry.py"},
         "of": {"type": "string", "enum": ["lines", "modules", "operations"]},
         "by": {"type": "string", "enum": ["time", "memory"]},
         "phase": {"type": "string", "enum": ["forward", "backward", "recomputation", "optimizer", "data", "other"],
                   "description": "Only the time of this phase"},
         "limit": {"type": "integer", "minimum": 1, "maximum": 200}}})",
       kRows, false, costliest},
      {"explain_line", "Explain a line",
       "Figures of one line of a profiled file: own and total time, phases, memory. Runs nothing.",
       R"({"type": "object", "additionalProperties": false, "required": ["file", "line"], "properties": {
         "file": {"type": "string"}, "line": {"type": "integer", "minimum": 1, "description": "From 1"},
         "entry": {"type": "string", "description": "The entry point that was profiled, if it is another file"}}})",
       R"({"type": "object", "properties": {"file": {"type": "string"}, "line": {"type": "integer"},
         "kind": {"type": "string"}, "ownMs": {"type": "number"}, "totalMs": {"type": "number"},
         "share": {"type": "number"}, "peakBytes": {"type": "integer"}}})",
       false, explain_line},
      {"memory_at_peak", "Memory at the peak", "What is alive at the peak, by category and line. Runs nothing.",
       kEntryOnly, kRows, false, memory_at_peak},
      {"predict", "Predict another batch size",
       "Step time, throughput and peak memory at another batch size, or the batch size for a wanted figure. Give one "
       "of "
       "the four. Runs nothing.",
       R"({"type": "object", "additionalProperties": false, "properties": {
         "file": {"type": "string", "description": "Entry point or profiled script; default: entry.py"},
         "batch_size": {"type": "integer", "minimum": 1}, "samples_per_second": {"type": "number", "minimum": 0},
         "peak_bytes": {"type": "number", "minimum": 0},
         "throughput_share": {"type": "number", "minimum": 0, "maximum": 1, "description": "Of the greatest throughput"}}})",
       R"({"type": "object", "properties": {"batchSize": {"type": ["integer", "null"]}, "step": {"type": ["object", "null"]},
         "samplesPerSecond": {"type": ["object", "null"]}, "peakBytes": {"type": ["object", "null"]},
         "fits": {"type": ["boolean", "null"]}, "extrapolated": {"type": "boolean"}, "message": {"type": "string"}}})",
       false, predict},
      {"what_if", "What changes would bring",
       "Predicts changes such as bf16-autocast, fused-optimizer, channels-last, compile, checkpoint:MODULE, "
       "accumulate:K, "
       "batch-size:N, loader-workers:N; without changes, those that most often pay. May run code for operation times: "
       "needs consent.",
       R"({"type": "object", "additionalProperties": false, "properties": {
         "file": {"type": "string", "description": "Entry point or profiled script; default: entry.py"},
         "changes": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 16},
         "search": {"type": "boolean", "description": "Also the best combination"},
         "memory_bytes": {"type": "integer", "minimum": 1, "description": "Of a search: greatest peak"}}})",
       R"({"type": "object", "required": ["changes"], "properties": {"batchSize": {"type": "integer"},
         "stepMs": {"type": "number"}, "peakBytes": {"type": "integer"},
         "changes": {"type": "array", "items": {"type": "object"}}}})",
       true, what_if},
      {"try_change", "Try a change",
       "Runs the changed step in turns with the unchanged one, without changing a file: the proof. Needs consent.",
       kChangeInput, kChangeRow, true, try_change},
      {"change_edit", "The edit of a change",
       "The edit that makes a change, as a patch. Writes nothing unless apply is true and the person allows it.",
       R"({"type": "object", "additionalProperties": false, "required": ["change"], "properties": {
         "file": {"type": "string", "description": "Entry point or profiled script; default: entry.py"},
         "change": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 8},
         "apply": {"type": "boolean", "description": "Write it, if the person allows"}}})",
       R"({"type": "object", "required": ["patch", "written"], "properties": {"patch": {"type": "string"},
         "written": {"type": "boolean"}}})",
       true, change_edit},
      {"compare", "Compare with the profile before",
       "Profiles the present text, if that is not profiled, and says whether the step changed beyond the noise. Needs "
       "consent.",
       kEntryOnly,
       R"({"type": "object", "properties": {"change": {"type": "string"}, "applied": {"type": ["object", "null"]},
         "step": {"type": "object"}, "peakBytes": {"type": ["object", "null"]}}})",
       true, compare},
      {"check", "Check budgets",
       "Runs `ridgeline check`: whether the step keeps the budgets of pyproject.toml. Needs consent.", kEntryOnly,
       R"({"type": "object", "required": ["exitCode"], "properties": {"exitCode": {"type": "integer"}}})", true, check},
      {"job", "A recorded job of ranks", "What the ranks of a recorded job do and wait for. Runs nothing.",
       R"({"type": "object", "additionalProperties": false, "required": ["file"], "properties": {"file": {"type": "string"}}})",
       R"({"type": "object", "properties": {"file": {"type": "string"}, "ranks": {"type": "integer"},
         "slower": {"type": ["object", "null"]}}})",
       false, job},
      {"report", "The whole report", "Writes the report of the last profile as text, and says where. Runs nothing.",
       kEntryOnly, R"({"type": "object", "properties": {"path": {"type": "string"}, "profileId": {"type": "string"}}})",
       false, report_file}};
  return all;
}

}  // namespace ridgeline::assistant
