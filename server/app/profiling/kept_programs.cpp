#include "app/profiling/kept_programs.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/profiling/known_device.h"
#include "base/file.h"
#include "base/json_problem.h"

namespace ridgeline::app {

namespace {

using nlohmann::json;

constexpr std::uintmax_t kMostProgramBytes = 4U << 20U;

/// Beside the processor's description: both are of the same processors.
std::string programs_path(const std::string& cache) {
  const std::filesystem::path device = device_path(cache);
  return (device.parent_path() / (device.stem().string() + "-programs.json")).string();
}

double positive(const json& value) {
  const double number = value.get<double>();
  return std::isfinite(number) && number > 0 ? number : throw std::runtime_error("a ratio or a time is not positive");
}

KeptProgram read(const json& one) {
  KeptProgram kept{one.at("threads").get<int>(),
                   one.at("torch").get<std::string>(),
                   {one.at("key").get<std::string>(), one.at("operation").get<std::string>(), positive(one.at("ratio")),
                    positive(one.at("low")), positive(one.at("high")), positive(one.at("libraryNs"))}};
  if (kept.timed.operation.empty() || kept.timed.low > kept.timed.ratio || kept.timed.ratio > kept.timed.high) {
    throw std::runtime_error("a program has no operation, or no interval");
  }
  return kept;
}

bool same_conditions(const KeptProgram& a, const KeptProgram& b) {
  return a.threads == b.threads && a.torch == b.torch && a.timed.key == b.timed.key;
}

}  // namespace

std::string kept_programs_json(std::span<const KeptProgram> programs) {
  json all = json::array();
  for (const KeptProgram& kept : programs) {
    all.push_back({{"threads", kept.threads},
                   {"torch", kept.torch},
                   {"key", kept.timed.key},
                   {"operation", kept.timed.operation},
                   {"ratio", kept.timed.ratio},
                   {"low", kept.timed.low},
                   {"high", kept.timed.high},
                   {"libraryNs", kept.timed.library_ns}});
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

base::Result<std::vector<KeptProgram>> parse_kept_programs(const std::string& text) {
  try {
    std::vector<KeptProgram> programs;
    for (const json& one : json::parse(text)) {
      programs.push_back(read(one));
    }
    programs.resize(std::min(programs.size(), kMaxKeptPrograms));
    return programs;
  } catch (const std::exception& problem) {
    return base::error(base::json_problem(problem.what()));
  }
}

std::vector<KeptProgram> with_programs(std::vector<KeptProgram> more, std::span<const KeptProgram> kept) {
  const std::size_t count = more.size();
  for (const KeptProgram& old : kept) {
    const auto end = more.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find_if(more.begin(), end, [&](const KeptProgram& one) { return same_conditions(one, old); }) == end) {
      more.push_back(old);
    }
  }
  more.resize(std::min(more.size(), kMaxKeptPrograms));
  return more;
}

std::vector<operations::TimedProgram> timed_like(std::span<const KeptProgram> programs, int threads,
                                                 const std::string& torch) {
  std::vector<operations::TimedProgram> timed;
  for (const KeptProgram& kept : programs) {
    if (kept.threads == threads && kept.torch == torch) {
      timed.push_back(kept.timed);
    }
  }
  return timed;
}

base::Result<std::vector<KeptProgram>> kept_programs(const std::string& cache) {
  const std::string path = programs_path(cache);
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) {
    return std::vector<KeptProgram>();
  }
  const auto text = base::read_text(path, kMostProgramBytes);
  auto programs = text ? parse_kept_programs(*text) : base::Result<std::vector<KeptProgram>>(text.error());
  return programs ? std::move(programs)
                  : base::error(path + " is not a list of programs: " + programs.error().message());
}

base::Result<void> keep_programs(const std::string& cache, std::vector<KeptProgram> programs) {
  const auto before = kept_programs(cache);
  const auto all = with_programs(std::move(programs), before ? *before : std::vector<KeptProgram>());
  const std::string path = programs_path(cache);
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  problem = base::write_atomically(path, kept_programs_json(all), base::FileAccess::kOwner);
  if (problem) {
    return base::error(path + ": cannot be written: " + problem.message());
  }
  return {};
}

}  // namespace ridgeline::app
