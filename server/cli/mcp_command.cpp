#include "cli/mcp_command.h"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/profiling/request.h"
#include "assistant/mcp_server.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/log.h"
#include "cli/terminal.h"
#include "editor/consent.h"
#include "editor/server.h"
#include "lsp/transport/stream_transport.h"
#include "worker/process.h"

namespace ridgeline::cli {

namespace asio = boost::asio;

namespace {

struct McpArguments {
  std::string project;
  std::string allow;
  std::string python;
  bool allow_edits = false;
};

/// Only a person at a terminal can answer: an assistant that runs commands has none.
int allow(const McpArguments& arguments) {
  app::ProfileRequest request;
  request.entry = arguments.allow;
  request.python = arguments.python;
  if (const std::string problem = app::entry_problem(request.entry); !problem.empty()) {
    print_error(problem);
    return kExitUsage;
  }
  const auto target = app::find_target(request);
  if (!target) {
    write_to_error(failure_text(target.error(), ""));
    return kExitEnvironment;
  }
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) {
    print_error("--allow asks a person: run it in a terminal.");
    return kExitUsage;
  }
  editor::Consent consent;
  const auto asked_about = consent.identify(*target);
  if (!asked_about.has_value()) {
    print_error("the project of " + target->entry + " cannot be determined.");
    return kExitEnvironment;
  }
  write_to_error(printable_lines(
      fmt::format("Assistants may then have Ridgeline run {}, and what it imports from {}, as you, with {}.\n"
                  "Allow this? Type yes: ",
                  target->entry, target->project_root, target->interpreter.path)));
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "yes") {
    print_error("not allowed.");
    return kExitUsage;
  }
  const auto agreement = consent.agree(*target, *asked_about);
  if (!agreement.holds || !agreement.warning.empty()) {
    print_error(agreement.holds ? agreement.warning : "something else came to that path meanwhile; run it again.");
    return kExitEnvironment;
  }
  print_error("allowed, for what is there now.");
  return kExitOk;
}

int serve_assistant(const McpArguments& arguments) {
  std::error_code problem;
  const std::filesystem::path folder =
      std::filesystem::canonical(arguments.project.empty() ? "." : arguments.project, problem);
  if (problem || !std::filesystem::is_directory(folder)) {
    print_error("--project " + arguments.project + ": " + (problem ? problem.message() : "not a folder"));
    return kExitUsage;
  }
  log_to_standard_error();
  ::signal(SIGPIPE, SIG_IGN);
  worker::raise_descriptor_limit();
  asio::io_context loop(1);
  auto transport = lsp::take_standard_streams(loop, lsp::Framing::kLine);
  if (!transport) {
    return fail(transport.error());
  }
  editor::Server server(loop);
  asio::signal_set interrupts(loop, SIGINT, SIGTERM);
  assistant::McpServer mcp(
      loop, std::move(*transport), server.service(),
      {folder.string(), arguments.allow_edits, std::filesystem::read_symlink("/proc/self/exe"), arguments.python},
      [&] { interrupts.cancel(); });
  interrupts.async_wait([&](const auto& /*ended*/, int /*signal*/) {
    mcp.stop();
    server.stop();
  });
  mcp.start();
  for (;;) {
    try {
      loop.run();
      return kExitOk;
    } catch (const std::exception& thrown) {
      print_error(std::string("unhandled exception in the event loop: ") + thrown.what());
    }
  }
}

}  // namespace

void add_mcp_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<McpArguments>();
  CLI::App* command =
      app.add_subcommand("mcp", "Serve assistants on standard input and output, by the Model Context Protocol.");
  command->add_option("--project", arguments->project, "Folder whose files may be named; default: the current one");
  command->add_option("--python", arguments->python, "Python interpreter with the project's packages");
  command->add_flag("--allow-edits", arguments->allow_edits, "Let the tool change_edit write files without asking");
  command->add_option("--allow", arguments->allow,
                      "Ask you, in this terminal, whether assistants may have code of this entry point run; then exit");
  command->footer(
      "Examples:\n"
      "  ridgeline mcp --project ~/training\n"
      "  ridgeline mcp --allow entry.py");
  command->callback([arguments, &exit_code] {
    exit_code = arguments->allow.empty() ? serve_assistant(*arguments) : allow(*arguments);
  });
}

}  // namespace ridgeline::cli
