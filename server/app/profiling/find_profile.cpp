#include "app/profiling/find_profile.h"

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

base::Error no_profile(const std::string& id) {
  return base::error("no profile " + id + " is stored, and there is no such file");
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
    return no_profile(id);
  }
  return std::move(**report);
}

bool is_id(const std::string& name) {
  std::error_code problem;
  return store::is_profile_id(name) && !std::filesystem::exists(name, problem);
}

}  // namespace

base::Result<analysis::Profile> find_profile(const std::string& name) {
  const auto text = is_id(name) ? kept_report(name) : base::read_text(name, kMostReportBytes);
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

base::Result<store::ProfileRow> last_profile(const std::string& folder) {
  auto store = kept_profiles();
  if (!store) {
    return store.error();
  }
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::canonical(folder, problem);
  auto last = store->newest_in(problem ? folder : real.string());
  if (!last) {
    return last.error();
  }
  if (!last->has_value()) {
    return base::error("there is no stored profile of an entry point in this folder; run `ridgeline profile` first");
  }
  return std::move(**last);
}

base::Result<std::vector<store::ProfileRow>> profiles_below(const std::string& folder) {
  auto store = kept_profiles();
  if (!store) {
    return store.error();
  }
  return store->find_below(folder);
}

base::Result<std::optional<store::ProfileRow>> last_profile_of(const std::string& entry) {
  auto store = kept_profiles();
  if (!store) {
    return store.error();
  }
  std::error_code problem;
  return store->newest_of(std::filesystem::canonical(entry, problem).string());
}

base::Result<std::optional<store::ProfileRow>> profile_of_id(const std::string& name) {
  if (!is_id(name)) {
    return std::optional<store::ProfileRow>();
  }
  auto store = kept_profiles();
  if (!store) {
    return store.error();
  }
  auto found = store->find_id(name);
  if (found && !found->has_value()) {
    return no_profile(name);
  }
  return found;
}

}  // namespace ridgeline::app
