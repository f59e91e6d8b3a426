#include "step/changes/task_classes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <string_view>

namespace ridgeline::step {

namespace {

bool has_any(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

Work work_of(const std::string& name) {
  if (has_any(name, {"nccl", "rccl", "allreduce", "all_reduce", "c10d::", "allgather", "reducescatter"})) {
    return Work::kCommunication;
  }
  if (has_any(name, {"memcpy", "memset", "copybuffer", "fillbuffer"})) {
    return Work::kCopy;
  }
  // Before convolutions: cuDNN names both after itself.
  if (has_any(name, {"batch_norm", "batchnorm", "bn_fw", "bn_bw"})) {
    return Work::kBatchNorm;
  }
  if (has_any(name, {"layer_norm", "layernorm", "gammabeta", "rmsnorm", "group_norm", "rowwisemoments", "softmax",
                     "nll_loss", "cross_entropy", "lossforward", "lossbackward"})) {
    return Work::kNorm;
  }
  if (has_any(name, {"nchwtonhwc", "nhwctonchw"})) {
    return Work::kElementwise;
  }
  if (has_any(name, {"gemm",          "gemv",         "cutlass",      "fmha",     "flash",       "attention",
                     "scudnn",        "conv",         "xmma",         "cijk_",    "winograd",    "wgrad",
                     "dgrad",         "splitkreduce", "miopen",       "aten::mm", "aten::addmm", "aten::bmm",
                     "aten::baddbmm", "aten::linear", "aten::matmul", "mkldnn_"})) {
    return Work::kCompute;
  }
  if (has_any(name, {"elementwise",   "multi_tensor_apply",
                     "reduce_kernel", "catarray",
                     "pool",          "dropout",
                     "relu",          "gelu",
                     "silu",          "sigmoid",
                     "tanh",          "triton_poi",
                     "triton_red",    "upsample",
                     "aten::add",     "aten::mul",
                     "aten::div",     "aten::sum",
                     "aten::copy_",   "aten::sub",
                     "threshold"})) {
    return Work::kElementwise;
  }
  return Work::kOther;
}

Precision precision_of(const std::string& name, Work work) {
  if (has_any(name, {"tf32", "s1688gemm", "s1688cudnn", "s1688fprop", "s1688wgrad", "s1688dgrad", "s1688_"})) {
    // The same instruction with half in its name multiplies numbers of 16 bits.
    return has_any(name, {"fp16_s1688", "h1688", "_f16_s1688"}) ? Precision::kHalf : Precision::kTensorFloat32;
  }
  if (has_any(name, {"bf16", "bfloat16", "__half", "c10::half", "fp16", "f16f16", "f16_", "hgemm", "h884", "h1688",
                     "h16816", "s884gemm_fp16", "s16816", "hmma", "f8f8", "e4m3"})) {
    return Precision::kHalf;
  }
  if (has_any(name, {"sgemm", "scudnn", "float", "f32", "fp32", "s_b_", "_sb_"}) || work == Work::kCompute) {
    return Precision::kFloat32;
  }
  return Precision::kUnknown;
}

}  // namespace

TaskClass class_of_name(const std::string& name) {
  const std::string text = lower(name);
  const Work work = work_of(text);
  return {work, precision_of(text, work)};
}

std::vector<TaskClass> classes_of(const Graph& graph) {
  std::vector<TaskClass> by_name;
  for (const std::string& name : graph.names) {
    by_name.push_back(class_of_name(name));
  }
  std::vector<Work> by_operation(std::max<std::size_t>(1, graph.operations.size()), Work::kOther);
  for (std::size_t i = 1; i < graph.operations.size(); ++i) {
    const Work own = by_name[graph.operations[i].name].work;
    by_operation[i] = own != Work::kOther ? own : by_operation[graph.operations[i].parent];
  }
  std::vector<TaskClass> classes;
  for (const Task& task : graph.tasks) {
    TaskClass found = by_name[task.name];
    found.work = found.work != Work::kOther ? found.work : by_operation[task.operation];
    classes.push_back(found);
  }
  return classes;
}

bool is_on_device(const Graph& graph, TaskId task) {
  return graph.resources[graph.tasks[task].resource].type == Resource::Type::kDevice;
}

bool has_device(const Graph& graph) {
  return std::ranges::any_of(graph.tasks, [](const Task& task) { return task.kind == Kind::kKernel; });
}

Selection working_tasks(const Graph& graph) {
  const bool device = has_device(graph);
  std::vector<bool> follows(graph.tasks.size());
  for (const Task& task : graph.tasks) {
    if (task.next != kNoTask) {
      follows[task.next] = true;
    }
  }
  Selection chosen;
  for (TaskId first = 0; first < graph.tasks.size(); ++first) {
    for (TaskId id = follows[first] ? kNoTask : first; id != kNoTask; id = graph.tasks[id].next) {
      const Task& task = graph.tasks[id];
      if (device ? task.kind == Kind::kKernel : task.kind == Kind::kOperation) {
        chosen.push_back(id);
      }
    }
  }
  return chosen;
}

Selection working_tasks(const Graph& graph, analysis::Phase phase) {
  Selection chosen = working_tasks(graph);
  std::erase_if(chosen, [&](TaskId id) { return graph.tasks[id].phase != phase; });
  return chosen;
}

bool is_collective(const Graph& graph, const Task& task) {
  return task.kind == Kind::kKernel && class_of_name(graph.names[task.name]).work == Work::kCommunication;
}

std::vector<TaskId> launches_of(const Graph& graph) {
  std::vector<TaskId> launches(graph.tasks.size(), kNoTask);
  for (const Dependency& dependency : graph.dependencies) {
    if (is_on_device(graph, dependency.to) && graph.tasks[dependency.from].kind == Kind::kCall) {
      launches[dependency.to] = dependency.from;
    }
  }
  return launches;
}

bool is_inside(const std::string& module, std::string_view name) {
  const auto holds = [&](std::string_view path) {
    return path == name || (path.starts_with(name) && path.substr(name.size()).starts_with('.'));
  };
  const std::size_t dot = module.find('.');
  return !name.empty() &&
         (holds(module) || (dot != std::string::npos && holds(std::string_view(module).substr(dot + 1))));
}

Selection module_of(const Graph& graph, std::string_view name) {
  std::vector<bool> chosen;
  for (const std::string& module : graph.modules) {
    chosen.push_back(is_inside(module, name));
  }
  return select(graph, [&](const Task& task) { return chosen[task.module]; });
}

bool mentions(const std::string& text, std::string_view part) {
  return lower(text).find(lower(part)) != std::string::npos;
}

bool is_called(const Graph& graph, const Task& task, std::string_view part) {
  bool found = mentions(graph.names[task.name], part);
  for (std::uint32_t at = task.operation; at != 0 && !found; at = graph.operations[at].parent) {
    found = mentions(graph.names[graph.operations[at].name], part);
  }
  return found;
}

}  // namespace ridgeline::step
