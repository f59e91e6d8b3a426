#include <fmt/format.h>

#include "protocol/shown_text.h"
#include "report/job_report.h"

namespace ridgeline::report {

std::string path_part_text(const analysis::PathPart& part) {
  if (!part.collective.empty()) {
    return part.bucket.has_value() ? fmt::format("{} of bucket {}", part.collective, *part.bucket) : part.collective;
  }
  if (!part.rank.has_value()) return "messages";
  return part.line.file.empty()
             ? fmt::format("rank {}, no line of yours", *part.rank)
             : fmt::format("rank {}, {}:{}", *part.rank, protocol::printable(part.line.file), part.line.line);
}

}  // namespace ridgeline::report
