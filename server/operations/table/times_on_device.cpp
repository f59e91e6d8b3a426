#include "operations/table/times_on_device.h"

#include <utility>

#include "operations/device/data_sheets.h"

namespace ridgeline::operations {

base::Result<std::vector<std::optional<ListedTime>>> times_on_device(OperationTable& table, const std::string& device,
                                                                     std::span<const std::string> keys) {
  const auto names = table.devices();
  if (!names) {
    return names.error();
  }
  const auto sheet = find_data_sheet(device);
  std::vector<std::optional<ListedTime>> times(keys.size());
  for (const std::string& name : *names) {
    if (name != device && (!sheet || !names_device(name, sheet->name))) {
      continue;
    }
    auto found = table.find_on(name, keys);
    if (!found) {
      return found.error();
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!times[i]) {
        times[i] = std::move((*found)[i]);
      }
    }
  }
  return times;
}

}  // namespace ridgeline::operations
