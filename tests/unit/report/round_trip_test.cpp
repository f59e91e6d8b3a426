// What is written is read: profiles with random values in every member that a report has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/prediction/predictor.h"
#include "random_fields.h"
#include "report/json.h"
#include "report/read_report.h"
#include "report/report_fields.h"
#include "tests/unit/rounds.h"

namespace ridgeline::report {
namespace {

using Json = nlohmann::ordered_json;

void make_ascending(std::vector<analysis::Piece>& pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].from_batch = 1 + static_cast<int>(7 * i);
  }
}

void make_measured(analysis::TimeSample& sample, int batch_size) {
  sample.batch_size = batch_size;
  sample.ms = {2.5, 2.25, 2.75};
}

/// The relations between members that hold of every profile.
void make_consistent(analysis::Profile& profile) {
  int size = 4;
  profile.time_samples.resize(std::max<std::size_t>(1, profile.time_samples.size()));
  for (analysis::TimeSample& sample : profile.time_samples) {
    make_measured(sample, size *= 2);
  }
  profile.memory_samples.resize(profile.time_samples.size());
  for (std::size_t i = 0; i < profile.memory_samples.size(); ++i) {
    profile.memory_samples[i].batch_size = profile.time_samples[i].batch_size;
  }
  for (analysis::Check& check : profile.checks) {
    make_measured(check.time, 3);
  }
  if (auto& memory = profile.memory_over_time) {
    memory->ms.assign(3, 0);
    memory->recorded_ms = 1;
    memory->peak = 1;
    for (auto& bytes : memory->bytes) {
      bytes.assign(3, 5);
    }
    profile.peak_bytes = 5 * memory->bytes.size();
    profile.peak_known = true;
  }
  for (analysis::LineCost& line : profile.lines) {
    make_ascending(line.self_model);
  }
  for (analysis::OtherCost& other : profile.other) {
    make_ascending(other.model);
  }
  if (auto& peak = profile.peak_model) {
    peak->value.resize(std::max<std::size_t>(1, peak->value.size()));
    peak->parts.resize(peak->value.size());
    peak->high.resize(peak->low.size());
    for (auto* pieces : {&peak->value, &peak->low, &peak->high}) {
      make_ascending(*pieces);
    }
  }
}

analysis::Profile random_profile(std::mt19937& random, bool is_wild) {
  analysis::Profile profile;
  RandomFields fields(random, is_wild);
  report_fields(fields, profile, {});
  profile.id = std::string(16, 'a');
  make_consistent(profile);
  return profile;
}

TEST(RoundTrip, WhatIsWrittenIsReadAndTheSame) {
  std::mt19937 random(46);
  for (int round = 0; round < ridgeline::testing::rounds(300, 50); ++round) {
    analysis::Profile profile = random_profile(random, false);
    analysis::fit_models(profile);
    const std::string written = json_report(profile);
    auto read = read_report(written);
    ASSERT_TRUE(read.has_value()) << "round " << round << ": " << read.error().message();
    analysis::fit_models(*read);
    const std::string again = json_report(*read);
    ASSERT_EQ(written, again) << "round " << round << ": " << Json::diff(Json::parse(written), Json::parse(again));
  }
}

/// No analysis makes these on purpose; where one does after all, the profile is kept with the nearest that it may hold.
TEST(RoundTrip, WhatNoProfileShouldHoldIsReadAllTheSame) {
  std::mt19937 random(47);
  for (int round = 0; round < ridgeline::testing::rounds(300, 50); ++round) {
    const auto read = read_report(json_report(random_profile(random, true)));
    ASSERT_TRUE(read.has_value()) << "round " << round << ": " << read.error().message();
  }
}

TEST(RoundTrip, ListsAndNestingHaveEnds) {
  std::mt19937 random(48);
  analysis::Profile profile = random_profile(random, false);
  profile.warnings.assign(2000, "It is warm.");
  profile.checks.clear();
  analysis::LineCost line;
  line.location = {"net.py", 0};
  line.calls = 1;
  profile.lines = {line};
  for (int i = 0; i < 300; ++i) {
    analysis::Node outer;
    outer.children.push_back(std::move(profile.breakdown));
    profile.breakdown = std::move(outer);
  }
  const auto read = read_report(json_report(profile));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->warnings.size(), kMaxItems);
  EXPECT_EQ(read->lines.at(0).location.line, 1U);
}

}  // namespace
}  // namespace ridgeline::report
