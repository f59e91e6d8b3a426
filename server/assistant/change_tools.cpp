#include "assistant/change_tools.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "assistant/answer_text.h"
#include "assistant/measure_tools.h"
#include "assistant/session_client.h"
#include "base/file.h"
#include "lsp/session/document_text.h"
#include "protocol/lsp.h"

namespace ridgeline::assistant {

namespace {

Json estimate(const Json& value, const char* unit, bool is_measured) {
  if (value.is_null()) {
    return nullptr;
  }
  const Json interval = value.value("interval", Json());
  return figure(value.at("value"), interval.is_null() ? Json() : interval.at("low"),
                interval.is_null() ? Json() : interval.value("high", Json()), unit,
                is_measured ? "measured" : "predicted");
}

std::string estimate_text(const Json& value, std::string (*text)(const Json&)) {
  if (value.is_null()) {
    return "not known";
  }
  const std::string interval =
      value.at("low").is_null() ? (value.at("kind") == "predicted" ? ", interval not known" : "")
      : value.at("high").is_null()
          ? fmt::format(", at least {}", text(value.at("low")))
          : fmt::format(", 95 % interval {} to {}", text(value.at("low")), text(value.at("high")));
  return fmt::format("{} ({}{})", text(value.at("value")), value.at("kind").get<std::string>(), interval);
}

Json change_row(const Json& change) {
  const Json& predicted = change.at("predicted");
  const Json& tried = change.at("tried");
  const auto speed = [](const Json& of, const char* kind) {
    return of.is_null() ? Json()
                        : figure(of.at("speedUp").at("value"), of.at("speedUp").at("low"), of.at("speedUp").at("high"),
                                 "times as fast", kind);
  };
  return {{"change", change.at("change")},
          {"title", change.at("title")},
          {"applies", change.at("applies")},
          {"predicted", speed(predicted, "predicted")},
          {"tried", speed(tried, "tried")},
          {"verdict", !tried.is_null()      ? tried.at("verdict")
                      : predicted.is_null() ? Json()
                                            : predicted.at("verdict")},
          {"peakBytes", tried.is_null() ? change.at("peakBytes") : tried.at("changedPeakBytes")},
          {"canBeWritten", change.at("canBeWritten")}};
}

std::string change_line(const Json& change, const Json& unchanged_peak) {
  std::string name;
  for (const Json& part : change.at("change")) {
    name += (name.empty() ? "" : " + ") + part.get<std::string>();
  }
  std::string text = "- " + in_quotes(name) + " (" + in_quotes(change.at("title").get<std::string>(), 80) + "): ";
  if (!change.at("applies").get<bool>()) {
    return text + "does not apply: " + in_quotes(change.at("reason").get<std::string>(), 200) + "\n";
  }
  const Json& predicted = change.at("predicted");
  const Json& tried = change.at("tried");
  if (!tried.is_null()) {
    text += fmt::format("tried {}, {}; peak {} → {}", speed_text(tried.at("speedUp")),
                        tried.at("verdict").get<std::string>(), bytes_text(tried.at("unchangedPeakBytes")),
                        bytes_text(tried.at("changedPeakBytes")));
    text += predicted.is_null() ? "" : "; was predicted " + speed_text(predicted.at("speedUp"));
    if (const std::string loss = change.at("lossText"); !loss.empty()) {
      text += "; loss: " + loss;
    }
  } else if (!predicted.is_null()) {
    text += fmt::format("predicted {}, {}", speed_text(predicted.at("speedUp")),
                        predicted.at("verdict").get<std::string>());
    if (!change.at("peakBytes").is_null()) {
      text += fmt::format("; peak {} → {} (predicted)", bytes_text(unchanged_peak), bytes_text(change.at("peakBytes")));
    }
  } else {
    text += "not predicted: " + in_quotes(change.at("notPredicted").get<std::string>(), 200);
  }
  return text + (change.at("canBeWritten").get<bool>() ? "; change_edit writes it\n" : "\n");
}

/// The text after edits that do not overlap.
std::string edited(const std::string& before, const Json& edits) {
  lsp::Text text(before);
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::string>> changes;
  for (const Json& edit : edits) {
    const auto offset = [&](const char* end) {
      const Json& at = edit.at("range").at(end);
      const auto found = text.offset({at.at("line").get<std::uint32_t>(), at.at("character").get<std::uint32_t>()},
                                     lsp::PositionEncoding::kUtf8);
      if (!found.has_value()) {
        throw ToolFailure{"The edit does not fit the file; call change_edit again."};
      }
      return *found;
    };
    changes.push_back({{offset("start"), offset("end")}, edit.at("newText").get<std::string>()});
  }
  std::ranges::stable_sort(changes, std::greater{}, [](const auto& one) { return one.first; });
  for (const auto& [range, new_text] : changes) {
    text.replace(range.first, range.second, new_text);
  }
  return text.bytes();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    lines.push_back(text.substr(at, end - at + 1));
    at = end + 1;
  }
  return lines;
}

/// A unified diff of one hunk, which `patch -p1` and `git apply` take. Empty when nothing differs.
std::string patch_of(const std::string& name, const std::string& before, const std::string& after) {
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(after);
  std::size_t same = 0;
  while (same < std::min(old_lines.size(), new_lines.size()) && old_lines[same] == new_lines[same]) {
    ++same;
  }
  std::size_t same_behind = 0;
  while (same_behind < std::min(old_lines.size(), new_lines.size()) - same &&
         old_lines[old_lines.size() - 1 - same_behind] == new_lines[new_lines.size() - 1 - same_behind]) {
    ++same_behind;
  }
  if (same + same_behind == old_lines.size() && old_lines.size() == new_lines.size()) {
    return {};
  }
  constexpr std::size_t kContext = 3;
  const std::size_t first = same - std::min(same, kContext);
  const std::size_t behind = std::min(same_behind, kContext);
  const std::size_t old_end = old_lines.size() - same_behind;
  const std::size_t new_end = new_lines.size() - same_behind;
  std::string patch = fmt::format("--- a/{0}\n+++ b/{0}\n@@ -{1},{2} +{3},{4} @@\n", name, first + 1,
                                  old_end + behind - first, first + 1, new_end + behind - first);
  const auto add = [&](char sign, const std::string& line) {
    patch += sign + line;
    if (!line.ends_with('\n')) {
      patch += "\n\\ No newline at end of file\n";
    }
  };
  for (std::size_t i = first; i < same; ++i) {
    add(' ', old_lines[i]);
  }
  for (std::size_t i = same; i < old_end; ++i) {
    add('-', old_lines[i]);
  }
  for (std::size_t i = same; i < new_end; ++i) {
    add('+', new_lines[i]);
  }
  for (std::size_t i = old_end; i < old_end + behind; ++i) {
    add(' ', old_lines[i]);
  }
  return patch;
}

std::string file_text(const std::string& path) {
  auto text = base::read_text(path, kMostFileBytes);
  if (!text) {
    throw ToolFailure{"Error: " + in_quotes(text.error().message(), 400)};
  }
  return std::move(*text);
}

/// Readers see the file before or after, with the permissions that it had.
void write_file(const std::string& path, const std::string& text) {
  std::error_code problem;
  const auto permissions = std::filesystem::status(path, problem).permissions();
  problem = base::write_atomically(path, text, base::FileAccess::kUmask);
  if (problem) {
    throw ToolFailure{"Error: cannot write " + in_quotes(path, 400) + ": " + problem.message() +
                      ". Apply the patch yourself."};
  }
  std::filesystem::permissions(path, permissions, problem);
}

struct FileEdit {
  std::string path;
  std::string before;
  std::string after;
};

std::vector<FileEdit> files_of(ToolContext& context, const Json& edit) {
  std::vector<FileEdit> files;
  const auto add = [&](const std::string& uri, const Json& edits) {
    const std::string path = context.path_of(context.relative(uri));
    const std::string before = file_text(path);
    files.push_back({path, before, edited(before, edits)});
  };
  for (const Json& one : edit.value("documentChanges", Json::array())) {
    add(one.at("textDocument").at("uri"), one.at("edits"));
  }
  const Json changes = edit.value("changes", Json::object());
  for (const auto& [uri, edits] : changes.items()) {
    add(uri, edits);
  }
  return files;
}

}  // namespace

