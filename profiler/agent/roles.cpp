// Which blocks are parameters, buffers, gradients and inputs.
#include <ATen/SparseTensorImpl.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "clock.h"
#include "recorder.h"
#include "roles.h"

namespace ridgeline::agent {

namespace {

struct ModelTensor {
  std::string name;
  at::Tensor tensor;
  bool is_parameter;
};

// Never destroyed: tensors must not be released after the interpreter is gone.
std::vector<ModelTensor>& model_tensors() {
  static auto* list = new std::vector<ModelTensor>;
  return *list;
}
std::vector<const void*>& input_blocks() {
  static auto* list = new std::vector<const void*>;
  return *list;
}
/// Inputs that may get gradients. Weak references, so that they live no longer than without us.
std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>>& inputs_with_gradients() {
  static auto* list = new std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>>;
  return *list;
}
std::vector<RoleRecord>& role_log() {
  static auto* list = new std::vector<RoleRecord>;
  return *list;
}

/// Gradients are noted by whichever thread runs the optimizer.
std::mutex& role_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

constexpr std::size_t kMaxRoles = 4U << 20U;

/// Whether a tensor is a Python object around others, as torch's DTensor is.
bool is_wrapper(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->is_python_dispatch();
}

/// Whether one of the model's tensors is such a wrapper.
std::atomic<bool> has_wrappers{false};

/// The block behind a dense tensor of the CPU or of a CUDA device, which share one address space; else null.
const void* block_of(const at::Tensor& tensor) {
  const bool has_block = tensor.defined() && tensor.has_storage() && (tensor.is_cpu() || tensor.is_cuda());
  if (!has_block) {
    return nullptr;
  }
  return tensor.storage().data();
}

void add_role(std::uint64_t time, const void* address, recording::Role kind, std::uint32_t parameter) {
  if (address != nullptr && role_log().size() < kMaxRoles) {
    role_log().push_back({time, address, parameter, kind});
  }
}

/// The local shard of a DTensor, which has no memory of its own; any other tensor unchanged. Needs the GIL for a
/// DTensor. The shard is an attribute in a slot: no Python code runs.
at::Tensor local_tensor(const at::Tensor& tensor) {
  if (!is_wrapper(tensor)) {
    return tensor;
  }
  PyObject* wrapper = THPVariable_Wrap(tensor);
  PyObject* local = wrapper == nullptr ? nullptr : PyObject_GetAttrString(wrapper, "_local_tensor");
  at::Tensor found = local != nullptr && THPVariable_Check(local) ? THPVariable_Unpack(local) : tensor;
  PyErr_Clear();  // a wrapper of another kind
  Py_XDECREF(local);
  Py_XDECREF(wrapper);
  return found;
}

/// Holds the GIL where a parameter is a wrapper; taken before the mutex of the roles.
class WrapperGil {
 public:
  WrapperGil() : held_(has_wrappers.load(std::memory_order_relaxed)) {
    if (held_) {
      state_ = PyGILState_Ensure();
    }
  }
  ~WrapperGil() {
    if (held_) {
      PyGILState_Release(state_);
    }
  }
  WrapperGil(const WrapperGil&) = delete;
  WrapperGil& operator=(const WrapperGil&) = delete;

 private:
  bool held_;
  PyGILState_STATE state_{};
};

/// Every block of a tensor: sparse gradients have two. Asks the tensor itself, not the dispatcher: an op here would be
/// recorded, in the middle of the recording of another.
template <typename Visit>
void for_each_block(const at::Tensor& one, Visit visit) {
  const at::Tensor tensor = local_tensor(one);
  if (tensor.defined() && tensor.layout() == at::kSparse) {
    const auto* sparse = static_cast<const at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
    visit(block_of(sparse->indices()));
    visit(block_of(sparse->values()));
  } else {
    visit(block_of(tensor));
  }
}

PyObject* item(PyObject* tuple, Py_ssize_t index) { return PyTuple_GET_ITEM(tuple, index); }

}  // namespace

bool set_parameters(PyObject* list) {
  std::vector<ModelTensor> parameters;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* entry = PyList_GET_ITEM(list, i);
    if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) != 3 || !PyUnicode_Check(item(entry, 0)) ||
        !THPVariable_Check(item(entry, 1))) {
      PyErr_SetString(PyExc_TypeError, "set_parameters: expected a list of (name, tensor, is_parameter)");
      return false;
    }
    parameters.push_back(
        {PyUnicode_AsUTF8(item(entry, 0)), THPVariable_Unpack(item(entry, 1)), item(entry, 2) == Py_True});
  }
  has_wrappers = std::any_of(parameters.begin(), parameters.end(),
                             [](const ModelTensor& parameter) { return is_wrapper(parameter.tensor); });
  model_tensors() = std::move(parameters);
  return true;
}

bool set_inputs(PyObject* list) {
  std::vector<const void*> blocks;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> differentiated;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* tensor = PyList_GET_ITEM(list, i);
    if (!THPVariable_Check(tensor)) {
      PyErr_SetString(PyExc_TypeError, "set_inputs: expected a list of tensors");
      return false;
    }
    const at::Tensor& input = THPVariable_Unpack(tensor);
    for_each_block(input, [&](const void* block) { blocks.push_back(block); });
    if (input.requires_grad() && input.is_leaf()) {
      differentiated.emplace_back(input.getIntrusivePtr());
    }
  }
  input_blocks() = std::move(blocks);
  inputs_with_gradients() = std::move(differentiated);
  return true;
}

void mark_gradients() {
  const WrapperGil gil;
  const std::lock_guard lock(role_mutex());
  const std::uint64_t time = ticks();
  for (std::uint32_t i = 0; i < model_tensors().size(); ++i) {
    if (model_tensors()[i].is_parameter) {
      for_each_block(model_tensors()[i].tensor.grad(),
                     [&](const void* block) { add_role(time, block, recording::Role::kGradient, i); });
    }
  }
  for (const auto& input : inputs_with_gradients()) {
    if (auto held = input.lock()) {
      for_each_block(at::Tensor(std::move(held)).grad(),
                     [&](const void* block) { add_role(time, block, recording::Role::kGradient, recording::kNone); });
    }
  }
}

void mark_parameters_and_inputs() {
  const WrapperGil gil;
  const std::lock_guard lock(role_mutex());
  const std::uint64_t time = ticks();
  for (std::uint32_t i = 0; i < model_tensors().size(); ++i) {
    const recording::Role kind =
        model_tensors()[i].is_parameter ? recording::Role::kParameter : recording::Role::kBuffer;
    for_each_block(model_tensors()[i].tensor, [&](const void* block) { add_role(time, block, kind, i); });
  }
  for (const void* block : input_blocks()) {
    add_role(time, block, recording::Role::kInput, recording::kNone);
  }
}

const std::vector<RoleRecord>& roles() { return role_log(); }
void clear_roles() { role_log().clear(); }

std::vector<Parameter> parameters() {
  const WrapperGil gil;
  std::vector<Parameter> list;
  for (const ModelTensor& parameter : model_tensors()) {
    list.push_back({parameter.name, block_of(local_tensor(parameter.tensor))});
  }
  return list;
}

}  // namespace ridgeline::agent
