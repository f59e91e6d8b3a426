#include "profiler/agent/cupti/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace ridgeline::agent::cupti {

namespace {

int find_loaded(dl_phdr_info* info, std::size_t /*size*/, void* found) {
  const char* slash = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
  if (slash == nullptr || std::strncmp(slash, "/libcupti.so", 12) != 0) {
    return 0;
  }
  *static_cast<std::string*>(found) = info->dlpi_name;
  return 1;
}

/// The first symbol that the library does not have, or nothing.
std::string read_functions(void* handle, Functions& functions) {
#define RIDGELINE_CUPTI_READ(member, symbol, parameters)                                       \
  functions.member = reinterpret_cast<Result(*) parameters>(::dlsym(handle, "cupti" #symbol)); \
  if (functions.member == nullptr) {                                                           \
    return "cupti" #symbol;                                                                    \
  }
  RIDGELINE_CUPTI_FUNCTIONS(RIDGELINE_CUPTI_READ)
#undef RIDGELINE_CUPTI_READ
  return {};
}

Library open_one(const std::string& candidate) {
  Library library;
  library.path = candidate;
  void* handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    library.error = reason == nullptr ? candidate + " cannot be opened" : reason;
    return library;
  }
  const std::string missing = read_functions(handle, library.functions);
  if (!missing.empty()) {
    library.error = candidate + " has no " + missing + ": it is older than CUDA 11.8, or no CUPTI";
    return library;
  }
  const Result result = library.functions.get_version(&library.version);
  if (result != kSuccess) {
    library.error = candidate + " does not report its version: " + describe(library.functions, result);
  } else if (library.version < kOldestVersion || library.version > kNewestVersion) {
    library.error = candidate + " has version " + std::to_string(library.version) +
                    ", and Ridgeline knows the records of CUDA 11.8 to 13";
  }
  return library;
}

}  // namespace

Library open_library(const std::vector<std::string>& candidates) {
  std::string loaded;
  ::dl_iterate_phdr(&find_loaded, &loaded);
  if (!loaded.empty()) {
    return open_one(loaded);
  }
  std::string errors;
  for (const std::string& candidate : candidates) {
    Library library = open_one(candidate);
    if (library.error.empty()) {
      return library;
    }
    errors += (errors.empty() ? "" : "; ") + library.error;
  }
  Library none;
  none.error = errors.empty() ? "libcupti was not found" : errors;
  return none;
}

std::string describe(const Functions& functions, Result result) {
  const char* text = nullptr;
  const bool is_known = functions.get_result_string(result, &text) == kSuccess && text != nullptr;
  return (is_known ? std::string(text) : "CUPTI error") + " (" + std::to_string(result) + ")";
}

}  // namespace ridgeline::agent::cupti
