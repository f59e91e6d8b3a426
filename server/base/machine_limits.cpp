#include "base/machine_limits.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace ridgeline::base {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The words of a file's line, by blanks.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(std::move(word));
  }
  return words;
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Nothing for "max", -1 and what is no number.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> number_in(const fs::path& path) {
  std::string text;
  std::ifstream(path) >> text;
  return number_of(text);
}

/// The number beside `key` in a file of "key number" lines.
std::optional<std::uint64_t> entry_of(const fs::path& path, std::string_view key) {
  for (const std::string& line : lines_of(path)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 2 && words[0] == key) {
      return number_of(words[1]);
    }
  }
  return std::nullopt;
}

bool lists(std::string_view list, std::string_view name) {
  return ("," + std::string(list) + ",").find("," + std::string(name) + ",") != std::string::npos;
}

/// A folder of the table of mounts, where "\040" is a blank.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && text.size() - i > 3 &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// The folder of `path` below a mount that shows what is below `mounted`; the mount itself where it does not show it.
fs::path below(const fs::path& mount, const std::string& mounted, const std::string& path) {
  const std::string prefix = mounted == "/" ? "" : mounted;
  const bool is_shown = path.starts_with(prefix + "/") && path.find("/..") == std::string::npos;
  std::error_code problem;
  fs::path folder = is_shown ? mount / fs::path(path.substr(prefix.size())).relative_path() : mount;
  while (folder != mount && !fs::is_directory(folder, problem)) {
    folder = folder.parent_path();
  }
  return folder;
}

/// The control groups of this process that limit one resource, the innermost first.
std::vector<fs::path> groups_of(const fs::path& root, std::string_view controller, bool unified) {
  std::optional<std::string> path;
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? line.starts_with("0::") : lists(controllers, controller)) {
      path = line.substr(second + 1);
    }
  }
  std::vector<fs::path> groups;
  for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
    const std::vector<std::string> words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (!path || !groups.empty() || words.size() < 6 || words.end() - dash < 4) {
      continue;
    }
    if (dash[1] != (unified ? "cgroup2" : "cgroup") || (!unified && !lists(dash[3], controller))) {
      continue;
    }
    const fs::path mount = root / fs::path(unescaped(words[4])).relative_path();
    for (fs::path folder = below(mount, unescaped(words[3]), *path);; folder = folder.parent_path()) {
      groups.push_back(folder);
      if (folder == mount || folder == folder.parent_path()) {
        break;
      }
    }
  }
  return groups;
}

/// Files that are named differently in the two versions.
struct MemoryFiles {
  std::vector<const char*> limits;
  const char* used;
  std::vector<const char*> reclaimable;  ///< entries of memory.stat
};

void limit_memory(MachineLimits& limits, const fs::path& group, const MemoryFiles& files) {
  const fs::path stat = group / "memory.stat";
  // In version 1, what groups allow that are above all that the mount shows.
  std::uint64_t limit = entry_of(stat, "hierarchical_memory_limit").value_or(kNoLimit);
  for (const char* name : files.limits) {
    limit = std::min(limit, number_in(group / name).value_or(kNoLimit));
  }
  std::uint64_t used = number_in(group / files.used).value_or(0);
  for (const char* name : files.reclaimable) {
    used -= std::min(used, entry_of(stat, name).value_or(0));
  }
  limits.memory_bytes = std::min(limits.memory_bytes, limit);
  limits.available_bytes = std::min(limits.available_bytes, limit - std::min(limit, used));
}

void limit_processors(MachineLimits& limits, std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
  if (quota && period && *quota > 0 && *period > 0) {
    const double share = static_cast<double>(*quota) / static_cast<double>(*period);
    limits.processors = std::min(limits.processors.value_or(share), share);
  }
}

}  // namespace

MachineLimits machine_limits(const std::string& root) {
  const fs::path top(root);
  const auto kibibytes = [&](const char* key) { return entry_of(top / "proc/meminfo", key).value_or(0) * 1024; };
  MachineLimits limits{kibibytes("MemTotal:"), kibibytes("MemAvailable:"), std::nullopt};
  for (const fs::path& group : groups_of(top, "memory", true)) {
    limit_memory(
        limits, group,
        {{"memory.max", "memory.high"}, "memory.current", {"inactive_file", "active_file", "slab_reclaimable"}});
  }
  for (const fs::path& group : groups_of(top, "memory", false)) {
    limit_memory(limits, group,
                 {{"memory.limit_in_bytes"}, "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}});
    if (number_in(group.parent_path() / "memory.use_hierarchy") == 0) {
      break;  // groups above it do not limit it
    }
  }
  for (const fs::path& group : groups_of(top, "cpu", true)) {
    const std::vector<std::string> lines = lines_of(group / "cpu.max");
    const std::vector<std::string> words = lines.empty() ? std::vector<std::string>{} : words_of(lines.front());
    if (words.size() == 2) {
      limit_processors(limits, number_of(words[0]), number_of(words[1]));
    }
  }
  for (const fs::path& group : groups_of(top, "cpu", false)) {
    limit_processors(limits, number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
  }
  return limits;
}

}  // namespace ridgeline::base
