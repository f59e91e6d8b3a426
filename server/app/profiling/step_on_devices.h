// A step on devices that it does not run on, from its listed operations: what is known of them, and the answer. Reads
// the table of operation times; runs nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "operations/device/device.h"
#include "operations/estimators/device_prediction.h"
#include "operations/estimators/estimator.h"
#include "operations/table/operation_table.h"
#include "protocol/experiment.h"
#include "report/rendered_devices.h"

namespace ridgeline::app {

struct NamedDevice {
  operations::Device device;
  std::string origin;                      ///< of the description: "data sheet", or a file's name
  std::optional<double> price_per_hour{};  ///< in the user's currency
};

/// The data sheet of that name, or what the file of that name describes. An error names those that there are.
base::Result<NamedDevice> named_device(const std::string& name);

struct DevicesOfKind {
  bool are_gpus = false;
  std::vector<NamedDevice> devices;  ///< at least one
};

/// A step is listed with other operators for GPUs than for processors.
std::vector<DevicesOfKind> by_kind(const std::vector<NamedDevice>& devices);

/// The devices of all data sheets.
std::vector<NamedDevice> all_data_sheets();

/// What `ridgeline operations train` has kept in the cache folder; empty: nothing.
base::Result<std::vector<operations::Estimators>> kept_estimators(const std::string& cache);
std::string kept_estimators_path(const std::string& cache);

/// The changes whose steps are listed beside the entry's own: two, four and eight times its batch size.
std::vector<protocol::ChangeRequest> larger_batches(int batch_size);

/// In the order of `devices`. `captured`: the step at its own batch size first, then at others; listed for the kind of
/// the devices.
base::Result<std::vector<report::OtherDevice>> on_devices(const std::vector<protocol::Captured>& captured,
                                                          const std::vector<NamedDevice>& devices,
                                                          operations::OperationTable& table,
                                                          const std::vector<operations::Estimators>& estimators);
/// The same of a step that a trace has, listed for a GPU: on the device that it was recorded on, the recorded time.
base::Result<std::vector<report::OtherDevice>> on_devices(const operations::ListedStep& recorded,
                                                          const std::vector<NamedDevice>& devices,
                                                          operations::OperationTable& table,
                                                          const std::vector<operations::Estimators>& estimators);

}  // namespace ridgeline::app
