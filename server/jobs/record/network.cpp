#include "jobs/record/network.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/time/models.h"
#include "base/json_problem.h"
#include "protocol/json_fields.h"

namespace ridgeline::jobs {

namespace {

constexpr std::size_t kMost = 4096;
constexpr std::uint64_t kLarge = 1U << 20U;
constexpr double kBits = 8;

const nlohmann::json::array_t& list_at(const nlohmann::json& value, const char* name) {
  const auto& items = value.at(name).get_ref<const nlohmann::json::array_t&>();
  if (items.empty() || items.size() > kMost) {
    throw std::invalid_argument(std::string(name) + " is empty or too long");
  }
  return items;
}

double measured(const nlohmann::json& value) {
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number <= 0) {
    throw std::invalid_argument("a figure is not positive");
  }
  return number;
}

Range range_from(const nlohmann::json& value) {
  return {measured(value.at(0)), measured(value.at(1)), measured(value.at(2))};
}

MeasuredLink link_from(const nlohmann::json& value) {
  MeasuredLink link;
  value.at("from").get_to(link.from);
  value.at("to").get_to(link.to);
  link.latency_ns = range_from(value.at("latencyNs"));
  for (const nlohmann::json& time : list_at(value, "times")) {
    link.times.push_back({protocol::member<std::uint64_t>(time, "bytes"), protocol::member<int>(time, "rounds"),
                          range_from(time.at("ns"))});
  }
  link.alone_bytes_per_s = measured(value.at("aloneBytesPerS"));
  link.both_ways_bytes_per_s = measured(value.at("bothWaysBytesPerS"));
  if (value.contains("twoPairsBytesPerS")) {
    link.two_pairs_bytes_per_s = measured(value.at("twoPairsBytesPerS"));
  }
  return link;
}

double gbit(double bytes_per_s) { return bytes_per_s * kBits / 1e9; }

/// A basic string of TOML.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// `key = [...]`, microseconds.
template <typename Value>
std::string row_toml(const char* key, const std::vector<MeasuredAllReduce>& all, Value value) {
  std::string text = fmt::format("{} = [", key);
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += fmt::format("{}{:.2f}", i > 0 ? ", " : "", value(all[i]) / 1e3);
  }
  return text + "]\n";
}

/// The table of a cluster's file.
std::string all_reduce_toml(const MeasuredNetwork& network) {
  const auto& all = network.all_reduces;
  std::string text = fmt::format("\n[all_reduce]\nranks = {}\nbytes = [", network.ranks.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", all[i].bytes);
  }
  text += "]\n" + row_toml("time_us", all, [](const MeasuredAllReduce& one) { return one.ns.value; }) +
          row_toml("low_us", all, [](const MeasuredAllReduce& one) { return one.ns.low; }) +
          row_toml("high_us", all, [](const MeasuredAllReduce& one) { return one.ns.high; }) +
          row_toml("processor_us", all, [](const MeasuredAllReduce& one) { return one.processor_ns.value; });
  const auto without = std::ranges::find_if(all, [](const auto& one) { return !one.four_at_once_ns.has_value(); });
  const std::vector<MeasuredAllReduce> small(all.begin(), without);
  if (small.empty()) {
    return text;
  }
  return text + row_toml("four_us", small, [](const MeasuredAllReduce& one) { return one.four_at_once_ns->value; }) +
         row_toml("four_low_us", small, [](const MeasuredAllReduce& one) { return one.four_at_once_ns->low; }) +
         row_toml("four_high_us", small, [](const MeasuredAllReduce& one) { return one.four_at_once_ns->high; });
}

std::string size_text(std::uint64_t bytes) {
  return bytes >= kLarge ? fmt::format("{} MiB", bytes >> 20U) : fmt::format("{} KiB", bytes >> 10U);
}

std::string sharing_text(const MeasuredLink& link) {
  std::string text = fmt::format("alone {:.3g} Gbit/s; both directions at once {:.3g} Gbit/s each",
                                 gbit(link.alone_bytes_per_s), gbit(link.both_ways_bytes_per_s));
  if (link.two_pairs_bytes_per_s.has_value()) {
    text += fmt::format("; two pairs of processes at once {:.3g} Gbit/s each", gbit(*link.two_pairs_bytes_per_s));
  }
  return text;
}

}  // namespace

