#include "cli/remote_host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/executable.h"
#include "lsp/transport/stream_transport.h"

namespace ridgeline::cli {

namespace {

constexpr const char* kFolder = "${XDG_CACHE_HOME:-$HOME/.cache}/ridgeline/bin";
constexpr std::string_view kPlatform = "platform: ";

std::string for_any_shell(const std::string& script) { return "sh -c " + shell_quoted(script); }

std::vector<std::string> ssh_arguments(const RemoteOptions& options, const std::string& command) {
  std::vector<std::string> arguments = options.ssh;
  // No questions: nobody could answer them. A connection that is gone is known within 15 seconds.
  for (const char* option : {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3"}) {
    arguments.insert(arguments.end(), {"-o", option});
  }
  arguments.insert(arguments.end(), {"-T", "--", options.host, command});
  return arguments;
}

std::string platform_here() {
  utsname names{};
  ::uname(&names);
  return std::string(names.sysname) + " " + names.machine;
}

/// The program of this version for another platform: in the folder that RIDGELINE_PROGRAMS names, else beside this one,
/// in ../lib/ridgeline/programs; of a platform that does not run Linux, none.
std::string program_for(const std::string& platform) {
  constexpr std::string_view kLinux = "Linux ";
  const std::string machine = platform.starts_with(kLinux) ? platform.substr(kLinux.size()) : "";
  const bool is_name = !machine.empty() && std::ranges::all_of(machine, [](char each) {
    return each == '_' || (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z');
  });
  const char* named = std::getenv("RIDGELINE_PROGRAMS");  // NOLINT(concurrency-mt-unsafe): never written
  const std::string folder =
      named != nullptr && *named != '\0'
          ? named
          : std::filesystem::path(base::executable_path()).parent_path().string() + "/../lib/ridgeline/programs";
  return is_name ? folder + "/" + machine + "/ridgeline" : "";
}

/// A file that is gone when it is closed, at its beginning; empty where there is none.
worker::Descriptor file_with(const std::string& content) {
  worker::Descriptor file(::memfd_create("ridgeline", MFD_CLOEXEC));
  std::size_t written = 0;
  while (file.get() >= 0 && written < content.size()) {
    const ssize_t count = ::write(file.get(), content.data() + written, content.size() - written);
    if (count < 0 && errno != EINTR) {
      return {};
    }
    written += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// All that comes until the other end is closed, or `most_bytes` and what one read gives more.
std::string read_all(int descriptor, std::size_t most_bytes) {
  std::string output;
  std::array<char, 65536> chunk{};
  ssize_t count = 0;
  while (output.size() <= most_bytes &&
         ((count = ::read(descriptor, chunk.data(), chunk.size())) > 0 || (count < 0 && errno == EINTR))) {
    output.append(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return output;
}

int end_status_of(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// The platform that run_on_host() wrote; empty when it did not.
std::string platform_in(const std::string& output) {
  const std::size_t at = output.rfind(kPlatform);
  if (at == std::string::npos) {
    return {};
  }
  const std::size_t begin = at + kPlatform.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) {
    result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return result + "'";
}

std::string remote_program(const RemoteOptions& options) {
  return options.program.empty() ? std::string(kFolder) + "/ridgeline-" + base::executable_version() : options.program;
}

RemoteProcess::RemoteProcess(boost::asio::io_context& loop, worker::Reaper& reaper, const RemoteOptions& options,
                             const std::string& command, std::function<void(int)> on_end)
    : reaper_(reaper) {
  auto [ours, theirs] = worker::socket_pair();
  auto [errors_read, errors_write] = worker::pipe_pair();
  if (ours.get() < 0 || errors_read.get() < 0) {
    problem_ = "there are no file descriptors left";
    return;
  }
  const worker::SpawnOptions spawn{
      ssh_arguments(options, command),
      "",
      {{theirs.get(), STDIN_FILENO}, {theirs.get(), STDOUT_FILENO}, {errors_write.get(), STDERR_FILENO}}};
  const base::Result<pid_t> started = worker::spawn(spawn);
  if (!started) {
    problem_ = started.error().message();
    return;
  }
  process_ = *started;
  errors_ = std::make_shared<worker::OutputCapture>(loop, std::move(errors_read));
  errors_->start();
  const int socket = ours.release();
  transport_ = std::make_shared<lsp::StreamTransport>(loop, socket, socket);
  reaper_.watch(process_, [this, on_end = std::move(on_end)](int status) {
    process_ = 0;
    on_end(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
  });
}

RemoteProcess::~RemoteProcess() {
  if (process_ != 0) {
    worker::signal_group(process_, SIGTERM);
    reaper_.watch(process_, [](int) {});
  }
  if (transport_ != nullptr) {
    transport_->close();
  }
  if (errors_ != nullptr) {
    errors_->close();
  }
}

std::string RemoteProcess::error_output() const {
  std::string output = errors_ != nullptr ? errors_->tail() : problem_;
  while (!output.empty() && (output.back() == '\n' || output.back() == '\r')) {
    output.pop_back();
  }
  return output;
}

std::string run_on_host(const RemoteOptions& options, const std::string& arguments) {
  return for_any_shell("p=\"" + remote_program(options) + "\"; [ -x \"$p\" ] || { echo \"" + std::string(kPlatform) +
                       "$(uname -s) $(uname -m)\" >&2; exit " + std::to_string(kProgramMissing) + "; }; exec \"$p\" " +
                       arguments);
}

base::Result<std::string> output_of_host(const RemoteOptions& options, const std::string& command,
                                         const std::string& input, std::size_t most_bytes) {
  const worker::Descriptor file = file_with(input);
  auto [read_end, write_end] = worker::pipe_pair();
  if (file.get() < 0 || read_end.get() < 0) {
    return base::error("there are no file descriptors left");
  }
  const base::Result<pid_t> process =
      worker::spawn({ssh_arguments(options, for_any_shell(command)),
                     "",
                     {{file.get(), STDIN_FILENO}, {write_end.get(), STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}}});
  if (!process) {
    return process.error();
  }
  write_end.reset();
  std::string output = read_all(read_end.get(), most_bytes);
  read_end.reset();
  const int status = end_status_of(*process);
  if (output.size() > most_bytes) {
    return base::error("it wrote more than is expected");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return base::error(worker::describe_end(status));
  }
  return output;
}

base::Result<void> copy_to_host(const RemoteOptions& options, const std::string& run_output) {
  if (!options.program.empty()) {
    return base::error(options.program + " is not there, or cannot be run");
  }
  const std::string platform = platform_in(run_output);
  const bool is_other = platform != platform_here();
  const worker::Descriptor binary(
      ::open(is_other ? program_for(platform).c_str() : "/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (binary.get() < 0) {
    return base::error("it is " + (platform.empty() ? "an unknown platform" : platform) + ", this is " +
                       platform_here() +
                       ": install ridgeline there, and name it with --program; or put that platform's program of this "
                       "version at MACHINE/ridgeline, as `uname -m` names the machine, in a folder that "
                       "RIDGELINE_PROGRAMS names");
  }
  const std::string program = remote_program(options);
  const std::string command =
      for_any_shell("umask 077; d=\"" + std::string(kFolder) + "\"; p=\"" + program +
                    "\"; mkdir -p \"$d\" && cat > \"$p.$$\" && chmod 700 \"$p.$$\" && mv -f \"$p.$$\" \"$p\"");
  auto [errors_read, errors_write] = worker::pipe_pair();
  const base::Result<pid_t> process = worker::spawn(
      {ssh_arguments(options, command), "", {{binary.get(), STDIN_FILENO}, {errors_write.get(), STDERR_FILENO}}});
  if (!process) {
    return process.error();
  }
  errors_write.reset();
  const std::string output = read_all(errors_read.get(), std::size_t{1} << 20U);
  errors_read.reset();
  const int status = end_status_of(*process);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return base::error("this program could not be copied there: " +
                       (output.empty() ? worker::describe_end(status) : output));
  }
  return {};
}

}  // namespace ridgeline::cli
