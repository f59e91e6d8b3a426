#include "cli/serve_command.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/daemon.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/log.h"
#include "editor/server.h"
#include "worker/process.h"

namespace ridgeline::cli {

namespace asio = boost::asio;

namespace {

/// Lets the calling thread run as soon as it wakes, also when the threads of a timed step have all processors: asks for
/// slices of the shortest length. sched_setattr(2), since Linux 6.12; older kernels ignore it. Not for what the thread
/// starts.
void run_in_short_slices() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};  // struct sched_attr, whose header clashes with <sched.h>
  attributes.size = sizeof attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0) {
    attributes.flags = 1;  // SCHED_FLAG_RESET_ON_FORK
    attributes.runtime = 100'000;
    ::syscall(SYS_sched_setattr, 0, &attributes, 0);
  }
}

/// Runs the loop to its end, whatever is thrown on the way: one client's error must not end the sessions of the others.
void run_to_end(asio::io_context& loop) {
  for (;;) {
    try {
      loop.run();
      return;
    } catch (const std::exception& problem) {
      spdlog::error("unhandled exception in the event loop: {}", problem.what());
    }
  }
}

int serve(const ServeOptions& options) {
  log_to_standard_error();
  ::signal(SIGPIPE, SIG_IGN);
  worker::raise_descriptor_limit();
  run_in_short_slices();
  asio::io_context loop(1);
  editor::Server server(loop);
  Daemon daemon(loop, server.service(), options);
  asio::signal_set interrupts(loop, SIGINT, SIGTERM);
  interrupts.async_wait([&daemon](const auto& problem, int /*signal*/) {
    if (!problem) {
      daemon.stop("interrupted");
    }
  });
  daemon.on_stop([&] {
    interrupts.cancel();
    server.stop();
  });
  if (const base::Result<void> started = daemon.start(); !started) {
    return fail(started.error());
  }
  run_to_end(loop);
  return daemon.exit_code();
}

std::string check_path_map(const std::string& text) {
  return lsp::parse_path_map(text).has_value() ? "" : text + " is not LOCAL=REMOTE";
}

constexpr const char* kWhere = "Where the client is (one of)";

}  // namespace

void add_serve_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Serve editors, by the Language Server Protocol.");
  CLI::Option* stdio = command->add_flag("--stdio", options->stdio, "Standard input and output (the default)");
  CLI::Option* pipe = command->add_option("--pipe", options->pipe,
                                          "Unix socket: connects to the client that listens there, else listens");
  CLI::Option* port =
      command
          ->add_option(
              "--socket", options->port,
              "TCP port on 127.0.0.1: connects to a client that listens there, else listens; 0 picks a free port")
          ->check(CLI::Range(0, 65535));
  stdio->excludes(pipe)->excludes(port)->group(kWhere);
  pipe->excludes(port)->group(kWhere);
  port->group(kWhere);
  command->add_option("--token-file", options->token_file,
                      "File with the token that clients must send when listening on a port; created if it is missing");
  command
      ->add_option("--idle-exit", options->idle_exit_s,
                   "Seconds without a client after which a listening daemon exits; 0: never")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  command->add_option("--clientProcessId", options->process, "Process id of the client: the daemon exits when it ends")
      ->check(CLI::Range(1, std::numeric_limits<pid_t>::max()));
  command
      ->add_option_function<std::vector<std::string>>(
          "--map",
          [options](const std::vector<std::string>& maps) {
            for (const std::string& map : maps) {
              options->path_maps.add(*lsp::parse_path_map(map));
            }
          },
          "LOCAL=REMOTE: a folder as the client names it, and as it is called here; may be repeated")
      ->check(CLI::Validator(check_path_map, "LOCAL=REMOTE"))
      ->take_all();
  command->footer(
      "Examples:\n"
      "  ridgeline serve --stdio\n"
      "  ridgeline serve --socket 0 --token-file ~/.ridgeline-token");
  command->callback([options, &exit_code] { exit_code = serve(*options); });
}

}  // namespace ridgeline::cli