base::Task<ToolAnswer> predict(ToolContext& context, Json arguments) {
  auto finding = profiled(context, arguments);
  const Profiled found = co_await std::move(finding);
  Json params = {{"profileId", found.summary.at("profileId")}};
  for (const auto& [name, member] :
       {std::pair("batch_size", "batchSize"), std::pair("samples_per_second", "samplesPerSecond"),
        std::pair("peak_bytes", "peakBytes"), std::pair("throughput_share", "throughputShare")}) {
    if (arguments.contains(name)) {
      params[member] = arguments[name];
    }
  }
  auto asking = context.ask("ridgeline/predict", std::move(params));
  const Json answered = co_await std::move(asking);
  ToolAnswer answer;
  const Json& batch = answered.at("batch");
  if (batch.is_null()) {
    answer.text = "No batch size answers that: " + answered.at("message").get<std::string>() + "\n";
    answer.structured = {{"batchSize", nullptr}, {"message", answered.at("message")}};
    co_return answer;
  }
  const Json& measured = batch.at("measured");
  const Json time = measured.is_null() ? estimate(batch.at("timeMs"), "ms", false)
                                       : figure(measured.at("timeMs"), measured.value("lowMs", Json()),
                                                measured.value("highMs", Json()), "ms", "measured");
  const Json rate = measured.is_null()
                        ? estimate(batch.at("samplesPerSecond"), "samples/s", false)
                        : figure(measured.at("samplesPerSecond"), nullptr, nullptr, "samples/s", "measured");
  const Json peak = measured.is_null() ? estimate(batch.at("peakBytes"), "bytes", false)
                                       : figure(measured.at("peakBytes"), nullptr, nullptr, "bytes", "measured");
  answer.text =
      fmt::format("Batch size {}: step {}; throughput {} samples/s; peak {}.\n", batch.at("batchSize").get<int>(),
                  estimate_text(time, ms_text), estimate_text(rate, number_text), estimate_text(peak, bytes_text));
  answer.text += batch.at("fits").is_null()     ? "Whether it fits is not known.\n"
                 : batch.at("fits").get<bool>() ? "It fits (predicted).\n"
                                                : "It does not fit (predicted).\n";
  answer.text += batch.at("extrapolated").get<bool>()
                     ? "It is outside the batch sizes that were timed: trust it less; profile with batch_sizes.\n"
                     : "";
  if (const std::string message = answered.at("message"); !message.empty()) {
    answer.text += message + "\n";
  }
  answer.structured = {{"batchSize", batch.at("batchSize")}, {"step", time},
                       {"samplesPerSecond", rate},           {"peakBytes", peak},
                       {"fits", batch.at("fits")},           {"extrapolated", batch.at("extrapolated")},
                       {"message", answered.at("message")}};
  co_return answer;
}

