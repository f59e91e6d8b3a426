// `ridgeline_collective_bench FILE BYTES...`: an all-reduce of each size on the cluster of the file, in nanoseconds,
// one a line: the time and both ends of its interval.
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>

#include "jobs/network/cluster_file.h"
#include "jobs/network/collective_times.h"

int main(int count, char** values) {
  const std::span<char*> arguments(values, static_cast<std::size_t>(count));
  if (count < 3) {
    return 2;
  }
  std::ifstream file(arguments[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto cluster = ridgeline::jobs::parse_cluster(text, arguments[1]);
  if (!cluster) {
    std::cerr << cluster.error().message() << '\n';
    return 1;
  }
  const auto times = ridgeline::jobs::CollectiveTimes::of(*cluster);
  if (!times) {
    std::cerr << times.error().message() << '\n';
    return 1;
  }
  for (char* const bytes : arguments.subspan(2)) {
    const auto time = times->all_reduce(std::stod(bytes));
    std::cout << time.ns.value << ' ' << time.ns.low << ' ' << time.ns.high << '\n';
  }
}