base::Result<MeasuredNetwork> parse_network(std::string_view text) {
  try {
    const nlohmann::json value = nlohmann::json::parse(text);
    MeasuredNetwork network;
    for (const nlohmann::json& machine : list_at(value, "machines")) {
      network.machines.push_back({machine.at("name").get<std::string>(), protocol::member<int>(machine, "devices"),
                                  protocol::member<int>(machine, "cores")});
    }
    for (const nlohmann::json& rank : list_at(value, "ranks")) {
      network.ranks.push_back(rank.get<std::string>());
    }
    for (const nlohmann::json& link : list_at(value, "links")) {
      network.links.push_back(link_from(link));
    }
    for (const nlohmann::json& one : list_at(value, "allReduces")) {
      network.all_reduces.push_back({protocol::member<std::uint64_t>(one, "bytes"),
                                     protocol::member<int>(one, "rounds"), range_from(one.at("ns")),
                                     range_from(one.at("processorNs"))});
      if (one.contains("fourAtOnceNs")) {
        network.all_reduces.back().four_at_once_ns = range_from(one.at("fourAtOnceNs"));
      }
    }
    return network;
  } catch (const std::exception& problem) {
    return base::error(base::json_problem(problem.what()));
  }
}

double bandwidth_gbit_s(const MeasuredLink& link) {
  std::vector<double> rates;
  for (const MessageTime& time : link.times) {
    const double transfer_ns = time.ns.value - 2 * link.latency_ns.value;
    if (time.bytes >= kLarge && transfer_ns > 2 * link.latency_ns.value) {
      rates.push_back(static_cast<double>(time.bytes) * kBits / transfer_ns);
    }
  }
  const MessageTime& largest = link.times.back();
  return rates.empty() ? static_cast<double>(largest.bytes) * kBits / largest.ns.value : analysis::median(rates);
}

std::string network_toml(const MeasuredNetwork& network) {
  std::string text = "# Measured by `ridgeline job network`, with send and recv of torch.distributed over Gloo.\n";
  for (const MeasuredMachine& machine : network.machines) {
    text += fmt::format("\n[[machine]]\nname = {}\ndevices = {}\ncores = {}\n", quoted(machine.name), machine.devices,
                        machine.cores);
  }
  for (const MeasuredLink& link : network.links) {
    text += fmt::format(
        "\n# 95 % interval of the latency: {:.3g} to {:.3g} us; {}\n[[link]]\nfrom = {}\nto = {}\n"
        "latency_us = {:.2f}\nbandwidth_gbit_s = {:.3f}\n",
        link.latency_ns.low / 1e3, link.latency_ns.high / 1e3, sharing_text(link), quoted(link.from), quoted(link.to),
        link.latency_ns.value / 1e3, bandwidth_gbit_s(link));
  }
  text += "\n[placement]\nranks = [";
  for (std::size_t i = 0; i < network.ranks.size(); ++i) {
    text += (i > 0 ? ", " : "") + quoted(network.ranks[i]);
  }
  return text + "]\n" + all_reduce_toml(network);
}

std::string network_text(const MeasuredNetwork& network) {
  std::string text;
  for (const MeasuredLink& link : network.links) {
    text += fmt::format("{} to {}: latency {:.3g} µs ({:.3g} to {:.3g}), {:.3g} Gbit/s\n  {:>10}{:>14}{:>26}{:>12}\n",
                        link.from, link.to, link.latency_ns.value / 1e3, link.latency_ns.low / 1e3,
                        link.latency_ns.high / 1e3, bandwidth_gbit_s(link), "message", "with answer", "95 % interval",
                        "rounds");
    for (const MessageTime& time : link.times) {
      text += fmt::format("  {:>10}{:>14}{:>26}{:>12}\n", size_text(time.bytes),
                          fmt::format("{:.1f} µs", time.ns.value / 1e3),
                          fmt::format("{:.1f} to {:.1f} µs", time.ns.low / 1e3, time.ns.high / 1e3), time.rounds);
    }
    text += "  large messages: " + sharing_text(link) + "\n\n";
  }
  text += fmt::format("all-reduce of {} ranks\n  {:>10}{:>14}{:>26}{:>14}{:>16}\n", network.ranks.size(), "tensor",
                      "time", "95 % interval", "processor", "four at once");
  for (const MeasuredAllReduce& one : network.all_reduces) {
    const std::string four =
        one.four_at_once_ns.has_value() ? fmt::format("{:.1f} µs", one.four_at_once_ns->value / 1e3) : "";
    text += fmt::format("  {:>10}{:>14}{:>26}{:>14}{:>16}\n", size_text(one.bytes),
                        fmt::format("{:.1f} µs", one.ns.value / 1e3),
                        fmt::format("{:.1f} to {:.1f} µs", one.ns.low / 1e3, one.ns.high / 1e3),
                        fmt::format("{:.1f} µs", one.processor_ns.value / 1e3), four);
  }
  return text;
}

}  // namespace ridgeline::jobs
