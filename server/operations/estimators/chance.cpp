#include "operations/estimators/chance.h"

#include <string>

#include "base/content_hash.h"

namespace ridgeline::operations {

double chance_of(std::string_view key, std::string_view salt) {
  base::ContentHash hash;
  hash.add(salt);
  hash.end_part();
  hash.add(key);
  // The lowest digits: FNV mixes into these last.
  return static_cast<double>(std::stoul(hash.text().substr(8), nullptr, 16)) / 4294967296.0;
}

}  // namespace ridgeline::operations
