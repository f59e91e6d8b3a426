// A training step on devices that it did not run on, compared: for a terminal or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operations/estimators/device_prediction.h"
#include "operations/estimators/largest_batch.h"

namespace ridgeline::report {

/// The step on several such devices, data-parallel: the same samples on each.
struct StepOnRanks {
  std::int64_t ranks = 2;
  double low_ns = 0;
  std::optional<double> high_ns{};  ///< absent: not known
};

struct OtherDevice {
  std::string name;
  std::string origin;                           ///< of its description: "data sheet", or a file's name
  std::optional<double> price_per_hour;         ///< in the user's currency
  std::vector<operations::StepOnDevice> steps;  ///< by batch size, ascending; at least one
  std::vector<StepOnRanks> ranks{};             ///< at the batch size of the entry point; empty: not asked for
  std::optional<double> capacity_bytes{};       ///< absent: its description does not say it
  std::optional<operations::LargestBatchRange> largest{};  ///< that fits; absent: not known
};

/// The step of a trace.
struct RecordedOnDevice {
  std::string device{};       ///< as the trace names it
  std::string description{};  ///< the name of its data sheet, or of the file that describes it
  bool has_steps = false;     ///< the profiler's; else the whole trace is taken for one
  int steps = 0;              ///< that were recorded
  double ns = 0;              ///< that the operations of the step in the middle took
  double low_ns = 0;          ///< the least of all steps
  double high_ns = 0;         ///< the most
  double communication_ns = 0;
  double transfer_ns = 0;            ///< of copies from and to the host
  int operations = 0;                ///< that launched kernels
  int not_described = 0;             ///< of them, those without a key: no model applies to them
  double not_described_ns = 0;       ///< what these took
  std::vector<std::string> names{};  ///< of these, those that took longest
};

struct OtherDevices {
  std::string entry;
  int batch_size = 0;  ///< of the entry point itself, which is that of one of the steps; 0: not known, as of a trace
  std::optional<std::int64_t> dataset_size;  ///< samples of an epoch
  std::vector<OtherDevice> devices;
  std::optional<RecordedOnDevice> recorded{};  ///< absent: no trace
};

/// The steps of the batch size asked about; by least cost per sample where all devices have a price, else by least
/// time; those of which only bounds are known last.
void sort_devices(OtherDevices& devices);

/// Ends with a newline.
std::string text_other_devices(const OtherDevices& devices);
/// As protocol/devices.schema.json describes.
std::string json_other_devices(const OtherDevices& devices);

}  // namespace ridgeline::report
