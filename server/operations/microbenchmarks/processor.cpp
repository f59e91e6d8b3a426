#include "operations/microbenchmarks/processor.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>

namespace ridgeline::operations {

namespace {

constexpr int kMaxProcessors = 4096;
constexpr int kMaxCaches = 16;

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "48K", "32M", "64". 0 where it is no number.
double size_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number <= 0) {
    return 0;
  }
  const char unit = end == text.data() + text.size() ? ' ' : *end;
  return static_cast<double>(number) * (unit == 'K' ? 1024.0 : unit == 'M' ? 1024.0 * 1024 : 1.0);
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> allowed;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) {
        allowed.push_back(static_cast<int>(i));
      }
    }
  }
  return allowed.empty() ? std::vector<int>{0} : allowed;
}

}  // namespace

int count_of_list(const std::string& list) {
  int count = 0;
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    int first = 0;
    const char* stop = list.data() + end;
    auto [next, problem] = std::from_chars(list.data() + at, stop, first);
    int last = first;
    if (problem == std::errc() && next != stop && *next == '-') {
      std::from_chars(next + 1, stop, last);
    }
    if (problem == std::errc() && last >= first && last - first < kMaxProcessors) {
      count += last - first + 1;
    }
    at = end + 1;
  }
  return count;
}

Processor read_processor(const std::string& root) {
  Processor processor;
  std::set<std::string> seen;
  int siblings = 1;
  for (const int number : allowed_processors()) {
    const std::string threads = line_of(root + "/cpu" + std::to_string(number) + "/topology/thread_siblings_list");
    if (threads.empty() || seen.insert(threads).second) {
      processor.cores.push_back(number);
      siblings = std::max(siblings, count_of_list(threads));
    }
  }
  const int cores = static_cast<int>(processor.cores.size());
  const std::string folder = root + "/cpu" + std::to_string(processor.cores.front()) + "/cache/index";
  for (int i = 0; i < kMaxCaches; ++i) {
    const std::string index = folder + std::to_string(i);
    const double size = size_of(line_of(index + "/size"));
    const std::string type = line_of(index + "/type");
    if (size <= 0 || (type != "Data" && type != "Unified")) {
      continue;
    }
    const int shared = std::max(1, count_of_list(line_of(index + "/shared_cpu_list")) / siblings);
    const double line = size_of(line_of(index + "/coherency_line_size"));
    processor.caches.push_back(
        {"L" + line_of(index + "/level"), size, std::min(shared, cores), line > 0 ? line : 64, std::nullopt});
  }
  std::ranges::sort(processor.caches, {}, &MemoryLevel::name);
  return processor;
}

}  // namespace ridgeline::operations
