// A CUDA device that has streams and events and nothing else, for machines without one: LibTorch uses it like the
// real one. Its work takes as long as a test says, one thing after the other.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace {

double g_free_at = 0;  ///< when the requested work is done, milliseconds
bool g_fails = false;

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class FakeDevice final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device exchangeDevice(c10::Device device) const override { return device; }
  c10::Device getDevice() const override { return {c10::DeviceType::CUDA, 0}; }
  void setDevice(c10::Device /*device*/) const override {}
  void uncheckedSetDevice(c10::Device /*device*/) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 0; }  // else autograd has a thread for it
  void record(void** event, const c10::Stream& /*stream*/, const c10::DeviceIndex /*device*/,
              const c10::EventFlag flag) const override {
    if (g_fails || flag != c10::EventFlag::BACKEND_DEFAULT) {
      throw std::runtime_error("CUDA error: the device is gone");
    }
    if (*event == nullptr) {
      *event = new double;
    }
    *static_cast<double*>(*event) = std::max(now(), g_free_at);
  }
  bool queryEvent(void* event) const override { return *static_cast<double*>(event) <= now(); }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex /*device*/) const override {
    return *static_cast<double*>(second) - *static_cast<double*>(first);
  }
  void destroyEvent(void* event, const c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<double*>(event);
  }
};

FakeDevice g_device;
c10::impl::DeviceGuardImplRegistrar g_registrar(c10::DeviceType::CUDA, &g_device);

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void fake_kernel(double milliseconds) { g_free_at = std::max(now(), g_free_at) + milliseconds; }
EXPORT void fake_fail(int fails) { g_fails = fails != 0; }
EXPORT void fake_synchronise() {
  while (now() < g_free_at) {
  }
}
