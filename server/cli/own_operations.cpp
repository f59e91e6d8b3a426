#include "cli/own_operations.h"

#include "app/profiling/what_if_base.h"
#include "worker/cache.h"

namespace ridgeline::cli {

base::Result<operations::OperationTable> own_operation_table() {
  auto cache = worker::cache_folder();
  if (!cache) {
    return cache.error();
  }
  return operations::OperationTable::open(app::operation_table_path(*cache));
}

}  // namespace ridgeline::cli
