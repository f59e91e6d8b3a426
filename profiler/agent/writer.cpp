// Turns what the threads recorded into columns.
#include <Python.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "code_objects.h"
#include "counter.h"
#include "device_regions.h"
#include "profiler/agent/cupti/collector.h"
#include "protocol/recording_columns.h"
#include "recorder.h"
#include "requests.h"
#include "roles.h"
#include "writer.h"

namespace ridgeline::agent {

namespace {

namespace rec = recording;

/// Everything below runs once per recording, with the GIL.
class Writer {
 public:
  std::string write(const std::vector<InstanceText>& instances);

 private:
  std::uint32_t string(const std::string& text);
  void add_objects(const std::vector<InstanceText>& instances);
  void add_thread(const ThreadBuffer& buffer);
  void add_calls(const ThreadBuffer& buffer, std::uint16_t thread);
  void add_region(const DeviceRegion& region, const ThreadBuffer& buffer, std::uint16_t thread);
  std::uint32_t captured_call(std::uint64_t graph_node) const;
  void add_activities(const cupti::Records& records);
  void add_region_activities();
  void add_pauses(const ThreadBuffer& main, const cupti::Records& records);
  void add_memory();
  void add_requests();
  void add_first_events();
  void add_roles();
  std::uint32_t node(const ThreadBuffer& buffer, std::uint32_t local);
  void add_node(const StackNode& stack_node, std::uint32_t parent);

  struct RegionActivity {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t call;
    std::uint32_t name;
  };

