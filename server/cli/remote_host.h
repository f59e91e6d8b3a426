// Another machine, by ssh: what runs there, and our binary on it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lsp/transport/transport.h"
#include "worker/output_capture.h"
#include "worker/process.h"

namespace ridgeline::cli {

struct RemoteOptions {
  std::string host;
  std::vector<std::string> ssh;  ///< the command, with options of the user's own
  std::string program;           ///< of ridgeline there; empty: a copy of this binary
};

/// In single quotes of a POSIX shell, whatever is in it.
std::string shell_quoted(const std::string& text);

/// Our binary's place on the host, from its home folder, with the shell's variables in it.
std::string remote_program(const RemoteOptions& options);

/// One ssh: its standard input and output are a Transport. Lives on the loop; ends ssh when it is destroyed.
class RemoteProcess {
 public:
  /// `on_end`: the exit status of ssh, which is that of the command, or 255 when ssh failed; then error_output() says
  /// why.
  RemoteProcess(boost::asio::io_context& loop, worker::Reaper& reaper, const RemoteOptions& options,
                const std::string& command, worker::ExitHandler on_end);
  ~RemoteProcess();
  RemoteProcess(const RemoteProcess&) = delete;
  RemoteProcess& operator=(const RemoteProcess&) = delete;

  /// Null when ssh could not be started; on_end is then never called.
  const std::shared_ptr<lsp::Transport>& transport() const { return transport_; }
  /// What it wrote to standard error, or why it could not be started.
  std::string error_output() const;

 private:
  worker::Reaper& reaper_;
  pid_t process_ = 0;
  std::string problem_;
  std::shared_ptr<lsp::Transport> transport_;
  std::shared_ptr<worker::OutputCapture> errors_;
};

inline constexpr int kProgramMissing = 47;  ///< exit status of run_on_host() where our binary is not

/// A command for the host's shell, whichever it is: runs our binary there with `arguments`, if it is there. Else writes
/// "platform: Linux x86_64" and exits with kProgramMissing.
std::string run_on_host(const RemoteOptions& options, const std::string& arguments);

/// Runs `command` there with `input` as its standard input; what it writes to standard error goes to ours. What it
/// wrote to standard output, at most `most_bytes`. Blocks until it ends.
base::Result<std::string> output_of_host(const RemoteOptions& options, const std::string& command,
                                         const std::string& input, std::size_t most_bytes);

/// Copies this binary to the host. `run_output`: what run_on_host() wrote to standard error. Blocks until it is copied.
base::Result<void> copy_to_host(const RemoteOptions& options, const std::string& run_output);

}  // namespace ridgeline::cli
