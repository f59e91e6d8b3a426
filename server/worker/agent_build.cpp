#include "worker/agent_build.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "base/content_hash.h"
#include "base/executable.h"
#include "base/file.h"
#include "base/path.h"
#include "worker/cache.h"
#include "worker/interpreter.h"
#include "worker/machine.h"
#include "worker/versions.h"

namespace ridgeline::worker {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAgentFile = "_ridgeline_agent.so";
constexpr const char* kSumFile = "_ridgeline_agent.sum";  ///< what identity_of() says of the agent
constexpr std::size_t kMaxAgentBytes = std::size_t{1} << 30U;
constexpr std::size_t kMaxLogBytes = 4096;
constexpr std::uintmax_t kLeastRoom = std::uintmax_t{256} << 10U;
constexpr const char* kOtherCache = "Make room there, or set RIDGELINE_CACHE to a folder on another disk.";

std::string file_name_of(std::string text) {
  for (char& character : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '.' ||
                       character == '-' || character == '+';
    character = plain ? character : '_';
  }
  return text;
}

std::string start_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxLogBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

/// The size and the hash of a file; an error where it cannot be read.
base::Result<std::string> identity_of(const fs::path& file) {
  const base::Result<std::string> content = base::read_text(file.string(), kMaxAgentBytes);
  if (!content) {
    return content.error();
  }
  base::ContentHash hash;
  hash.add(*content);
  return std::to_string(content->size()) + " " + hash.text() + "\n";
}

/// What identity_of() says of files, read once for as long as a file does not change: it takes milliseconds, and each
/// process of a job asks for it on the event loop. For any thread.
class KnownIdentities {
 public:
  base::Result<std::string> of(const fs::path& file) {
    struct stat now = {};
    if (::stat(file.c_str(), &now) != 0) {
      return identity_of(file);
    }
    const std::scoped_lock lock(mutex_);
    const auto known = known_.find(file.string());
    if (known != known_.end() && is_same(known->second.status, now)) {
      return known->second.identity;
    }
    base::Result<std::string> identity = identity_of(file);
    if (identity && can_be_known(now)) {
      known_[file.string()] = {now, *identity};
    }
    return identity;
  }

 private:
  struct Known {
    struct stat status;
    std::string identity;
  };

  /// The kernel sets st_ctim whenever something is written, and no program can.
  static bool is_same(const struct stat& one, const struct stat& other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
           one.st_ctim.tv_sec == other.st_ctim.tv_sec && one.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
  }
  /// Whether a write that is still to come gets another time than the last one: the kernel's clock has ticks.
  static bool can_be_known(const struct stat& status) { return status.st_ctim.tv_sec + 1 < std::time(nullptr); }

  std::mutex mutex_;
  std::map<std::string, Known> known_;  ///< by path: one for each version of torch that was used
};

/// Whether the agent in the folder is what was written there.
bool is_whole(const fs::path& folder) {
  static KnownIdentities identities;
  const auto written = base::read_text((folder / kSumFile).string(), kMaxLogBytes);
  const auto found = identities.of(folder / kAgentFile);
  return written && found && *written == *found;
}

/// Whether the folder's disk has no room for another object file.
bool is_full(const std::string& folder) {
  std::error_code problem;
  const fs::space_info space = fs::space(folder, problem);
  return !problem && space.available < kLeastRoom;
}

/// What RIDGELINE_AGENT_FLAGS adds to the commands of the compiler and the linker, separated by spaces: how our tests
/// turn warnings into errors and sanitizers on. A user's build has none, so that no warning of an unknown compiler or
/// torch breaks it.
std::string extra_flags() {
  const char* flags = std::getenv("RIDGELINE_AGENT_FLAGS");  // NOLINT(concurrency-mt-unsafe): never written
  return flags == nullptr ? "" : flags;
}

void add_extra_flags(std::vector<std::string>& command) {
  std::istringstream flags(extra_flags());
  for (std::string flag; flags >> flag;) {
    command.push_back(flag);
  }
}

std::vector<std::string> compile_command(const std::string& compiler, const protocol::WorkerEnvironment& environment,
                                         const std::string& sources) {
  std::vector<std::string> command = {compiler,
                                      "-std=" + cpp_standard(environment),
                                      "-O2",
                                      "-fPIC",
                                      "-fvisibility=hidden",
                                      std::string("-D_GLIBCXX_USE_CXX11_ABI=") + (environment.cxx11_abi ? "1" : "0"),
                                      "-DRIDGELINE_TORCH_VERSION=\"" + built_for(environment.torch) + "\"",
                                      "-I" + sources,
                                      "-include",
                                      sources + "/profiler/agent/old_glibc.h"};
  for (const std::string& folder : environment.include_dirs) {
    command.insert(command.end(), {"-isystem", folder});
  }
  add_extra_flags(command);
  return command;
}

}  // namespace

