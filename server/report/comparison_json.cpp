#include "report/comparison_fields.h"
#include "report/json_writer.h"
#include "report/rendered_comparison.h"

namespace ridgeline::report {

std::string comparison_json(const analysis::Comparison& comparison) {
  Writer writer;
  // The description of fields takes what can be filled; a Writer only looks at it.
  auto& described = const_cast<analysis::Comparison&>(comparison);  // NOLINT(*-const-cast)
  const auto json = writer.object_of([&] { comparison_fields(writer, described); });
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ridgeline::report
