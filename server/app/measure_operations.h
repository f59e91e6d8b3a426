// The operations of a step: listed, planned for a device, and timed here or on a host that the user's code never
// reaches.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment_runner.h"
#include "app/profiling/use_case_failure.h"
#include "base/task.h"
#include "operations/table/measuring_plan.h"
#include "operations/table/operation_table.h"

namespace ridgeline::app {

/// The unchanged step of an entry point, and the step with each of `changes`.
struct ListedSteps {
  std::string project_root;
  std::vector<std::string> changes{};
};

struct OperationPlan {
  operations::MeasuringPlan plan;
  std::vector<std::string> warnings{};
};

/// Which of their operations this user's table does not know of a device.
base::Task<Answer<OperationPlan>> plan_operations(ExperimentRunner& runner, ListedSteps steps, std::string device);

struct MeasuredOperations {
  std::size_t operations = 0;  ///< of the steps
  int measured = 0;            ///< just now
  int known = 0;               ///< before
  int without = 0;             ///< cannot be measured alone
  std::vector<std::string> warnings{};
};

/// Times those that the table does not know for at most `seconds`, here, and adds them to it.
base::Task<Answer<MeasuredOperations>> measure_operations(ExperimentRunner& runner, ListedSteps steps, double seconds);

/// A host with Python and torch.
struct OtherHost {
  std::string name;
  bool all = false;  ///< operations that the table knows of its device are timed again
  /// Runs Python there with these arguments and the script; returns what it wrote, at most so many bytes. Waits for it.
  std::function<base::Result<std::string>(const std::string& arguments, const std::string& script,
                                          std::size_t most_bytes)>
      run;
};

struct MeasuredElsewhere {
  std::string device;
  bool is_all_known = false;                   ///< then nothing was timed
  std::optional<operations::Merged> merged{};  ///< absent: no operation could be timed
  std::vector<std::string> warnings{};
};

/// Times the steps' operations on the host, and adds them to this user's table. Only shapes are sent.
base::Task<Answer<MeasuredElsewhere>> measure_elsewhere(ExperimentRunner& runner, ListedSteps steps, OtherHost host,
                                                        double seconds);

}  // namespace ridgeline::app
