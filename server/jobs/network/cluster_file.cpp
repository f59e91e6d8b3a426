#include "jobs/network/cluster_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/toml.h"

namespace ridgeline::jobs {

namespace {

constexpr double kMostRanks = 1'000'000;
constexpr std::size_t kMostEntries = 4096;

/// Thrown within this file: the first thing that is wrong.
struct FileProblem {
  std::string message;
};

class ClusterParser {
 public:
  explicit ClusterParser(const std::string& name) : name_(name) {}

  Cluster cluster(const toml::table& document) {
    expect_keys(document, {"machine", "link", "network", "placement", "all_reduce"});
    for (const toml::table* table : tables(document, "machine")) {
      add_machine(*table);
    }
    if (cluster_.machines.empty()) {
      throw FileProblem{name_ + ": there is no [[machine]]; see `ridgeline job network --help`"};
    }
    for (const toml::table* table : tables(document, "link")) {
      add_link(*table);
    }
    if (const toml::node* node = document.get("network")) {
      const toml::table& table = as_table(*node);
      expect_keys(table, {"latency_us", "bandwidth_gbit_s"});
      cluster_.between = link(table);
    }
    place(document.get("placement"));
    if (const toml::node* node = document.get("all_reduce")) {
      add_all_reduces(as_table(*node));
    }
    return std::move(cluster_);
  }

 private:
  [[noreturn]] void refuse(const toml::node& node, const std::string& what) const {
    const toml::source_position at = node.source().begin;
    throw FileProblem{fmt::format("{}:{}:{}: {}", name_, at.line, at.column, what)};
  }

  void expect_keys(const toml::table& table, const std::set<std::string_view>& known) const {
    for (const auto& [key, value] : table) {
      if (!known.contains(key.str())) {
        refuse(value, fmt::format("\"{}\" is no key of this table: use {}", key.str(), fmt::join(known, ", ")));
      }
    }
  }

  const toml::table& as_table(const toml::node& node) const {
    if (!node.is_table()) {
      refuse(node, "this is no table");
    }
    return *node.as_table();
  }

  const toml::array& list(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      refuse(table, fmt::format("\"{}\" is missing", key));
    }
    if (!node->is_array() || node->as_array()->empty() || node->as_array()->size() > kMostEntries) {
      refuse(*node, fmt::format("\"{}\" is no list of 1 to {} entries", key, kMostEntries));
    }
    return *node->as_array();
  }

  std::vector<const toml::table*> tables(const toml::table& document, std::string_view key) const {
    std::vector<const toml::table*> found;
    if (!document.contains(key)) {
      return found;
    }
    for (const toml::node& node : list(document, key)) {
      found.push_back(&as_table(node));
    }
    return found;
  }

  double number(const toml::node& node, double least, double most) const {
    const auto value = node.value<double>();
    if (!value.has_value() || !(*value >= least && *value <= most)) {
      refuse(node, fmt::format("write a number from {:.7g} to {:.7g}", least, most));
    }
    return *value;
  }

