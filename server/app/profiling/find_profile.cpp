#include "app/profiling/find_profile.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "analysis/build_profile.h"
#include "analysis/prediction/predictor.h"
#include "base/file.h"
#include "report/read_report.h"
#include "store/profile_store.h"
#include "worker/cache.h"

namespace ridgeline::app {

namespace {

constexpr std::uintmax_t kMostReportBytes = 512U << 20U;

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

base::Result<store::ProfileStore> kept_profiles() {
  const auto cache = worker::cache_folder();
  if (!cache) {
    return base::error(cache.error().message());
  }
  store::ProfileStore store;
  if (const auto opened = store.open(*cache); !opened) {
    return base::error(opened.error().message());
  }
  return store;
}

base::Result<std::string> kept_report(const std::string& id) {
  auto store = kept_profiles();
  if (!store) {
    return store.error();
  }
  auto report = store->report(id);
  if (!report) {
    return base::error(report.error().message());
  }
  if (!report->has_value()) {
    return base::error("no profile " + id + " is stored, and there is no such file");
  }
  return std::move(**report);
}

}  // namespace

base::Result<analysis::Profile> find_profile(const std::string& name) {
  std::error_code problem;
  const bool kept = is_id(name) && !std::filesystem::exists(name, problem);
  const auto text = kept ? kept_report(name) : base::read_text(name, kMostReportBytes);
  if (!text) {
    return text.error();
  }
  auto profile = report::read_report(*text);
  if (!profile) {
    return base::error(name + " is not a report of Ridgeline's in JSON: " + profile.error().message());
  }
  analysis::fit_models(*profile);
  return std::move(*profile);
}

base::Result<std::string> last_profile_id(const std::string& folder) {
  auto store = kept_profiles();
  if (!store) {
    return store.error();
  }
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::canonical(folder, problem);
  auto id = store->newest_in(problem ? folder : real.string());
  if (!id) {
    return id.error();
  }
  if (!id->has_value()) {
    return base::error("there is no stored profile of an entry point in this folder; run `ridgeline profile` first");
  }
  return std::move(**id);
}

}  // namespace ridgeline::app
