#include "cli/remote_command.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random_digits.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/remote_host.h"
#include "cli/runtime.h"
#include "cli/terminal.h"
#include "lsp/session/uri.h"
#include "lsp/transport/resumable.h"
#include "lsp/transport/stream_transport.h"
#include "protocol/lsp.h"

namespace ridgeline::cli {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kFirstPause{250};  ///< before reconnecting
constexpr std::chrono::milliseconds kLongestPause{8000};
constexpr std::size_t kIdBytes = 16;  ///< of a link

struct RemoteSession {
  RemoteOptions host;
  std::vector<lsp::PathMap> maps;
};

/// The editor on standard input and output, a link to the daemon on the host, and the ssh that carries it now.
class Remote {
 public:
  Remote(boost::asio::io_context& loop, RemoteSession options, std::string id)
      : loop_(loop),
        options_(std::move(options)),
        reaper_(loop),
        retry_(loop),
        interrupts_(loop, SIGINT, SIGTERM),
        id_(std::move(id)),
        link_(std::make_shared<lsp::Resumable>(loop)) {}

  int run() {
    auto streams = lsp::take_standard_streams(loop_);
    if (!streams) {
      return cli::fail(streams.error());
    }
    editor_ = std::move(*streams);
    interrupts_.async_wait([this](const auto& problem, int /*signal*/) {
      if (!problem) {
        finish(kExitOk);
      }
    });
    editor_->start({[this](std::string message) { from_editor(std::move(message)); },
                    [this](const std::string& /*reason*/) { finish(1); }});
    link_->on_detach([this](const std::string& reason) { lost(reason); });
    link_->start({[this](std::string message) { editor_->send(std::move(message)); },
                  [this](const std::string& reason) { ended(reason); }});
    connect();
    loop_.run();
    return exit_code_;
  }

 private:
  // ---- the editor

  void from_editor(std::string message) {
    // Only these few matter here, and they are short; `initialize` comes first and once.
    if (!initialized_ || message.size() < 256) {
      const json read = json::parse(message, nullptr, false);
      const std::string method = read.is_object() ? read.value("method", "") : "";
      if (method == "initialize") {
        initialized_ = true;
        message = for_host(read).dump(-1, ' ', false, json::error_handler_t::replace);
      } else if (method == "shutdown") {
        exit_code_ = kExitOk;
      } else if (method == "exit" && !link_->attached()) {
        finish(exit_code_);
        return;
      }
    }
    link_->send(std::move(message));
  }

  /// The editor's process is not on the host, and folders may have other names there.
  json for_host(json initialize) const {
    json& params = initialize["params"];
    if (params.is_object()) {
      params["processId"] = nullptr;
      for (const lsp::PathMap& map : options_.maps) {
        json& options = params["initializationOptions"];
        if (!options.is_object()) {
          options = json::object();
        }
        options["pathMaps"].push_back({{"local", map.local}, {"remote", map.remote}});
      }
    }
    return initialize;
  }

  /// Shows a message to the user, on the terminal and, once it is initialized, in the editor.
  void notify(protocol::MessageType type, const std::string& text) {
    print_error(text);
    if (initialized_ && was_connected_) {
      editor_->send(json{{"jsonrpc", "2.0"},
                         {"method", "window/showMessage"},
                         {"params", protocol::MessageParams{type, "Ridgeline: " + text}}}
                        .dump(-1, ' ', false, json::error_handler_t::replace));
    }
  }

  // ---- the connection

  void connect() {
    greeted_ = false;
    ssh_ = std::make_unique<RemoteProcess>(loop_, reaper_, options_.host, run_on_host(options_.host, "relay"),
                                           [this](int status) { ssh_ended(status); });
    const auto connection = ssh_->transport();
    if (connection == nullptr) {
      fail(ssh_->error_output());
      return;
    }
    connection->send(encode(lsp::LinkGreeting{id_, link_->received()}));
    connection->start({[this, weak = std::weak_ptr(connection)](const std::string& frame) {
                         if (const auto here = weak.lock()) {
                           greeted(here, frame);
                         }
                       },
                       [](const std::string& /*reason*/) {}});  // ssh_ended() reports the reason
  }

  void greeted(const std::shared_ptr<lsp::Transport>& connection, const std::string& frame) {
    if (frame == lsp::kLinkGone) {
      fail("the daemon on " + options_.host.host + " was restarted, and the session with it is lost");
      return;
    }
    const auto greeting = lsp::parse_greeting(frame);
    if (!greeting.has_value() || greeting->id != id_) {
      fail("the program that answers on " + options_.host.host + " is not ridgeline");
      return;
    }
    greeted_ = true;
    if (was_connected_) {
      notify(protocol::MessageType::kInfo, "reconnected to " + options_.host.host + ".");
    }
    was_connected_ = true;
    pause_ = kFirstPause;
    link_->attach(connection, greeting->received);
  }

