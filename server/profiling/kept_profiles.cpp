#include "profiling/kept_profiles.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "analysis/prediction/predictor.h"
#include "report/json.h"
#include "report/read_report.h"
#include "store/fingerprint.h"
#include "store/profile_store.h"
#include "worker/cache.h"
#include "worker/machine.h"

namespace ridgeline::profiling {

namespace {

/// What a step may run on here: the processor, and the GPUs that it may see.
std::string machine_name() {
  std::string name = worker::processor_name();
  const std::vector<std::string> gpus = worker::nvidia_gpus().value_or(std::vector<std::string>{});
  for (const std::string& gpu : gpus) {
    name += " + " + gpu;
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe): never written
  return gpus.empty() || visible == nullptr ? name : name + ", visible: " + visible;
}

store::ProfileKey key_of(const ProfileRequest& request, const Target& target) {
  // The version number changes with a release; the agent and the runner, which make the figures, more often.
  return {target.entry,
          target.project_root,
          target.interpreter.path,
          target.device,
          machine_name(),
          request.memory_limit_bytes,
          std::string(RIDGELINE_VERSION) + "-" + worker::sources_hash()};
}

void add_words(std::string& text, const std::string& more) {
  if (!more.empty()) {
    text += (text.empty() ? "" : "\n") + more;
  }
}

/// Whether the profile tried every batch size that the request names.
bool tried_all(const analysis::Profile& profile, const ProfileRequest& request) {
  return std::ranges::all_of(request.batch_sizes, [&](int size) {
    return std::ranges::find(profile.memory_samples, size, &analysis::MemorySample::batch_size) !=
               profile.memory_samples.end() ||
           std::ranges::find(profile.skipped, size, &analysis::Skipped::batch_size) != profile.skipped.end();
  });
}

}  // namespace

std::int64_t seconds_since_1970(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

void keep_profile(ProfileRun& run, const ProfileRequest& request, const Target& target, std::string& warning) {
  store::ProfileStore store;
  std::string error;
  if (!store.open(target.cache, warning, error)) {
    add_words(warning, "the profile was not kept: " + error);
    return;
  }
  run.profile.id = store::new_profile_id();
  store::KeptProfile kept{run.profile.id, seconds_since_1970(std::chrono::system_clock::now()),
                          run.profile.environment.torch, store::take_fingerprint(run.imported_files, run.began)};
  kept.fingerprint.whole &= run.imported_files_complete;
  if (!store.add(key_of(request, target), kept, report::json_report(run.profile, run.outlook), error)) {
    run.profile.id.clear();
    add_words(warning, "the profile was not kept: " + error);
  }
}

void update_kept_profile(const analysis::Profile& profile, const analysis::Outlook& outlook, const Target& target,
                         std::string& warning) {
  store::ProfileStore store;
  std::string error;
  if (!store.open(target.cache, warning, error) ||
      !store.replace(profile.id, report::json_report(profile, outlook), error)) {
    add_words(warning, "what was tried is not kept: " + error);
  }
}

std::optional<KeptAnswer> find_kept_profile(const ProfileRequest& request, const Target& target, std::string& warning) {
  store::ProfileStore store;
  std::string error;
  if (!store.open(target.cache, warning, error)) {
    add_words(warning, error);
    return std::nullopt;
  }
  std::optional<KeptAnswer> answer;
  store::FileReader reader;
  for (const store::KeptProfile& kept : store.find(key_of(request, target), error)) {
    if (!store::is_unchanged(kept.fingerprint, reader)) {
      continue;
    }
    const std::optional<std::string> report = store.report(kept.id, error);
    std::string problem;
    std::optional<analysis::Profile> profile =
        report.has_value() ? report::read_report(*report, problem) : std::nullopt;
    if (report.has_value() && !profile.has_value()) {
      add_words(warning, "the stored profile " + kept.id + " cannot be read and is dropped: " + problem);
      store.remove(kept.id, error);
    } else if (profile.has_value() && tried_all(*profile, request)) {
      analysis::fit_models(*profile);
      answer = KeptAnswer{std::move(*profile), kept.created_s};
      break;
    }
  }
  add_words(warning, error);
  return answer;
}

}  // namespace ridgeline::profiling