  double number(const toml::table& table, std::string_view key, double least, double most) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      refuse(table, fmt::format("\"{}\" is missing", key));
    }
    return number(*node, least, most);
  }

  std::optional<int> whole(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      return std::nullopt;
    }
    if (!node->is_integer()) {
      refuse(*node, "write a whole number");
    }
    return static_cast<int>(number(*node, 1, kMostRanks));
  }

  std::string text(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      refuse(table, fmt::format("\"{}\" is missing", key));
    }
    const auto* string = node->as_string();
    if (string == nullptr || string->get().empty()) {
      refuse(*node, "write a text");
    }
    return string->get();
  }

  void add_machine(const toml::table& table) {
    expect_keys(table, {"name", "count", "ranks", "devices", "cores"});
    const int devices = whole(table, "devices").value_or(1);
    Machines machines{text(table, "name"), whole(table, "count").value_or(1), whole(table, "ranks").value_or(devices),
                      whole(table, "cores")};
    if (index_of_.contains(machines.name)) {
      refuse(table, "there are two machines \"" + machines.name + "\"");
    }
    index_of_[machines.name] = cluster_.machines.size();
    cluster_.machines.push_back(std::move(machines));
  }

  Link link(const toml::table& table) const {
    return {number(table, "latency_us", 0, 1e9) * 1e3, number(table, "bandwidth_gbit_s", 1e-6, 1e6) / 8};
  }

  void add_link(const toml::table& table) {
    expect_keys(table, {"from", "to", "latency_us", "bandwidth_gbit_s"});
    NamedLink named{text(table, "from"), text(table, "to"), link(table)};
    for (const std::string& end : {named.from, named.to}) {
      if (!index_of_.contains(end)) {
        refuse(table, "there is no machine \"" + end + "\"");
      }
    }
    cluster_.links.push_back(std::move(named));
  }

  void place(const toml::node* node) {
    if (node == nullptr) {
      double total = 0;
      for (std::size_t i = 0; i < cluster_.machines.size(); ++i) {
        const Machines& machines = cluster_.machines[i];
        cluster_.placement.push_back({i, static_cast<std::int64_t>(machines.count) * machines.ranks});
        total += static_cast<double>(machines.count) * machines.ranks;
      }
      if (total > kMostRanks) {
        throw FileProblem{fmt::format("{}: there are more than 1,000,000 ranks", name_)};
      }
      return;
    }
    expect_keys(as_table(*node), {"ranks"});
    std::vector<int> on(cluster_.machines.size());
    for (const toml::node& rank : list(as_table(*node), "ranks")) {
      const auto* machine = rank.as_string();
      const auto found = machine == nullptr ? index_of_.end() : index_of_.find(machine->get());
      if (found == index_of_.end()) {
        refuse(rank, "write the name of a [[machine]]");
      }
      if (cluster_.machines[found->second].count > 1) {
        refuse(rank, "a machine with a count cannot be placed by itself");
      }
      ++on[found->second];
      if (!cluster_.placement.empty() && cluster_.placement.back().machines == found->second) {
        ++cluster_.placement.back().ranks;
      } else {
        cluster_.placement.push_back({found->second, 1});
      }
    }
    for (std::size_t i = 0; i < on.size(); ++i) {
      cluster_.machines[i].ranks = on[i];
    }
  }

  void add_all_reduces(const toml::table& table) {
    expect_keys(table, {"ranks", "bytes", "time_us", "low_us", "high_us", "processor_us", "four_us", "four_low_us",
                        "four_high_us"});
    cluster_.measured_ranks = whole(table, "ranks").value_or(0);
    if (cluster_.measured_ranks < 2) {
      refuse(table, "\"ranks\" is missing, or there is only one");
    }
    const toml::array& bytes = list(table, "bytes");
    const std::size_t fours = table.contains("four_us") ? list(table, "four_us").size() : 0;
    if (fours > bytes.size()) {
      refuse(table, "\"four_us\" has more entries than \"bytes\"");
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      AllReduceTime time;
      time.bytes = number(bytes[i], 4, 1e13);
      time.ns = interval(table, {"time_us", "low_us", "high_us"}, i, bytes.size());
      time.processor_ns = table.contains("processor_us") ? entry(table, "processor_us", i, bytes.size()) : 0;
      if (i < fours) {
        time.four_ns = interval(table, {"four_us", "four_low_us", "four_high_us"}, i, fours);
      }
      if (i > 0 && time.bytes <= cluster_.measured.back().bytes) {
        refuse(bytes[i], "the sizes are not ascending");
      }
      cluster_.measured.push_back(time);
    }
  }

  struct Keys {
    std::string_view middle;
    std::string_view low;
    std::string_view high;
  };

  /// Nanoseconds. An end that the file does not have is the middle.
  analysis::Measured interval(const toml::table& table, const Keys& keys, std::size_t place, std::size_t size) const {
    const double ns = entry(table, keys.middle, place, size);
    const auto end = [&](std::string_view key) { return table.contains(key) ? entry(table, key, place, size) : ns; };
    const analysis::Measured time{ns, end(keys.low), end(keys.high)};
    if (time.low > ns || time.high < ns) {
      refuse(list(table, keys.middle)[place], fmt::format("\"{}\" is outside of its interval", keys.middle));
    }
    return time;
  }

  /// Nanoseconds.
  double entry(const toml::table& table, std::string_view key, std::size_t place, std::size_t size) const {
    const toml::array& times = list(table, key);
    if (times.size() != size) {
      refuse(times, fmt::format("\"{}\" has {} entries instead of {}", key, times.size(), size));
    }
    return number(times[place], 1e-3, 1e12) * 1e3;
  }

  const std::string& name_;
  Cluster cluster_;
  std::map<std::string, std::size_t> index_of_;
};

