#include "editor/editor_methods.h"

#include <string_view>
#include <utility>

#include "editor/code_lens.h"
#include "editor/document_methods.h"
#include "editor/inlay_hint.h"
#include "editor/job_requests.h"
#include "editor/open_report.h"
#include "editor/profile_methods.h"
#include "editor/what_if_methods.h"
#include "protocol/json_fields.h"

namespace ridgeline::editor {

namespace {

using Command = base::Task<lsp::Outcome> (*)(Context, CommandParams);

const std::map<std::string, Command, std::less<>> kCommands = {{"ridgeline.cancel", cancel_command},
                                                               {"ridgeline.compareDevices", compare_devices_command},
                                                               {"ridgeline.openJob", open_job_command},
                                                               {"ridgeline.openReport", open_report_command},
                                                               {"ridgeline.optimizeJob", optimize_job_command},
                                                               {"ridgeline.profile", profile_command},
                                                               {"ridgeline.run", run_command},
                                                               {"ridgeline.setBatchSize", set_batch_size_command}};

base::Task<lsp::Outcome> execute_command(Context context, CommandParams params) {
  const auto command = kCommands.find(params.command);
  if (command == kCommands.end()) {
    throw protocol::InvalidValue("command: there is no " + params.command.substr(0, 80));
  }
  return command->second(std::move(context), std::move(params));
}

/// Every request that a client may send.
template <typename Visit>
void for_each_method(Visit visit) {
  visit(on_document<HoverParams>("textDocument/hover", hover_of));
  visit(on_document<RangeParams>("textDocument/inlayHint", inlay_hints));
  visit(on_document<DocumentParams>("textDocument/codeLens", code_lenses));
  visit(on_document<CodeActionParams>("textDocument/codeAction", actions_of));
  visit(on_document<DocumentParams>("textDocument/diagnostic", document_diagnostics));
  visit(on_profile("ridgeline/breakdown", breakdown));
  visit(on_profile("ridgeline/costliest", costliest));
  visit(on_profile("ridgeline/predictions", predictions));
  visit(task("ridgeline/changeEdit", change_edit));
  visit(task("ridgeline/entryPoint", entry_point));
  visit(task("ridgeline/job", job));
  visit(task("ridgeline/lineCosts", line_costs));
  visit(task("ridgeline/predict", predict));
  visit(task("ridgeline/profile", profile));
  visit(task("ridgeline/report", report_page));
  visit(task("ridgeline/run", run_script));
  visit(task("ridgeline/setBatchSize", set_batch_size));
  visit(task("ridgeline/status", status));
  visit(task("ridgeline/summary", summary));
  visit(task("ridgeline/try", try_change));
  visit(task("ridgeline/whatIf", what_if));
  visit(task("workspace/executeCommand", execute_command));
}

}  // namespace

std::map<std::string, lsp::RequestHandler, std::less<>> requests(const ContextOf& context_of) {
  std::map<std::string, lsp::RequestHandler, std::less<>> handlers;
  for_each_method([&](const auto& method) { handlers.emplace(method.name, method.handler(context_of)); });
  return handlers;
}

std::vector<std::string> own_methods() {
  std::vector<std::string> names = {"ridgeline/output", "ridgeline/profileChanged"};
  for_each_method([&](const auto& method) {
    if (std::string_view(method.name).starts_with("ridgeline/")) {
      names.emplace_back(method.name);
    }
  });
  return names;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto& [name, run] : kCommands) {
    names.push_back(name);
  }
  return names;
}

}  // namespace ridgeline::editor
