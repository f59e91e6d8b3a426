#include "report/read_report.h"

#include <algorithm>
#include <exception>

#include <nlohmann/json.hpp>

#include "base/json_problem.h"
#include "report/json_reader.h"
#include "report/report_fields.h"

namespace ridgeline::report {
namespace {

bool was_timed(const analysis::Profile& profile, const analysis::MemorySample& sample) {
  return std::ranges::find(profile.time_samples, sample.batch_size, &analysis::TimeSample::batch_size) !=
         profile.time_samples.end();
}

}  // namespace

base::Result<analysis::Profile> read_report(std::string_view json_text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(json_text);
    analysis::Profile profile;
    Reader reader(json);
    report_fields(reader, profile, {});
    const auto is_timed = [&](const analysis::MemorySample& sample) { return was_timed(profile, sample); };
    Reader::check((!profile.memory_samples.empty() || !profile.batch_size_known) &&
                      std::ranges::all_of(profile.memory_samples, is_timed),
                  "it has no samples, or some of memory without a time");
    return profile;
  } catch (const std::exception& problem) {
    return base::error(base::json_problem(problem.what()));
  }
}

}  // namespace ridgeline::report
