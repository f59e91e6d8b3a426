// CUPTI's activity records, as the bytes of a buffer, become values. Pure: no CUPTI, no Python, no LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/agent/cupti/abi.h"
#include "protocol/recording_format.h"

namespace ridgeline::agent::cupti {

/// The names of kernels, by content. A new name is copied with bounds; its address need not be valid.
class KernelNames {
 public:
  KernelNames() : names_{""} {}
  /// The number of the name at an address that CUPTI gave; 0, the empty name, where no text can be read.
  std::uint32_t intern(const char* name);
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<const void*, std::uint32_t> by_address_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::vector<std::string> names_;
};

/// Times are as CUPTI gives them.
struct DeviceActivity {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t bytes;  ///< copied or set; 0 for a kernel
  std::uint32_t device;
  std::uint32_t stream;
  std::uint32_t correlation;  ///< of the call that requested it
  std::uint32_t name;         ///< in KernelNames
  recording::Activity kind;
  std::uint64_t graph_node;  ///< that was replayed; 0: none
};

/// CUPTI's own work on a thread of the process.
struct Overhead {
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t thread;  ///< the lower half of its pthread_self()
};

struct Records {
  KernelNames names;
  std::vector<DeviceActivity> activities;
  std::vector<Overhead> overheads;
  std::uint64_t lost = 0;  ///< activities without times, of unknown kind, beyond the bound, or in a damaged buffer
};

/// Appends what the buffer holds, up to `most` activities in all. `next` is the library's iteration; a record that it
/// places outside of the buffer, or not after the one before, ends the reading, as does what it calls incomplete.
void read_records(std::uint8_t* buffer, std::size_t valid_bytes, NextRecord next, std::size_t most, Records& records);

}  // namespace ridgeline::agent::cupti
