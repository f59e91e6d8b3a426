#include "worker/guard/guard_report.h"

#include <nlohmann/json.hpp>

namespace ridgeline::worker {

using nlohmann::json;

std::string report_text(const Report& report) {
  const json value = {{"unavailable", report.unavailable},
                      {"endedAt", report.ended_at},
                      {"call", report.call},
                      {"refused", report.refused},
                      {"connection", report.connection}};
  return value.dump(-1, ' ', false, json::error_handler_t::replace);  // a path need not be UTF-8
}

std::optional<Report> parse_report(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object()) {
    return std::nullopt;
  }
  const auto member = [&](const char* name) {
    const auto found = value.find(name);
    return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return Report{member("unavailable"), member("endedAt"), member("call"), member("refused"), member("connection")};
}

}  // namespace ridgeline::worker