base::Task<ToolAnswer> what_if(ToolContext& context, Json arguments) {
  auto [path, params] = document_of(context, arguments);
  if (arguments.contains("changes")) {
    Json changes = Json::array();
    for (const Json& one : arguments["changes"]) {
      changes.push_back(Json::array({one}));
    }
    params["changes"] = std::move(changes);
  }
  if (arguments.value("search", false)) {
    params["search"] = true;
  }
  if (arguments.contains("memory_bytes")) {
    params["memoryBytes"] = arguments["memory_bytes"];
  }
  auto asking = context.ask("ridgeline/whatIf", std::move(params));
  const Json found = co_await std::move(asking);
  ToolAnswer answer;
  answer.text =
      fmt::format("Changes of the step of {} at batch size {} ({}, measured), peak {}. {}\n",
                  in_quotes(context.relative(path)), found.at("batchSize").get<int>(), ms_text(found.at("stepMs")),
                  bytes_text(found.at("peakBytes")), found.at("basisText").get<std::string>());
  Json rows = Json::array();
  for (const Json& change : found.at("changes")) {
    answer.text += change_line(change, found.at("peakBytes"));
    rows.push_back(change_row(change));
  }
  for (const Json& warning : found.at("warnings")) {
    answer.text += "Warning: " + in_quotes(warning.get<std::string>(), 300) + "\n";
  }
  answer.text += "Next: try_change proves one by running it; predictions alone prove nothing.\n";
  answer.text += kQuotedNote;
  answer.structured = {{"batchSize", found.at("batchSize")},
                       {"stepMs", found.at("stepMs")},
                       {"peakBytes", found.at("peakBytes")},
                       {"changes", std::move(rows)}};
  co_return answer;
}

