// The page and the text of a job of two ranks.
#include <gmock/gmock.h>

#include "report/rendered_job.h"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Two steps of 10 ms. Rank 0 waits in each for 4 ms, of which 3 ms are for rank 1.
analysis::JobReport job() {
  analysis::JobReport job;
  job.command = "torchrun <train>.py";
  job.steps = {7, 8};
  for (int rank = 0; rank < 2; ++rank) {
    analysis::RecordedRankFigures& figures = job.ranks.emplace_back();
    figures = {rank, "node & co", 9.0, {}, {}};
    figures.communication = analysis::Communication{rank, 2, 10, rank == 0 ? 4.0 : 1.0, 0.0, 2, {}};
    figures.communication->lines = {{{"train.py", 22}, rank == 0 ? 4.0 : 1.0, 0.0, 2}};
    figures.computing = {{{"train.py", 21}, 5.5}, {{"train.py", 22}, 0.25}};
    analysis::RankTimeline& line = job.timelines.emplace_back();
    line = {rank, {{0, 10}, {10, 20}}, {}, {{9, 10}, {19, 20}}, {{2, 4}}};
    if (rank == 0) {
      line.waiting = {{6, 9}, {16, 19}};
    }
  }
  job.slower = analysis::SlowerRank{1, 0.6, true, {"train.py", 21}, true};
  job.warnings = {"a <b>warning</b>"};
  return job;
}

TEST(JobHtml, DrawsTheRanksToScale) {
  const std::string html = html_job_report(job());
  // 300 pixels for the first step of 10 ms.
  EXPECT_THAT(html, HasSubstr("<rect class=\"rank\" x=\"180.0\" y=\"25\" width=\"90.0\" height=\"16\"><title>waits for "
                              "another rank, 3.00 ms</title>"));
  EXPECT_THAT(html, HasSubstr("<rect class=\"network\" x=\"570.0\" y=\"25\" width=\"30.0\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"hidden\" x=\"60.0\" y=\"73\" width=\"60.0\" height=\"4\""));
  EXPECT_THAT(html, HasSubstr("Steps 7 to 8, 20.0 ms in all"));
}

TEST(JobHtml, ALineHasWhatItComputesAndWhatItWaitsFor) {
  const std::string html = html_job_report(job());
  EXPECT_THAT(html, HasSubstr("<td>0</td><td><code>train.py:21</code></td><td class=\"figure\">5.50 ms</td>"
                              "<td class=\"figure\"></td>"));
  EXPECT_THAT(html, HasSubstr("<td>0</td><td><code>train.py:22</code></td><td class=\"figure\">250 µs</td>"
                              "<td class=\"figure\">4.00 ms</td>"));
}

TEST(JobHtml, AJobOfManyStepsShowsTheFirst) {
  analysis::JobReport many = job();
  for (std::int64_t step = 9; step < 100; ++step) {
    many.steps.push_back(step);
    const double begin = 10 * static_cast<double>(step - 7);
    for (analysis::RankTimeline& rank : many.timelines) {
      rank.steps.push_back({begin, begin + 10});
    }
  }
  const std::string html = html_job_report(many);
  EXPECT_THAT(html, HasSubstr("Steps 7 to 26 of 93 that were recorded, 200 ms in all"));
  EXPECT_THAT(html, Not(HasSubstr("step 27<")));
}

TEST(JobHtml, RanksWithoutCommonStepsHaveNoPicture) {
  analysis::JobReport apart = job();
  apart.steps.clear();
  apart.timelines.clear();
  for (analysis::RecordedRankFigures& rank : apart.ranks) {
    rank.communication.reset();
  }
  const std::string html = html_job_report(apart);
  EXPECT_THAT(html, HasSubstr("they cannot be compared"));
  EXPECT_THAT(html, Not(HasSubstr("<rect")));
}

TEST(JobHtml, NothingFromOutsideIsMarkupAndNothingIsLoaded) {
  const std::string html = html_job_report(job());
  EXPECT_THAT(html, HasSubstr("<h1>torchrun &lt;train&gt;.py</h1>"));
  EXPECT_THAT(html, HasSubstr("node &amp; co"));
  EXPECT_THAT(html, HasSubstr("a &lt;b&gt;warning&lt;/b&gt;"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

TEST(JobText, SaysWhichRankIsSlowerAndWhy) {
  analysis::JobReport shown = job();
  EXPECT_THAT(text_job_report(shown, 1),
              HasSubstr("Rank 1 is 60 % slower than the others in its own work: data loading, train.py:21.\n"));
  EXPECT_THAT(text_job_report(shown, 1), HasSubstr("Communication by line, rank 1\n"));
  shown.slower->line = {};
  EXPECT_THAT(text_job_report(shown, 0), HasSubstr("in its own work; no single line makes up half of that.\n"));
  shown.slower->lines_known = false;
  EXPECT_THAT(text_job_report(shown, 0), HasSubstr("in its own work.\n"));
  shown.slower->slower = 2;
  EXPECT_THAT(text_job_report(shown, 0), HasSubstr("Rank 1 takes 3.0 times as long as the others for its own work.\n"));
}

TEST(JobText, SaysWhoseCostIsInTheTimes) {
  analysis::JobReport shown = job();
  EXPECT_THAT(text_job_report(shown, 0), HasSubstr(", with the cost of recording\n"));
  shown.profiler = "torch.profiler";
  EXPECT_THAT(text_job_report(shown, 0), HasSubstr(", with the cost of torch.profiler\n"));
  EXPECT_THAT(html_job_report(shown), HasSubstr(" in all, with the cost of torch.profiler."));
}

TEST(JobText, SaysWhereNoStepIsCommon) {
  analysis::JobReport shown = job();
  shown.steps.clear();
  EXPECT_THAT(text_job_report(shown, 0), HasSubstr("recorded no step that all of them took"));
}

}  // namespace
}  // namespace ridgeline::report