  rec::Columns columns_;
  const TickScale scale_{recording_start(), TickScale::now()};
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::unordered_map<const void*, std::uint32_t> codes_;
  std::unordered_map<const void*, std::uint32_t> instances_;
  std::vector<std::vector<std::uint32_t>> nodes_;  ///< by thread, local node → written node + 1
  std::vector<std::uint32_t> first_op_;            ///< by thread
  std::vector<std::uint32_t> first_call_;          ///< likewise
  std::vector<std::size_t> kept_calls_;            ///< likewise: ThreadBuffer::kept_calls
  std::unordered_map<std::uint32_t, std::uint32_t> call_of_correlation_;
  std::vector<RegionActivity> region_activities_;
};

std::uint32_t Writer::string(const std::string& text) {
  const auto [found, inserted] = strings_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
  if (inserted) {
    columns_.string_bytes.insert(columns_.string_bytes.end(), text.begin(), text.end());
    columns_.string_ends.push_back(static_cast<std::uint32_t>(columns_.string_bytes.size()));
  }
  return found->second;
}

void Writer::add_objects(const std::vector<InstanceText>& instances) {
  for (PyObject* code : known_objects().codes()) {
    codes_.emplace(code, static_cast<std::uint32_t>(columns_.code_file.size()));
    columns_.code_file.push_back(string(source_file(code)));
    columns_.code_name.push_back(string(text_attribute(code, "co_name")));
  }
  for (const LineRuns& runs : line_runs()) {
    columns_.run_code.push_back(codes_.at(runs.code));
    columns_.run_line.push_back(runs.line);
    columns_.run_count.push_back(runs.count);
  }
  const auto add_instance = [&](const InstanceText& text, std::uint64_t calls) {
    columns_.instance_type.push_back(string(text.type));
    columns_.instance_name.push_back(string(text.name));
    columns_.instance_file.push_back(string(text.file));
    columns_.instance_line.push_back(text.line);
    columns_.instance_calls.push_back(calls);
  };
  add_instance({}, 0);
  for (std::size_t i = 0; i < known_objects().instances().size(); ++i) {
    const void* address = known_objects().instances()[i].address;
    instances_.emplace(address, static_cast<std::uint32_t>(i + 1));
    add_instance(i < instances.size() ? instances[i] : InstanceText{}, instance_calls(address));
  }
}

void Writer::add_node(const StackNode& stack_node, std::uint32_t parent) {
  auto* code = static_cast<PyCodeObject*>(const_cast<void*>(stack_node.frame.code));
  const auto instance = instances_.find(stack_node.frame.instance);
  // What comes before the first line of a function, such as making its cells, has none: it is the function's own.
  const int found = PyCode_Addr2Line(code, stack_node.frame.instruction);
  const int line = found > 0 ? found : code->co_firstlineno;
  columns_.node_parent.push_back(parent);
  columns_.node_code.push_back(codes_.at(code));
  columns_.node_instruction.push_back(static_cast<std::uint32_t>(stack_node.frame.instruction));
  columns_.node_line.push_back(line < 0 ? 0 : static_cast<std::uint32_t>(line));
  columns_.node_instance.push_back(instance == instances_.end() ? 0 : instance->second);
}

/// The written number of a thread's node; a node is written when it is first needed, after its parent.
std::uint32_t Writer::node(const ThreadBuffer& buffer, std::uint32_t local) {
  std::vector<std::uint32_t>& written = nodes_[buffer.index];
  written.resize(std::max<std::size_t>(written.size(), buffer.stacks.nodes().size()), 0);
  std::vector<std::uint32_t> missing;
  while (local != 0 && written[local] == 0) {
    missing.push_back(local);
    local = buffer.stacks.nodes()[local].parent;
  }
  std::uint32_t current = local == 0 ? 0 : written[local] - 1;
  while (!missing.empty()) {
    add_node(buffer.stacks.nodes()[missing.back()], current);
    current = static_cast<std::uint32_t>(columns_.node_parent.size() - 1);
    written[missing.back()] = current + 1;
    missing.pop_back();
  }
  return current;
}

void Writer::add_thread(const ThreadBuffer& buffer) {
  const auto thread = static_cast<std::uint16_t>(columns_.thread_torch_id.size());
  columns_.thread_torch_id.push_back(buffer.torch_id);
  const auto first = static_cast<std::uint32_t>(columns_.op_name.size());
  first_op_[buffer.index] = first;
  std::vector<std::uint32_t> names;
  for (const std::string& name : buffer.names.names()) {
    names.push_back(string(name));
  }
  for (const OpRecord& op : buffer.ops) {
    columns_.op_thread.push_back(thread);
    columns_.op_scope.push_back(static_cast<std::uint8_t>(op.scope));
    columns_.op_name.push_back(names[op.name]);
    columns_.op_node.push_back(node(buffer, op.node));
    columns_.op_parent.push_back(op.parent == rec::kNone ? rec::kNone : op.parent + first);
    columns_.op_start.push_back(scale_.ns(op.start));
    columns_.op_end.push_back(scale_.ns(std::max(op.start, op.end)));  // an op still open takes no time
    columns_.op_sequence.push_back(op.sequence);
    columns_.op_forward_thread.push_back(op.forward_thread);
  }
  columns_.loss[static_cast<std::size_t>(rec::Loss::kOps)] += buffer.ops.dropped();
  columns_.loss[static_cast<std::size_t>(rec::Loss::kMemory)] += buffer.memory.dropped();
  columns_.loss[static_cast<std::size_t>(rec::Loss::kSamples)] += buffer.samples.dropped();
  columns_.loss[static_cast<std::size_t>(rec::Loss::kActivities)] += buffer.calls.dropped();
  add_calls(buffer, thread);
}

void Writer::add_calls(const ThreadBuffer& buffer, std::uint16_t thread) {
  const std::vector<cupti::WatchedFunction>& functions = cupti::Collector::instance().watched().all();
  const auto first = static_cast<std::uint32_t>(columns_.call_name.size());
  first_call_[buffer.index] = first;
  kept_calls_[buffer.index] = buffer.kept_calls;
  for (const CallRecord& call : buffer.calls) {
    call_of_correlation_.emplace(call.correlation, static_cast<std::uint32_t>(columns_.call_name.size()));
    columns_.call_thread.push_back(thread);
    columns_.call_kind.push_back(static_cast<std::uint8_t>(functions[call.function].kind));
    columns_.call_name.push_back(string(functions[call.function].name));
    columns_.call_op.push_back(call.op == rec::kNone ? rec::kNone : call.op + first_op_[buffer.index]);
    columns_.call_node.push_back(node(buffer, call.node));
    columns_.call_start.push_back(scale_.ns(call.start));
    columns_.call_end.push_back(scale_.ns(std::max(call.start, call.end)));  // a call still open takes no time
  }
  for (const DeviceRegion& region : regions()) {
    if (region.thread == buffer.index) {
      add_region(region, buffer, thread);
    }
  }
  for (const InnerCall& inner : buffer.inner_calls) {
    call_of_correlation_.emplace(inner.correlation, first + inner.outer);
  }
}

/// The operation is a call that makes the device do one thing.
void Writer::add_region(const DeviceRegion& region, const ThreadBuffer& buffer, std::uint16_t thread) {
  const OpRecord& op = buffer.ops[region.op];
  const std::uint64_t base = scale_.ns(region.base);
  region_activities_.push_back({base + region.start_ns, base + region.end_ns, region.device,
                                static_cast<std::uint32_t>(columns_.call_name.size()),
                                columns_.op_name[region.op + first_op_[buffer.index]]});
  columns_.call_thread.push_back(thread);
  columns_.call_kind.push_back(static_cast<std::uint8_t>(rec::Call::kLaunch));
  columns_.call_name.push_back(string("CUDA events"));
  columns_.call_op.push_back(region.op + first_op_[buffer.index]);
  columns_.call_node.push_back(node(buffer, op.node));
  columns_.call_start.push_back(scale_.ns(op.start));
  columns_.call_end.push_back(scale_.ns(std::max(op.start, op.end)));
}

void Writer::add_region_activities() {
  std::stable_sort(region_activities_.begin(), region_activities_.end(),
                   [](const RegionActivity& a, const RegionActivity& b) { return a.start < b.start; });
  for (const RegionActivity& region : region_activities_) {
    columns_.activity_kind.push_back(static_cast<std::uint8_t>(rec::Activity::kKernel));
    columns_.activity_name.push_back(region.name);
    columns_.activity_device.push_back(region.device);
    columns_.activity_stream.push_back(0);
    columns_.activity_call.push_back(region.call);
    columns_.activity_start.push_back(region.start);
    columns_.activity_end.push_back(region.end);
    columns_.activity_bytes.push_back(0);
  }
  columns_.loss[static_cast<std::size_t>(rec::Loss::kActivities)] += lost_regions();
}

/// Demangled where the name is mangled; truncated where it is very long.
std::string readable(const std::string& name) {
  constexpr std::size_t kMaxBytes = 4096;
  int status = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string text = plain == nullptr ? name : plain;
  std::free(plain);  // NOLINT: from malloc, as its contract says
  text.resize(std::min(text.size(), kMaxBytes));
  return text;
}

/// The written number of the call that was captured for a graph's node.
std::uint32_t Writer::captured_call(std::uint64_t graph_node) const {
  const auto found = graph_node == 0 ? std::nullopt : cupti::Collector::instance().captured_call(graph_node);
  const bool is_kept =
      found.has_value() && found->thread < kept_calls_.size() && found->call < kept_calls_[found->thread];
  return is_kept ? first_call_[found->thread] + found->call : rec::kNone;
}

void Writer::add_activities(const cupti::Records& records) {
  constexpr const char* kNames[rec::kActivityCount] = {"kernel", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD", "Memset"};
  std::vector<std::uint32_t> names;
  for (const std::string& name : records.names.names()) {
    names.push_back(string(name.empty() ? kNames[0] : readable(name)));
  }
  std::vector<std::uint32_t> captured;
  for (const cupti::DeviceActivity& activity : records.activities) {
    const auto kind = static_cast<std::uint8_t>(activity.kind);
    const auto call = call_of_correlation_.find(activity.correlation);
    columns_.activity_kind.push_back(kind);
    columns_.activity_name.push_back(activity.kind == rec::Activity::kKernel ? names[activity.name]
                                                                             : string(kNames[kind]));
    columns_.activity_device.push_back(activity.device);
    columns_.activity_stream.push_back(activity.stream);
    columns_.activity_call.push_back(call == call_of_correlation_.end() ? rec::kNone : call->second);
    columns_.activity_start.push_back(activity.start);
    columns_.activity_end.push_back(activity.end);
    columns_.activity_bytes.push_back(activity.bytes);
    captured.push_back(captured_call(activity.graph_node));
  }
  if (std::any_of(captured.begin(), captured.end(), [](std::uint32_t one) { return one != rec::kNone; })) {
    columns_.activity_captured = std::move(captured);
  }
  columns_.loss[static_cast<std::size_t>(rec::Loss::kActivities)] += records.lost;
}

/// Pauses of thread 0, with CUPTI's own work on it; they do not overlap.
void Writer::add_pauses(const ThreadBuffer& main, const cupti::Records& records) {
  std::vector<Span> pauses;
  for (const Span& pause : main.pauses) {
    pauses.push_back({scale_.ns(pause.start), scale_.ns(pause.end)});
  }
  for (const cupti::Overhead& overhead : records.overheads) {
    if (overhead.thread == cupti::Collector::instance().main_thread()) {
      pauses.push_back({overhead.start, overhead.end});
    }
  }
  if (!records.overheads.empty()) {
    std::sort(pauses.begin(), pauses.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    std::size_t kept = 0;
    for (const Span& pause : pauses) {
      if (kept > 0 && pause.start <= pauses[kept - 1].end) {
        pauses[kept - 1].end = std::max(pauses[kept - 1].end, pause.end);
      } else {
        pauses[kept++] = pause;
      }
    }
    pauses.resize(kept);
  }
  for (const Span& pause : pauses) {
    columns_.pause_start.push_back(pause.start);
    columns_.pause_end.push_back(pause.end);
  }
}

void Writer::add_memory() {
  struct Event {
    const MemoryRecord* record;
    const ThreadBuffer* buffer;
  };
  std::vector<Event> events;
  for (const ThreadBuffer* buffer : all_thread_buffers()) {
    for (const MemoryRecord& record : buffer->memory) {
      if (record.device != state().memory_device) {
        continue;
      }
      events.push_back({&record, buffer});
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.record->time < b.record->time; });
  for (const Event& event : events) {
    const MemoryRecord& record = *event.record;
    columns_.memory_time.push_back(scale_.ns(record.time));
    columns_.memory_address.push_back(reinterpret_cast<std::uint64_t>(record.address));
    columns_.memory_bytes.push_back(record.bytes);
    columns_.memory_node.push_back(node(*event.buffer, record.node));
    columns_.memory_op.push_back(record.op == rec::kNone ? rec::kNone : record.op + first_op_[record.thread]);
    columns_.memory_stage.push_back(static_cast<std::uint8_t>(record.stage));
    columns_.memory_thread.push_back(record.thread);
    columns_.memory_reserved.push_back(record.reserved);
  }
  add_requests();
}

/// Finds each block's request.
void Writer::add_requests() {
  RequestsByAddress requests(state().requests);
  const std::size_t events = columns_.memory_address.size();
  columns_.memory_requested.resize(events);
  columns_.memory_stream.resize(events);
  for (std::size_t event = events; event-- > 0;) {
    const auto* address = reinterpret_cast<const void*>(columns_.memory_address[event]);
    if (const MemoryRequest* request = requests.take(address, columns_.memory_bytes[event])) {
      columns_.memory_requested[event] = request->bytes;
      columns_.memory_stream[event] = request->stream;
    }
  }
}

void Writer::add_first_events() {
  for (const FirstEvent& event : state().first) {
    columns_.first_time.push_back(scale_.ns(event.time));
    columns_.first_address.push_back(reinterpret_cast<std::uint64_t>(event.address));
    columns_.first_bytes.push_back(event.bytes);
    columns_.first_requested.push_back(event.requested);
  }
  state().first.clear();
}

void Writer::add_roles() {
  // Threads note roles in turns, but each reads its own processor's counter.
  std::vector<RoleRecord> sorted = roles();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RoleRecord& a, const RoleRecord& b) { return a.time < b.time; });
  for (const RoleRecord& role : sorted) {
    columns_.role_time.push_back(scale_.ns(role.time));
    columns_.role_address.push_back(reinterpret_cast<std::uint64_t>(role.address));
    columns_.role_kind.push_back(static_cast<std::uint8_t>(role.kind));
    columns_.role_parameter.push_back(role.parameter);
  }
  for (const Parameter& parameter : parameters()) {
    columns_.parameter_name.push_back(string(parameter.name));
    columns_.parameter_address.push_back(reinterpret_cast<std::uint64_t>(parameter.address));
  }
}

std::string Writer::write(const std::vector<InstanceText>& instances) {
  string("");
  columns_.loss.assign(rec::kLossCount, 0);
  columns_.cost.assign(state().cost, state().cost + rec::kCostCount);
  columns_.compiled_code.assign(state().compiled_code.begin(), state().compiled_code.end());
  add_objects(instances);
  columns_.node_parent.push_back(0);
  columns_.node_code.push_back(rec::kNone);
  columns_.node_instruction.push_back(0);
  columns_.node_line.push_back(0);
  columns_.node_instance.push_back(0);

  ThreadBuffer& main = thread_buffer();
  std::vector<ThreadBuffer*> threads = all_thread_buffers();
  nodes_.resize(threads.size());
  first_op_.resize(threads.size(), 0);
  first_call_.resize(threads.size(), 0);
  kept_calls_.resize(threads.size(), 0);
  add_thread(main);
  for (const ThreadBuffer* buffer : threads) {
    if (buffer != &main) {
      add_thread(*buffer);
    }
  }
  for (const Span& iteration : iterations()) {
    columns_.iteration_start.push_back(scale_.ns(iteration.start));
    columns_.iteration_end.push_back(scale_.ns(iteration.end));
  }
  const cupti::Records records = cupti::Collector::instance().take_records();
  add_activities(records);
  add_region_activities();
  add_pauses(main, records);
  for (const Sample& sample : main.samples) {
    columns_.sample_time.push_back(scale_.ns(sample.time));
    columns_.sample_node.push_back(node(main, sample.node));
  }
  add_memory();
  add_first_events();
  add_roles();
  return rec::serialise(columns_);
}

}  // namespace

std::string write_recording(const std::vector<InstanceText>& instances) { return Writer().write(instances); }

}  // namespace ridgeline::agent
