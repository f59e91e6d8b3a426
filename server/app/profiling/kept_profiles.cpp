#include "app/profiling/kept_profiles.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "analysis/prediction/predictor.h"
#include "app/profiling/code_names.h"
#include "app/profiling/find_profile.h"
#include "app/profiling/kept_recordings.h"
#include "report/json.h"
#include "report/read_report.h"
#include "store/fingerprint.h"
#include "store/profile_store.h"
#include "worker/cache.h"
#include "worker/machine.h"

namespace ridgeline::app {

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

/// `text` and `line` as two lines, if neither is empty.
void add_line(std::string& text, const std::string& line) {
  if (!line.empty()) {
    text += (text.empty() ? "" : "\n") + line;
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

/// The options for which a profile under `stored` is not one under `wanted`.
std::vector<std::string> differing_options(const store::ProfileKey& stored, const store::ProfileKey& wanted) {
  std::vector<std::string> options;
  const auto compare = [&](const char* option, const auto& before, const auto& now) {
    if (before != now) {
      options.emplace_back(option);
    }
  };
  compare("--project-root", stored.project_root, wanted.project_root);
  compare("--python", stored.interpreter, wanted.interpreter);
  compare("--device", stored.device, wanted.device);
  compare("--memory-limit", stored.memory_limit_bytes, wanted.memory_limit_bytes);
  compare("--code", stored.code, wanted.code);
  return options;
}

/// `options`: none where the profile did not try all batch sizes of the request.
std::string unused_text(const store::ProfileRow& stored, const std::vector<std::string>& options) {
  const std::string why = options.empty() ? "it did not sample all of --batch-sizes"
                                          : fmt::format("it was made with another {}", fmt::join(options, ", "));
  return fmt::format("the stored profile {} is not used, since {}", stored.profile.id, why);
}

}  // namespace

store::ProfileKey key_of(const ProfileRequest& request, const Target& target) {
  // The version number changes with a release; the agent and the runner, which make the figures, more often.
  return {target.entry,
          target.project_root,
          target.interpreter.path,
          target.device,
          machine_name(),
          request.memory_limit_bytes,
          std::string(RIDGELINE_VERSION) + "-" + worker::sources_hash(),
          fmt::format("{}", fmt::join(normalised(request.code), ","))};
}

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string keep_profile(ProfileRun& run, const ProfileRequest& request, const Target& target, std::int64_t now_s) {
  store::ProfileStore store;
  const auto opened = store.open(target.cache);
  if (!opened) {
    return "the profile was not kept: " + opened.error().message();
  }
  std::string warning = *opened;
  run.profile.id = store::new_profile_id();
  store::KeptProfile kept{run.profile.id, now_s, run.profile.environment.torch,
                          store::take_fingerprint(run.imported_files, run.began)};
  kept.fingerprint.whole &= run.imported_files_complete;
  if (auto added = store.add(key_of(request, target), kept, report::json_report(run.profile, run.outlook)); !added) {
    run.profile.id.clear();
    add_line(warning, "the profile was not kept: " + added.error().message());
  } else {
    add_line(warning, keep_recording(target.cache, run.profile.id, run.recorded));
  }
  return warning;
}

std::string update_kept_profile(const analysis::Profile& profile, const analysis::Outlook& outlook,
                                const Target& target) {
  store::ProfileStore store;
  const auto opened = store.open(target.cache);
  if (!opened) {
    return "the result of the trial was not kept: " + opened.error().message();
  }
  std::string warning = *opened;
  if (auto replaced = store.replace(profile.id, report::json_report(profile, outlook)); !replaced) {
    add_line(warning, "the result of the trial was not kept: " + replaced.error().message());
  }
  return warning;
}

ProfileLookup find_kept_profile(const ProfileRequest& request, const Target& target) {
  store::ProfileStore store;
  const auto opened = store.open(target.cache);
  if (!opened) {
    return {std::nullopt, opened.error().message()};
  }
  ProfileLookup lookup{std::nullopt, *opened};
  const auto stored = store.find(key_of(request, target));
  if (!stored) {
    add_line(lookup.warning, stored.error().message());
    return lookup;
  }
  store::FileReader reader;
  for (const store::KeptProfile& kept : *stored) {
    if (!store::is_unchanged(kept.fingerprint, reader)) {
      continue;
    }
    const auto report = store.report(kept.id);
    if (!report) {
      add_line(lookup.warning, report.error().message());
      continue;
    }
    if (!report->has_value()) {
      continue;  // removed by another process in the meantime
    }
    auto profile = report::read_report(**report);
    if (!profile) {
      add_line(lookup.warning,
               "the stored profile " + kept.id + " cannot be read and is dropped: " + profile.error().message());
      if (auto removed = store.remove(kept.id); !removed) {
        add_line(lookup.warning, removed.error().message());
      }
    } else if (tried_all(*profile, request)) {
      analysis::fit_models(*profile);
      lookup.found = StoredProfile{std::move(*profile), kept.created_s};
      break;
    }
  }
  return lookup;
}

ProfileLookup find_named_profile(const ProfileRequest& request, const store::ProfileRow& named) {
  auto profile = find_profile(named.profile.id);
  if (!profile) {
    return {std::nullopt, profile.error().message()};
  }
  const auto target = find_target(request);  // fails where the entry is gone: then no other profile can be made
  const std::vector<std::string> options =
      target ? differing_options(named.key, key_of(request, *target)) : std::vector<std::string>();
  if (!options.empty() || !tried_all(*profile, request)) {
    return {std::nullopt, unused_text(named, options)};
  }
  store::FileReader reader;
  const std::string changed =
      store::is_unchanged(named.profile.fingerprint, reader)
          ? ""
          : fmt::format(
                "the code may have changed since the stored profile {} was made: name the file instead of the "
                "id to profile the present code",
                named.profile.id);
  return {StoredProfile{std::move(*profile), named.profile.created_s}, changed};
}

std::string unused_profile_warning(const ProfileRequest& request, const Target& target) {
  store::ProfileStore store;
  if (!store.open(target.cache)) {
    return "";  // find_kept_profile() has said why
  }
  const store::ProfileKey wanted = key_of(request, target);
  const auto stored = store.find_of_entry(wanted);
  store::FileReader reader;
  for (const store::ProfileRow& row : stored ? *stored : std::vector<store::ProfileRow>()) {
    if (store::is_unchanged(row.profile.fingerprint, reader)) {
      return unused_text(row, differing_options(row.key, wanted));
    }
  }
  return "";
}

}  // namespace ridgeline::app