namespace {

std::string folder_name(const protocol::WorkerEnvironment& environment) {
  std::string name = "torch-" + built_for(environment.torch) + "-" + environment.python_tag + "-abi" +
                     (environment.cxx11_abi ? "1" : "0") + "-" + agent_sources_hash();
  if (const std::string flags = extra_flags(); !flags.empty()) {
    base::ContentHash hash;
    hash.add(flags);
    name += "-flags-" + hash.text();
  }
  return file_name_of(name);
}

/// Folders of agents that nothing is built in.
std::vector<fs::path> bundles() {
  std::vector<fs::path> folders;
  const char* named = std::getenv("RIDGELINE_AGENTS");  // NOLINT(concurrency-mt-unsafe): never written
  if (named != nullptr && *named != '\0') {
    folders.emplace_back(named);
  }
  folders.push_back(fs::path(base::executable_path()).parent_path().parent_path() / "lib" / "ridgeline" / "agents");
  return folders;
}

fs::path built_agents(const std::string& cache) { return fs::path(cache) / "agents"; }

}  // namespace

std::string agent_path(const std::string& cache, const protocol::WorkerEnvironment& environment) {
  const std::string name = folder_name(environment);
  const fs::path built = built_agents(cache) / name;
  if (!is_whole(built)) {
    for (const fs::path& bundle : bundles()) {
      if (is_whole(bundle / name)) {
        return (bundle / name / kAgentFile).string();
      }
    }
  }
  return (built / kAgentFile).string();
}

std::vector<KnownAgent> known_agents(const std::string& cache) {
  std::vector<KnownAgent> agents;
  std::vector<fs::path> folders = bundles();
  folders.insert(folders.begin(), built_agents(cache));
  for (const fs::path& folder : folders) {
    std::error_code problem;
    for (const fs::directory_entry& one : fs::directory_iterator(folder, problem)) {
      std::string name = one.path().filename().string();
      const std::size_t hash = name.find("-", name.find("-abi") + 1);
      if (!name.starts_with("torch-") || hash == std::string::npos || !is_whole(one.path())) {
        continue;
      }
      const bool is_of_version = name.substr(hash + 1).starts_with(agent_sources_hash());
      agents.push_back(
          {(one.path() / kAgentFile).string(), name.substr(0, hash), &folder != folders.data(), is_of_version});
    }
  }
  std::ranges::sort(agents, {}, &KnownAgent::path);
  return agents;
}

bool is_bundled(const std::string& cache, const std::string& agent) {
  return !base::is_below(agent, built_agents(cache).string());
}

bool has_agent(const std::string& cache, const protocol::WorkerEnvironment& environment) {
  return is_whole(fs::path(agent_path(cache, environment)).parent_path());
}

std::error_code write_identity(const std::string& agent) {
  if (const auto problem = base::sync_to_disk(agent)) {
    return problem;
  }
  const base::Result<std::string> identity = identity_of(agent);
  return identity ? base::write_atomically((fs::path(agent).parent_path() / kSumFile).string(), *identity,
                                           base::FileAccess::kOwner)
                  : std::make_error_code(std::errc::io_error);
}

std::string find_compiler() {
  const char* wanted = std::getenv("CXX");  // NOLINT(concurrency-mt-unsafe): never written
  for (const std::string& name :
       {std::string(wanted == nullptr ? "" : wanted), std::string("c++"), std::string("g++"), std::string("clang++")}) {
    std::string found = name.empty() ? "" : find_interpreter(name, "", "").path;
    if (!found.empty()) {
      return found;
    }
  }
  return {};
}

bool AgentBuilder::prepare(const protocol::WorkerEnvironment& environment, const std::string& sources,
                           const std::string& cache) {
  if (const std::string problem = noexec_problem(cache); !problem.empty()) {
    fail(protocol::FailureKind::kCache, problem);
    return false;
  }
  const std::string compiler = find_compiler();
  if (compiler.empty()) {
    fail(protocol::FailureKind::kNoCompiler,
         "The agent must be built once for torch " + environment.torch +
             ", and there is no C++ compiler. Install one (Debian: apt-get install g++) or set CXX.");
    return false;
  }
  const fs::path agent = fs::path(sources) / "profiler" / "agent";
  const std::string untested = untested_torch(environment);
  build_failed_text_ = "The agent could not be built for torch " + environment.torch + "." +
                       (untested.empty() ? "" : " " + untested + " Install one of these, or a newer Ridgeline.");
  target_ = (built_agents(cache) / folder_name(environment) / kAgentFile).string();
  temporary_ = fs::path(target_).parent_path().string() + "." + base::unique_suffix() + ".build";
  std::error_code problem;
  fs::create_directories(temporary_, problem);
  if (problem) {
    fail(protocol::FailureKind::kCache, "Cannot make " + temporary_ + ": " + problem.message() + ". " + kOtherCache);
    return false;
  }
  link_ = {{compiler, "-shared", "-o", temporary_ + "/" + kAgentFile}, temporary_ + "/link.log"};
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(agent, problem)) {
    if (file.path().extension() != ".cpp") {
      continue;
    }
    const fs::path name = file.path().lexically_relative(agent).replace_extension("o");
    const std::string object = temporary_ + "/" + file_name_of(name.string());
    Job job{compile_command(compiler, environment, sources), object + ".log"};
    job.command.insert(job.command.end(), {"-c", file.path().string(), "-o", object});
    waiting_.push_back(std::move(job));
    link_.command.push_back(object);
  }
  for (const std::string& folder : environment.library_dirs) {
    link_.command.push_back("-L" + folder);
  }
  // Named in the agent also where the linker sees only stubs of them (cmake/packages/agents.py).
  link_.command.insert(link_.command.end(), {"-Wl,--no-as-needed", "-ltorch_python", "-ltorch_cpu", "-lc10", "-ldl"});
  add_extra_flags(link_.command);
  return true;
}

