#include "jobs/record/kinds.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace ridgeline::jobs {

namespace {

using Named = std::pair<std::string_view, CollectiveKind>;

/// Parts of the names, without underscores; the first that fits decides.
constexpr std::array kParts = {
    Named{"reducescatter", CollectiveKind::kReduceScatter},
    Named{"allreduce", CollectiveKind::kAllReduce},
    Named{"allgather", CollectiveKind::kAllGather},
    Named{"alltoall", CollectiveKind::kAllToAll},
    Named{"broadcast", CollectiveKind::kBroadcast},
    Named{"barrier", CollectiveKind::kBarrier},
    Named{"scatter", CollectiveKind::kScatter},
    Named{"gather", CollectiveKind::kGather},
    Named{"reduce", CollectiveKind::kReduce},
    Named{"send", CollectiveKind::kSend},
    Named{"recv", CollectiveKind::kReceive},
};

constexpr std::array kNames = {
    std::pair{CollectiveKind::kAllReduce, "all-reduce"}, std::pair{CollectiveKind::kReduceScatter, "reduce-scatter"},
    std::pair{CollectiveKind::kAllGather, "all-gather"}, std::pair{CollectiveKind::kBroadcast, "broadcast"},
    std::pair{CollectiveKind::kReduce, "reduce"},        std::pair{CollectiveKind::kGather, "gather"},
    std::pair{CollectiveKind::kScatter, "scatter"},      std::pair{CollectiveKind::kAllToAll, "all-to-all"},
    std::pair{CollectiveKind::kBarrier, "barrier"},      std::pair{CollectiveKind::kSend, "send"},
    std::pair{CollectiveKind::kReceive, "receive"},      std::pair{CollectiveKind::kOther, "other"},
};

}  // namespace

CollectiveKind kind_of_call(std::string_view name) {
  std::string plain(name);
  std::erase(plain, '_');
  const auto* const found =
      std::ranges::find_if(kParts, [&](const Named& part) { return plain.find(part.first) != std::string::npos; });
  return found == kParts.end() ? CollectiveKind::kOther : found->second;
}

CollectiveKind kind_of_operator(std::string_view name) {
  constexpr std::string_view kNamespace = "c10d::";
  return name.starts_with(kNamespace) ? kind_of_call(name.substr(kNamespace.size())) : CollectiveKind::kOther;
}

const char* kind_name(CollectiveKind kind) {
  return std::ranges::find(kNames, kind, &decltype(kNames)::value_type::first)->second;
}

}  // namespace ridgeline::jobs
