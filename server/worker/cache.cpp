#include "worker/cache.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/content_hash.h"
#include "base/errno_text.h"
#include "base/file.h"
#include "worker/embedded_sources.h"
#include "worker/process.h"

namespace ridgeline::worker {

namespace {

namespace fs = std::filesystem;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once at start, never written
  return value == nullptr ? "" : value;
}

std::string home_folder() {
  std::string home = environment_variable("HOME");
  if (!home.empty()) {
    return home;
  }
  // Not getpwuid(), which loads libraries of the system's C library: this program has its own.
  const std::unique_ptr<FILE, int (*)(FILE*)> users(::fopen("/etc/passwd", "re"), &::fclose);
  for (const passwd* user = nullptr;
       users && (user = ::fgetpwent(users.get())) != nullptr;) {  // NOLINT(concurrency-mt-unsafe)
    if (user->pw_uid == ::getuid()) {
      return user->pw_dir;
    }
  }
  return "";
}

bool has_content(const fs::path& path, std::string_view content) {
  std::error_code problem;
  if (!fs::is_regular_file(path, problem)) {
    return false;  // to read a folder throws
  }
  std::ifstream file(path, std::ios::binary);
  const std::string present{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return file && present == content;
}

}  // namespace

bool close_to_others(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return false;
  }
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if ((status.st_mode & kOthers) == 0) {
    return true;
  }
  // A file system without modes takes the call and changes nothing.
  return ::fchmod(opened.get(), status.st_mode & S_IRWXU) == 0 && ::fstat(opened.get(), &status) == 0 &&
         (status.st_mode & kOthers) == 0;
}

base::Result<std::string> cache_folder() {
  std::string folder = environment_variable("RIDGELINE_CACHE");
  if (folder.empty()) {
    const std::string base = environment_variable("XDG_CACHE_HOME");
    folder = (base.empty() ? home_folder() + "/.cache" : base) + "/ridgeline";
  }
  std::error_code problem;
  folder = fs::absolute(folder, problem).string();
  fs::create_directories(fs::path(folder).parent_path(), problem);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::error(base::with_errno("cannot make the cache folder " + folder) +
                       ". Set RIDGELINE_CACHE to a folder that you can write to.");
  }
  if (!close_to_others(folder)) {
    return base::error(
        "the cache folder " + folder +
        " is not yours alone: it must be a folder that you own and that nobody else can write to. Change that, or set "
        "RIDGELINE_CACHE to another folder.");
  }
  return folder;
}

namespace {

/// Of those whose paths do not begin so.
std::string hash_of_sources(std::string_view left_out) {
  base::ContentHash hash;
  for (const base::EmbeddedFile& file : embedded_files()) {
    if (left_out.empty() || !std::string_view(file.path).starts_with(left_out)) {
      hash.add(file.path);
      hash.end_part();
      hash.add(file.content);
      hash.end_part();
    }
  }
  return hash.text();
}

}  // namespace

std::string sources_hash() { return hash_of_sources(""); }

std::string agent_sources_hash() { return hash_of_sources("profiler/runner/"); }

std::string noexec_problem(const std::string& folder) {
  struct statvfs system {};
  const bool is_noexec = ::statvfs(folder.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
  return is_noexec ? "Nothing that is compiled in " + folder +
                         " can be loaded: its file system is mounted noexec. Set RIDGELINE_CACHE to a folder where "
                         "programs may run."
                   : "";
}

base::Result<std::string> unpack_sources(const std::string& cache) {
  const fs::path root = fs::path(cache) / "sources" / sources_hash();
  for (const base::EmbeddedFile& file : embedded_files()) {
    const fs::path path = root / file.path;
    if (has_content(path, file.content)) {
      continue;
    }
    std::error_code problem;
    fs::create_directories(path.parent_path(), problem);
    if (problem) {
      return base::error("cannot make " + path.parent_path().string() + ": " + problem.message());
    }
    if (const auto failed =
            base::write_atomically(path.string(), file.content, base::FileAccess::kUmask, base::Durability::kNone)) {
      return base::error("cannot write " + path.string() + ": " + failed.message());
    }
  }
  return root.string();
}

base::Result<std::string> runner_file(const std::string& cache, const std::string& name) {
  auto sources = unpack_sources(cache);
  return sources ? base::Result<std::string>(*sources + "/profiler/runner/ridgeline_runner/" + name) : sources.error();
}

}  // namespace ridgeline::worker
