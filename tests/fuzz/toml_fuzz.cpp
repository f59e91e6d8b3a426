// TOML of a project or a cluster: read, or refused in words, by everything that reads it.
#include <algorithm>
#include <string>

#include "app/budgets/parse_budgets.h"
#include "app/profiling/project_settings.h"
#include "base/toml.h"
#include "jobs/network/cluster_file.h"
#include "tests/fuzz/fuzz.h"

namespace {

/// What a result has, a value or a text that names the file.
template <typename Result>
void look_at(const Result& result) {
  CLAIM(result.has_value() || result.error().message().starts_with("t.toml"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  const std::string name = "t.toml";
  // The end is repeated, so that what is deep or long is found by few bytes.
  std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t repeated = size > 0 ? std::min<std::size_t>(data[0] % 16U, size) : 0;
  const std::string tail = text.substr(size - repeated);
  for (std::size_t i = 0; i < (repeated > 0 ? 20'000U : 0U); ++i) {
    text += tail;
  }
  look_at(base::parse_toml(text, name));
  look_at(app::parse_budgets(text, name));
  look_at(app::parse_project_settings(text, name));
  look_at(jobs::parse_cluster(text, name));
  return 0;
}
