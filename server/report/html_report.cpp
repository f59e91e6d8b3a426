#include "report/html_report.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/values/energy.h"
#include "report/device_text.h"
#include "report/embedded_page.h"
#include "report/energy_text.h"
#include "report/json.h"
#include "report/observation_text.h"
#include "report/outlook_text.h"
#include "report/places.h"
#include "report/units.h"
#include "report/wording.h"
#include "report/work_text.h"

namespace ridgeline::report {
namespace {

using analysis::Profile;
using Json = nlohmann::ordered_json;

/// What web/build.mjs leaves for the data.
constexpr std::string_view kPlaceOfData = "RIDGELINE_DATA";

/// Every string made printable. Names of members are ours.
void make_printable(Json& json) {
  if (json.is_string()) {
    json = printable(json.get_ref<const std::string&>());
  } else if (json.is_structured()) {
    for (Json& part : json) {
      make_printable(part);
    }
  }
}

Json items_json(const std::vector<Item>& items) {
  Json json = Json::array();
  for (const Item& item : items) {
    json.push_back({{"label", item.word}, {"text", item.value}});
  }
  return json;
}

Json figure_json(const char* label, const std::string& value, const std::optional<Limited>& part,
                 const std::string& unknown) {
  return {{"label", label},
          {"text", value},
          {"fraction", part ? Json(part->fraction) : Json(nullptr)},
          {"note", part ? share(part->fraction) + part->limit : unknown}};
}

Json figures_of(const Profile& profile) {
  const analysis::IterationTime& iteration = profile.iteration;
  const auto capacity = static_cast<double>(profile.capacity_bytes);
  Json figures = Json::array();
  figures.push_back(figure_json("throughput", throughput_text(profile), throughput_limit(profile), "maximum unknown"));
  figures.push_back(
      figure_json("iteration", iteration_text(profile), std::nullopt,
                  fmt::format("median of {}; 95 % interval {} to {}", plural(iteration.iterations, "iteration"),
                              duration(iteration.ms.low), duration(iteration.ms.high))));
  figures.push_back(figure_json("peak memory", peak_text(profile), memory_limit(profile),
                                capacity > 0 ? "of " + bytes(capacity) : "capacity unknown"));
  if (profile.energy) {
    std::string note;
    for (const Item& item : energy_items(profile)) {
      note += (note.empty() ? "" : " · ") + item.word + " " + item.value;
    }
    figures.push_back(figure_json("energy", energy_text(profile), std::nullopt, note));
  }
  return figures;
}

/// What its operations attain; null where that is not known.
Json attained_json(const Profile& profile, const analysis::Location& location) {
  const analysis::LineWork* line = work_of_line(profile, location);
  const auto text = line == nullptr ? std::nullopt : attained_text(line->work);
  return text ? Json{{"text", *text}, {"fraction", *line->work.attained()}} : Json(nullptr);
}

/// Beyond what the machine takes idle; null where it was not measured.
Json energy_json(const Profile& profile, const analysis::LineCost& line) {
  const auto joules = analysis::part_joules(profile, line.self_ms, line.device.ms);
  return joules ? Json{{"text", energy(*joules)}, {"joules", *joules}} : Json(nullptr);
}

/// What the page shows of each line beyond the report's fields, in the report's order.
Json lines_json(const Profile& profile, const Places& places, const SourceLines& source) {
  Json lines = Json::array();
  for (const analysis::LineCost& line : profile.lines) {
    const std::optional<std::string> code = source ? source(line.location) : std::nullopt;
    lines.push_back({{"place", places.name(line.location)},
                     {"source", code ? Json(printable(*code)) : Json(nullptr)},
                     {"attained", attained_json(profile, line.location)},
                     {"energy", energy_json(profile, line)},
                     {"calls", line.calls ? count(static_cast<double>(*line.calls)) : "–"}});
  }
  return lines;
}

Json texts_json(const Profile& profile, const analysis::Outlook& outlook, const SourceLines& source) {
  const auto part_of_iteration = [&](double ms) { return share(ratio(ms, profile.iteration.ms.value)); };
  std::vector<Item> all_notes = notes(profile);
  std::ranges::move(observation_notes(profile, outlook), std::back_inserter(all_notes));
  return {{"title", entry_name(profile)},
          {"setting", setting_text(profile)},
          {"provenance", provenance_text(profile)},
          {"figures", figures_of(profile)},
          {"phases", items_json(phases(profile.iteration.by_phase, part_of_iteration, 0))},
          {"peak", items_json(profile.peak_known ? peak_items(profile) : std::vector<Item>())},
          {"device", items_json(device_items(profile))},
          {"waits", items_json(wait_items(profile))},
          {"notes", items_json(all_notes)},
          {"outlook", items_json(outlook_notes(profile, outlook))},
          {"lines", lines_json(profile, Places(profile), source)}};
}

/// JSON that can stand in a script element: nothing in it begins or ends markup. The characters occur in strings only.
std::string inside_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = std::string_view(json).substr(i, 3);
    if (json[i] == '<' || json[i] == '>' || json[i] == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(json[i]));
    } else if (rest == "\u2028" || rest == "\u2029") {  // line ends of JavaScript
      safe += rest == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += json[i];
    }
  }
  return safe;
}

}  // namespace

std::string html_report(const Profile& profile, const analysis::Outlook& outlook, const SourceLines& source) {
  Json data = {{"report", to_json(profile, outlook)}};
  make_printable(data);
  data["texts"] = texts_json(profile, outlook, source);
  const std::string_view page = embedded_files().front().content;
  const std::size_t at = page.find(kPlaceOfData);
  std::string html(page.substr(0, at));
  html += inside_script(data.dump(-1, ' ', false, Json::error_handler_t::replace));
  html += page.substr(at + kPlaceOfData.size());
  return html;
}

}  // namespace ridgeline::report
