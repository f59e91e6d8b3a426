#include "jobs/record/job_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "base/content_hash.h"
#include "base/json_problem.h"
#include "jobs/record/record_json.h"
#include "protocol/json_fields.h"

namespace ridgeline::jobs {

namespace {

using nlohmann::json;
using protocol::member;

constexpr std::string_view kMagic = "RIDGEJOB";
constexpr std::size_t kHashBytes = 16;

struct Start {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t header_bytes;
};
static_assert(sizeof(Start) == 24);

std::string hash_of(std::string_view bytes) {
  base::ContentHash hash;
  hash.add(bytes);
  return hash.text();
}

json header_of(const Job& job) {
  json ranks = json::array();
  for (const JobRank& rank : job.ranks) {
    ranks.push_back({{"record", record_json(rank.record)},
                     {"batchSize", rank.batch_size},
                     {"timesNs", rank.times_ns},
                     {"dataWaitNs", rank.data_wait_ns},
                     {"recordingBytes", rank.recording->size()}});
  }
  return {{"command", job.command},
          {"torch", job.torch},
          {"projectRoot", job.scope.project_root},
          {"environmentRoots", job.scope.environment_roots},
          {"warnings", job.warnings},
          {"ranks", std::move(ranks)}};
}

JobRank rank_from(const json& value, std::string_view& recordings) {
  JobRank rank;
  rank.record = record_from(value.at("record"));
  rank.batch_size = member<int>(value, "batchSize");
  value.at("timesNs").get_to(rank.times_ns);
  value.at("dataWaitNs").get_to(rank.data_wait_ns);
  const auto size = member<std::uint64_t>(value, "recordingBytes");
  if (size > recordings.size()) {
    throw std::invalid_argument("a recording is cut off");
  }
  const auto is_time = [](double ns) { return std::isfinite(ns) && ns >= 0; };
  if (rank.batch_size < 1 || !std::ranges::all_of(rank.times_ns, is_time) || !is_time(rank.data_wait_ns)) {
    throw std::invalid_argument("a figure of a rank is out of range");
  }
  rank.recording = std::make_shared<const std::string>(recordings.substr(0, size));
  recordings.remove_prefix(size);
  return rank;
}

Job job_from(const json& header, std::string_view recordings) {
  Job job;
  header.at("command").get_to(job.command);
  header.at("torch").get_to(job.torch);
  header.at("projectRoot").get_to(job.scope.project_root);
  header.at("environmentRoots").get_to(job.scope.environment_roots);
  header.at("warnings").get_to(job.warnings);
  const auto& ranks = header.at("ranks").get_ref<const json::array_t&>();
  if (ranks.empty() || ranks.size() > kMaxJobRanks) {
    throw std::invalid_argument("it has no ranks, or too many");
  }
  for (const json& rank : ranks) {
    job.ranks.push_back(rank_from(rank, recordings));
    if (job.ranks.size() > 1 && job.ranks.back().record.rank <= job.ranks[job.ranks.size() - 2].record.rank) {
      throw std::invalid_argument("its ranks are not in order");
    }
  }
  if (!recordings.empty()) {
    throw std::invalid_argument("there is more than its header says");
  }
  return job;
}

}  // namespace

std::string serialise_job(const Job& job) {
  const std::string header = header_of(job).dump(-1, ' ', false, json::error_handler_t::replace);
  Start start{{}, kJobVersion, 0, header.size()};
  std::memcpy(start.magic, kMagic.data(), sizeof(start.magic));
  std::string bytes(sizeof(start), '\0');
  std::memcpy(bytes.data(), &start, sizeof(start));
  bytes += header;
  for (const JobRank& rank : job.ranks) {
    bytes += *rank.recording;
  }
  return bytes + hash_of(bytes);
}

base::Result<Job> parse_job(const std::string& bytes) {
  Start start{};
  if (bytes.size() >= sizeof(start)) {
    std::memcpy(&start, bytes.data(), sizeof(start));
  }
  if (std::string_view(start.magic, sizeof(start.magic)) != kMagic) {
    return base::error("It is not the file of a job. `ridgeline profile --job FILE` writes one.");
  }
  if (start.version != kJobVersion) {
    return base::error(fmt::format("It has version {}, and this ridgeline reads version {}. Record the job again.",
                                   start.version, kJobVersion));
  }
  const std::string_view all(bytes);
  if (all.size() < sizeof(start) + kHashBytes || start.header_bytes > all.size() - sizeof(start) - kHashBytes ||
      hash_of(all.substr(0, all.size() - kHashBytes)) != all.substr(all.size() - kHashBytes)) {
    return base::error("It is cut off or damaged. Copy it again, or record the job again.");
  }
  try {
    const std::string_view content = all.substr(sizeof(start), all.size() - sizeof(start) - kHashBytes);
    return job_from(json::parse(content.substr(0, start.header_bytes)), content.substr(start.header_bytes));
  } catch (const std::exception& problem) {
    return base::error(fmt::format("It is invalid: {}. Record the job again.", base::json_problem(problem.what())));
  }
}

std::vector<std::int64_t> common_steps(const std::vector<RankRecord>& ranks) {
  std::vector<std::int64_t> common;
  for (const Iteration& one : ranks.empty() ? std::vector<Iteration>{} : ranks.front().iterations) {
    const bool everywhere = std::ranges::all_of(ranks, [&](const RankRecord& rank) {
      return std::ranges::find(rank.iterations, one.step, &Iteration::step) != rank.iterations.end();
    });
    if (everywhere) {
      common.push_back(one.step);
    }
  }
  return common;
}

}  // namespace ridgeline::jobs