void AgentBuilder::start(const protocol::WorkerEnvironment& environment, const std::string& sources,
                         const std::string& cache) {
  cancel();
  linking_ = false;
  if (prepare(environment, sources, cache)) {
    total_ = waiting_.size() + 1;
    start_jobs();
  }
}

void AgentBuilder::start_jobs() {
  const std::size_t at_once = static_cast<std::size_t>(std::max(1.0, processor_time()));
  while (!waiting_.empty() && running_.size() < at_once) {
    const Job job = std::move(waiting_.back());
    waiting_.pop_back();
    start_job(job);
  }
}

void AgentBuilder::start_job(const Job& job) {
  const Descriptor log(::creat(job.log.c_str(), 0600));
  const base::Result<pid_t> started = spawn({job.command, temporary_, {{log.get(), 1}, {log.get(), 2}}});
  if (!started) {
    fail(protocol::FailureKind::kAgentBuildFailed, started.error().message());
    return;
  }
  const pid_t process = *started;
  running_[process] = job.log;
  reaper_.watch(process, [this, process, log_path = job.log](int status) { job_ended(process, log_path, status); });
}

void AgentBuilder::job_ended(pid_t process, const std::string& log, int status) {
  running_.erase(process);
  if (status != 0) {
    const std::string words = start_of(log);
    if (is_full(temporary_) || words.find("No space left on device") != std::string::npos) {
      fail(protocol::FailureKind::kCache,
           "There is no room left to build the agent in " + temporary_ + ". " + kOtherCache);
    } else {
      fail(protocol::FailureKind::kAgentBuildFailed, build_failed_text_ + "\n" + words);
    }
    return;
  }
  const std::size_t left = waiting_.size() + running_.size() + (linking_ ? 0 : 1);
  listener_.on_build_progress(1 - static_cast<double>(left) / static_cast<double>(total_));
  if (linking_) {
    publish();
  } else if (waiting_.empty() && running_.empty()) {
    linking_ = true;
    start_job(link_);
  } else {
    start_jobs();
  }
}

void AgentBuilder::publish() {
  const fs::path folder = fs::path(target_).parent_path();
  std::error_code problem;
  for (const fs::directory_entry& file : fs::directory_iterator(temporary_, problem)) {
    if (file.path().filename() != kAgentFile) {
      fs::remove(file.path(), problem);
    }
  }
  // Before the folder takes its place, which may otherwise be found with a part of an agent after a loss of power.
  problem = write_identity((fs::path(temporary_) / kAgentFile).string());
  if (!problem) {
    fs::rename(temporary_, folder, problem);
  }
  if (problem && !is_whole(folder)) {
    // There is a folder without an agent, or with a damaged one. Processes that have loaded it keep it.
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    fs::rename(temporary_, folder, problem);
  }
  if (!is_whole(folder)) {
    fail(protocol::FailureKind::kCache,
         "Cannot put the agent at " + target_ + ": " + problem.message() + ". " + kOtherCache);
    return;
  }
  base::sync_to_disk(folder.parent_path().string());
  fs::remove_all(temporary_, problem);
  listener_.on_build_end(std::nullopt);
}

void AgentBuilder::fail(protocol::FailureKind kind, const std::string& message) {
  cancel();
  listener_.on_build_end(protocol::failure_of(kind, "build", message));
}

void AgentBuilder::cancel() {
  for (const auto& [process, log] : running_) {
    signal_group(process, SIGKILL);
    reaper_.watch(process, [](int /*status*/) {});
  }
  running_.clear();
  waiting_.clear();
  if (!temporary_.empty()) {
    std::error_code problem;
    fs::remove_all(temporary_, problem);
    temporary_.clear();
  }
}

}  // namespace ridgeline::worker