  void ssh_ended(int status) {
    if (finished_ || greeted_) {
      return;  // the link has noticed, or will
    }
    const std::string output = ssh_->error_output();
    if (status == kProgramMissing && !copied_) {
      print_error("copying this program to " + options_.host.host);
      const base::Result<void> copied = copy_to_host(options_.host, output);
      copied_ = copied.has_value();
      if (copied_) {
        connect();
      } else {
        fail(copied.error().message());
      }
    } else if (was_connected_) {
      try_later();
    } else {
      fail(output.empty() ? "ssh ended with status " + std::to_string(status) : output);
    }
  }

  void lost(const std::string& reason) {
    if (finished_) {
      return;
    }
    notify(protocol::MessageType::kWarning, "the connection to " + options_.host.host + " was lost" +
                                                (reason.empty() ? "" : " (" + reason + ")") +
                                                ". Runs on the host continue; reconnecting.");
    try_later();
  }

  void try_later() {
    ssh_.reset();
    retry_.expires_after(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    retry_.async_wait([this](const auto& problem) {
      if (!problem && !finished_) {
        connect();
      }
    });
  }

  // ---- the end

  void fail(const std::string& reason) {
    print_error(options_.host.host + " cannot be used: " + reason);
    finish(kExitEnvironment);
  }

  /// The daemon has ended the session.
  void ended(const std::string& reason) {
    if (!reason.empty()) {
      print_error("the session on " + options_.host.host + " has ended: " + reason);
    }
    finish(exit_code_);
  }

  void finish(int exit_code) {
    if (std::exchange(finished_, true)) {
      return;
    }
    exit_code_ = exit_code;
    link_->close();
    editor_->close();
    retry_.cancel();
    interrupts_.cancel();
    // Leaves ssh a second to send the last messages.
    retry_.expires_after(std::chrono::seconds(1));
    retry_.async_wait([this](const auto& /*problem*/) {
      ssh_.reset();
      reaper_.close();
    });
  }

  boost::asio::io_context& loop_;
  RemoteSession options_;
  worker::Reaper reaper_;
  boost::asio::steady_timer retry_;
  boost::asio::signal_set interrupts_;
  std::string id_;
  std::shared_ptr<lsp::Resumable> link_;
  std::shared_ptr<lsp::Transport> editor_;
  std::unique_ptr<RemoteProcess> ssh_;
  std::chrono::milliseconds pause_ = kFirstPause;
  bool initialized_ = false;
  bool greeted_ = false;        ///< on the current connection
  bool was_connected_ = false;  ///< at least once
  bool copied_ = false;
  bool finished_ = false;
  int exit_code_ = 1;
};

}  // namespace

void add_remote_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RemoteSession>();
  options->host.ssh = {"ssh"};
  CLI::App* command = app.add_subcommand(
      "remote", "Serve an editor here and profile on another machine, over ssh, in place of `serve`.");
  command->add_option("HOST", options->host.host, "Host as ssh knows it: a name of its configuration, or USER@HOST")
      ->required()
      ->check(host_name(""));
  add_ssh_option(*command, options->host.ssh);
  command->add_option("--program", options->host.program,
                      "Path of ridgeline on the host; without it, this program is copied there if it is missing");
  command->add_option("--map", "LOCAL=REMOTE: a folder here, and what it is called there; may be repeated")
      ->each([options](const std::string& text) {
        if (auto map = lsp::parse_path_map(text)) {
          options->maps.push_back(std::move(*map));
        } else {
          throw CLI::ValidationError("--map", text + " is not LOCAL=REMOTE");
        }
      })
      ->take_all();
  command->footer(
      "Examples:\n"
      "  ridgeline remote gpu-box --map ~/project=/data/project\n"
      "  ridgeline remote me@host --ssh-option=-p2222");
  command->callback([options, &exit_code] {
    ::signal(SIGPIPE, SIG_IGN);
    auto id = base::random_digits(kIdBytes);
    if (!id) {
      print_error(id.error().message());
      exit_code = kExitEnvironment;
      return;
    }
    boost::asio::io_context loop(1);
    exit_code = Remote(loop, *options, std::move(*id)).run();
  });
}

}  // namespace ridgeline::cli
