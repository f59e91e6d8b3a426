#include "jobs/record/kinds.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace ridgeline::communication {

namespace {

using Named = std::pair<std::string_view, Kind>;

/// Parts of the names, without underscores; the first that fits decides.
constexpr std::array kParts = {
    Named{"reducescatter", Kind::kReduceScatter},
    Named{"allreduce", Kind::kAllReduce},
    Named{"allgather", Kind::kAllGather},
    Named{"alltoall", Kind::kAllToAll},
    Named{"broadcast", Kind::kBroadcast},
    Named{"barrier", Kind::kBarrier},
    Named{"scatter", Kind::kScatter},
    Named{"gather", Kind::kGather},
    Named{"reduce", Kind::kReduce},
    Named{"send", Kind::kSend},
    Named{"recv", Kind::kReceive},
};

constexpr std::array kNames = {
    std::pair{Kind::kAllReduce, "all-reduce"}, std::pair{Kind::kReduceScatter, "reduce-scatter"},
    std::pair{Kind::kAllGather, "all-gather"}, std::pair{Kind::kBroadcast, "broadcast"},
    std::pair{Kind::kReduce, "reduce"},        std::pair{Kind::kGather, "gather"},
    std::pair{Kind::kScatter, "scatter"},      std::pair{Kind::kAllToAll, "all-to-all"},
    std::pair{Kind::kBarrier, "barrier"},      std::pair{Kind::kSend, "send"},
    std::pair{Kind::kReceive, "receive"},      std::pair{Kind::kOther, "other"},
};

}  // namespace

Kind kind_of_call(std::string_view name) {
  std::string plain(name);
  std::erase(plain, '_');
  const auto* const found =
      std::ranges::find_if(kParts, [&](const Named& part) { return plain.find(part.first) != std::string::npos; });
  return found == kParts.end() ? Kind::kOther : found->second;
}

Kind kind_of_operator(std::string_view name) {
  constexpr std::string_view kNamespace = "c10d::";
  return name.starts_with(kNamespace) ? kind_of_call(name.substr(kNamespace.size())) : Kind::kOther;
}

const char* kind_name(Kind kind) {
  return std::ranges::find(kNames, kind, &decltype(kNames)::value_type::first)->second;
}

}  // namespace ridgeline::communication