base::Task<ToolAnswer> try_change(ToolContext& context, Json arguments) {
  auto [path, params] = document_of(context, arguments);
  params["change"] = arguments.at("change");
  auto asking = context.ask("ridgeline/try", std::move(params));
  const Json change = co_await std::move(asking);
  ToolAnswer answer;
  answer.text = "Run in turns with the unchanged step; no file was changed.\n" + change_line(change, nullptr);
  if (const std::string& why = change.at("notTried").get_ref<const std::string&>(); !why.empty()) {
    answer.text += "Not tried: " + in_quotes(why, 300) + "\n";
  }
  answer.text += "A verdict of same or unclear is no gain. Next: change_edit, then compare.\n";
  answer.text += kQuotedNote;
  answer.structured = change_row(change);
  co_return answer;
}

base::Task<ToolAnswer> change_edit(ToolContext& context, Json arguments) {
  auto [path, params] = document_of(context, arguments);
  params["change"] = arguments.at("change");
  auto asking = context.ask("ridgeline/changeEdit", std::move(params));
  const Json made = co_await std::move(asking);
  if (made.at("edit").is_null()) {
    throw ToolFailure{"There is no edit: " + in_quotes(made.at("noEditReason").get<std::string>(), 400) +
                      " Write the change yourself, then call compare."};
  }
  const std::vector<FileEdit> files = files_of(context, made.at("edit"));
  std::string patch;
  for (const FileEdit& file : files) {
    patch += patch_of(context.relative(file.path), file.before, file.after);
  }
  bool written = false;
  ToolAnswer answer;
  answer.text = patch;
  if (arguments.value("apply", false)) {
    bool may = context.may_edit();
    if (!may) {
      auto asking_person = context.allowed("Write this change into your files?\n\n" + patch);
      may = co_await std::move(asking_person);
    }
    if (may) {
      for (const FileEdit& file : files) {
        if (file_text(file.path) != file.before) {
          throw ToolFailure{"The file has changed meanwhile; call change_edit again."};
        }
        write_file(file.path, file.after);
      }
      written = true;
    }
    answer.text += written ? "Written. Next: compare.\n"
                           : "Not written: the person did not allow it. They can apply the patch, or start the server "
                             "with --allow-edits.\n";
  } else {
    answer.text += "Nothing was written: apply the patch, or call again with apply.\n";
  }
  answer.structured = {{"patch", patch}, {"written", written}};
  co_return answer;
}

base::Task<ToolAnswer> check(ToolContext& context, Json arguments) {
  const std::string path = context.path_of(arguments.value("file", "entry.py"));
  std::vector<std::string> command = {"check", path};
  const std::string what = "Run `ridgeline check " + context.relative(path) +
                           "`? It runs the code of this project several times, to compare its step with its budgets.";
  auto asking = context.allowed(what);
  if (!co_await std::move(asking)) {
    throw ToolFailure{"Not run: the person did not allow it. They can run it: ridgeline check " +
                      context.relative(path)};
  }
  auto running = context.run_program(std::move(command));
  const auto [code, output] = co_await std::move(running);
  ToolAnswer answer;
  answer.text = fmt::format("ridgeline check: exit code {} ({}).\n", code,
                            code == 0   ? "all budgets are kept"
                            : code == 1 ? "a budget is exceeded"
                            : code == 4 ? "the noise allows no answer"
                                        : "see the output");
  answer.text += quoted_lines(output, 6000) + kQuotedNote;
  answer.structured = {{"exitCode", code}};
  answer.is_error = code != 0 && code != 1 && code != 4;
  co_return answer;
}

}  // namespace ridgeline::assistant
