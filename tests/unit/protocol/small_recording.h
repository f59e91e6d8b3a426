// The columns of a small recording in which every column holds something.
#pragma once

#include "protocol/recording_columns.h"

namespace ridgeline::recording::testing {

inline Columns small_columns() {
  Columns columns;
  columns.string_bytes = {'a', '.', 'p', 'y', 'f'};
  columns.string_ends = {0, 4, 5};
  columns.code_file = {1};
  columns.code_name = {2};
  columns.run_code = {0};
  columns.run_line = {3};
  columns.run_count = {7};
  columns.instance_type = columns.instance_name = {0, 2};
  columns.instance_file = {0, 1};
  columns.instance_line = {0, 9};
  columns.instance_calls = {0, 2};
  columns.node_parent = {0, 0, 1};
  columns.node_code = {0, 0, 0};
  columns.node_instruction = {0, 2, 4};
  columns.node_line = {0, 3, 5};
  columns.node_instance = {0, 0, 1};
  columns.thread_torch_id = {1, 2};
  columns.iteration_start = {100, 300};
  columns.iteration_end = {200, 400};
  columns.op_thread = {0, 0, 1};
  columns.op_scope = {0, 0, 1};
  columns.op_name = {1, 2, 2};
  columns.op_node = {1, 2, 0};
  columns.op_parent = {kNone, 0, kNone};
  columns.op_start = {110, 120, 115};
  columns.op_end = {150, 130, 118};
  columns.op_sequence = {-1, 4, 4};
  columns.op_forward_thread = {0, 0, 1};
  columns.pause_start = {140};
  columns.pause_end = {145};
  columns.sample_time = {160, 170};
  columns.sample_node = {1, 2};
  columns.memory_time = {50, 120, 180};
  columns.memory_address = {0x100, 0x200, 0x200};
  columns.memory_bytes = {64, 128, 0};
  columns.memory_node = {1, 2, 0};
  columns.memory_op = {kNone, 1, kNone};
  columns.memory_stage = {1, 4, 4};
  columns.memory_thread = {0, 0, 1};
  columns.memory_reserved = {64, 192, 192};
  columns.memory_requested = {60, 0, 0};
  columns.first_time = {90, 95};
  columns.first_address = {0x40, 0x40};
  columns.first_bytes = {64, 0};
  columns.first_requested = {60, 0};
  columns.memory_stream = {0, 1, 0};
  columns.call_thread = {0, 0};
  columns.call_kind = {1, 3};
  columns.call_name = {2, 1};
  columns.call_op = {1, kNone};
  columns.call_node = {2, 1};
  columns.call_start = {122, 160};
  columns.call_end = {125, 190};
  columns.activity_kind = {0, 1};
  columns.activity_name = {2, 0};
  columns.activity_device = {0, 0};
  columns.activity_stream = {7, 8};
  columns.activity_call = {0, kNone};
  columns.activity_start = {140, 145};
  columns.activity_end = {185, 150};
  columns.activity_bytes = {0, 4096};
  columns.role_time = {60, 170};
  columns.role_address = {0x100, 0x200};
  columns.role_kind = {0, 3};
  columns.role_parameter = {0, kNone};
  columns.parameter_name = {2};
  columns.parameter_address = {0x100};
  columns.cost = {1, 2, 3, 4};
  columns.loss = {0, 0, 5, 0, 0};
  return columns;
}

}  // namespace ridgeline::recording::testing