const Link* find_link(const Cluster& cluster, const std::string& from, const std::string& to) {
  const auto found =
      std::ranges::find_if(cluster.links, [&](const NamedLink& one) { return one.from == from && one.to == to; });
  if (found != cluster.links.end()) {
    return &found->link;
  }
  return from != to && cluster.between.has_value() ? &*cluster.between : nullptr;
}

base::Error missing(const std::string& what) {
  return base::error("the cluster's file has no link " + what +
                     ": add it as a [[link]], or run `ridgeline job network`");
}

}  // namespace

std::int64_t Cluster::ranks() const {
  return std::accumulate(placement.begin(), placement.end(), std::int64_t{0},
                         [](std::int64_t sum, const Placed& placed) { return sum + placed.ranks; });
}

base::Result<Cluster> parse_cluster(std::string_view text, const std::string& name) {
  const auto document = base::parse_toml(text, name);
  if (!document) {
    return document.error();
  }
  try {
    return ClusterParser(name).cluster(*document);
  } catch (const FileProblem& problem) {
    return base::error(problem.message);
  }
}

base::Result<std::vector<Link>> ring_links(const Cluster& cluster) {
  std::vector<Link> links;
  if (cluster.ranks() < 2) {
    return links;
  }
  std::map<std::pair<std::size_t, std::size_t>, int> crossings;  // neighbours that one link carries
  std::set<std::size_t> inside;
  for (std::size_t i = 0; i < cluster.placement.size(); ++i) {
    const Placed& placed = cluster.placement[i];
    const Machines& machines = cluster.machines[placed.machines];
    const std::int64_t on_one = machines.count > 1 ? machines.ranks : placed.ranks;
    if (on_one > 1) {
      inside.insert(placed.machines);
    }
    const std::size_t next = cluster.placement[(i + 1) % cluster.placement.size()].machines;
    if (cluster.placement.size() > 1 && next != placed.machines) {
      ++crossings[{placed.machines, next}];
    }
    if (machines.count > 1) {
      if (!cluster.between.has_value()) {
        return missing("between machines, [network],");
      }
      links.push_back(*cluster.between);
    }
  }
  for (const std::size_t one : inside) {
    const std::string& name = cluster.machines[one].name;
    const Link* link = find_link(cluster, name, name);
    if (link == nullptr) {
      return missing("from \"" + name + "\" to itself");
    }
    links.push_back(*link);
  }
  for (const auto& [ends, times] : crossings) {
    const std::string& from = cluster.machines[ends.first].name;
    const std::string& to = cluster.machines[ends.second].name;
    const Link* link = find_link(cluster, from, to);
    if (link == nullptr) {
      return missing(fmt::format("from \"{}\" to \"{}\"", from, to));
    }
    links.push_back({link->latency_ns, link->bytes_per_ns / times});
  }
  return links;
}

}  // namespace ridgeline::jobs
