// Figures with their units, as people write them into a budget. Pure.
#pragma once

#include <string>
#include <string_view>

#include "app/budgets/budget.h"
#include "base/result.h"

namespace ridgeline::app {

/// "150 ms", "1.2 s", "2 GiB", "400 samples/s", "5 %" in the unit of the quantity. An error says which units there are.
base::Result<double> parse_quantity(std::string_view text, Quantity quantity);

}  // namespace ridgeline::app
