// JSON that was kept or that a worker sent: a report, read back and shown again, and the messages of a worker.
#include <string>
#include <string_view>

#include "analysis/prediction/answers.h"
#include "protocol/worker_messages.h"
#include "report/json.h"
#include "report/read_report.h"
#include "report/text_report.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto message = protocol::parse_worker_message(text);
  CLAIM(message.has_value() == message.error().message().empty());
  auto profile = report::read_report(text);
  CLAIM(profile.has_value() == profile.error().message().empty());
  if (profile.has_value()) {
    analysis::fit_models(*profile);
    const analysis::Outlook outlook = analysis::outlook_of(*profile);
    const auto no_line = [](const analysis::Location&) -> std::optional<std::string> { return std::nullopt; };
    CLAIM(!report::text_report(*profile, outlook, no_line, {}).empty());
    CLAIM(report::read_report(report::json_report(*profile, outlook)).has_value());
  }
  return 0;
}
