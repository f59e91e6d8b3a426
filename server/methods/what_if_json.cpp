#include "methods/what_if_json.h"

#include <string>
#include <utility>

#include "protocol/shown_text.h"
#include "report/what_if.h"

namespace ridgeline::methods {

using protocol::Json;

Json what_if_json(const analysis::WhatIf& answer, const std::string& uri) {
  Json json = Json::parse(report::json_what_if(answer));
  json["uri"] = uri;
  json["basisText"] = report::basis_text(answer);
  for (std::size_t i = 0; i < answer.changes.size(); ++i) {
    const analysis::ChangeAnswer& row = answer.changes[i];
    Json& shown = json["changes"][i];
    shown["reason"] = protocol::printable(row.reason);
    shown["notTried"] = protocol::printable(row.not_tried);
    shown["predictedText"] = row.predicted.has_value() ? report::speed_up_text(row.predicted->speed_up) : "";
    shown["triedText"] = row.tried.has_value() ? report::speed_up_text(row.tried->speed_up) : "";
    shown["peakText"] = report::peak_text(answer, row);
    shown["lossText"] = report::loss_text(row);
    shown["certaintyText"] = report::certainty_text(row);
  }
  return json;
}

Json tried_json(const analysis::WhatIf& answer) { return what_if_json(answer, "")["changes"][0]; }

}  // namespace ridgeline::methods
