#include "app/own_operations.h"

#include "app/profiling/what_if_base.h"
#include "worker/cache.h"

namespace ridgeline::app {

base::Result<operations::OperationTable> own_operation_table() {
  auto cache = worker::cache_folder();
  if (!cache) {
    return cache.error();
  }
  return operations::OperationTable::open(operation_table_path(*cache));
}

}  // namespace ridgeline::app
