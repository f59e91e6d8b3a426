#include "jobs/record/messages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace ridgeline::jobs {

namespace {

using protocol::CommunicationTrace;
using protocol::GlooMessage;
using protocol::MessageKind;

// gloo/types.h: a slot is the kind of the collective (8 bits), its tag (32 bits) and a part of it (24 bits).
// CollectiveKind 0 is a slot that the caller chose: the tag of send and recv. ProcessGroupGloo counts its collectives
// in the tag.
constexpr unsigned kKindShift = 56;
constexpr unsigned kTagShift = 24;
constexpr std::uint64_t kTagMask = 0xffffffffU;

/// A message may end a little after the collective that it belongs to; on a busy machine, where threads note both late,
/// a few end much later.
constexpr std::int64_t kSlackNs = 5'000'000;
constexpr double kMostMessages = 0.9;

bool is_of_collective(const GlooMessage& message) { return message.slot >> kKindShift != 0; }
std::uint64_t tag_of(const GlooMessage& message) { return message.slot >> kTagShift & kTagMask; }
bool has_payload(const GlooMessage& message) {
  return message.kind == MessageKind::kBuffer || message.kind == MessageKind::kUnboundBuffer;
}

class Messages {
 public:
  Messages(const recording::Recording& recording, const CommunicationTrace& trace, TracedRank& to)
      : recording_(recording),
        trace_(trace),
        to_(to),
        first_(to.record.groups.size(), kTagMask + 1),
        last_(to.record.groups.size()) {
    for (std::uint32_t i = 0; i < to.record.collectives.size(); ++i) {
      const Collective& one = to.record.collectives[i];
      by_sequence_[{one.group, one.sequence}] = i;
      first_[one.group] = std::min(first_[one.group], one.sequence);
      last_[one.group] = std::max(last_[one.group], one.sequence);
    }
  }

  void add(const std::vector<CalledOperation>& calls) {
    find_groups();
    add_calls(calls);
    std::size_t unknown = 0;
    for (const GlooMessage& message : trace_.messages) {
      note_post(message);
      if (!has_payload(message) || (!is_of_collective(message) && message.position < 0)) {
        continue;
      }
      const auto collective = is_of_collective(message) ? collective_of(message) : call_of(message);
      if (collective.has_value()) {
        add(message, *collective);
      } else if (group_[message.connection] == kUnknown && is_of_collective(message)) {
        ++unknown;
      }
    }
    if (unknown > 0) {
      to_.warnings.push_back(
          fmt::format("{} messages were left out: it is not known which process group they are of.", unknown));
    }
    forget_unsent_calls();
  }

 private:
  static constexpr std::uint32_t kUnknown = ~0U;

  /// Whether a group's collectives may explain the message: one with its tag ran then, or none was recorded then.
  bool explains(std::uint32_t group, const GlooMessage& message) const {
    const auto found = by_sequence_.find({group, tag_of(message)});
    if (found == by_sequence_.end()) {
      return tag_of(message) < first_[group] || tag_of(message) > last_[group];
    }
    const Collective& one = to_.record.collectives[found->second];
    return message.started_ns >= one.called_ns - kSlackNs && message.ended_ns <= one.ended_ns + kSlackNs;
  }

  /// The one group of each connection that explains most of its messages, and has a collective of at least one.
  void find_groups() {
    const auto groups = static_cast<std::uint32_t>(to_.record.groups.size());
    group_.assign(trace_.connections.size(), kUnknown);
    std::vector<std::vector<const GlooMessage*>> messages(trace_.connections.size());
    for (const GlooMessage& message : trace_.messages) {
      if (has_payload(message) && is_of_collective(message)) {
        messages[message.connection].push_back(&message);
      }
    }
    for (std::size_t connection = 0; connection < messages.size(); ++connection) {
      std::vector<std::uint32_t> fitting;
      for (std::uint32_t group = 0; group < groups; ++group) {
        const auto explained =
            std::ranges::count_if(messages[connection], [&](const auto* one) { return explains(group, *one); });
        const bool most =
            static_cast<double>(explained) >= kMostMessages * static_cast<double>(messages[connection].size());
        const bool any = std::ranges::any_of(messages[connection], [&](const auto* one) {
          return by_sequence_.contains({group, tag_of(*one)});
        });
        if (most && any) {
          fitting.push_back(group);
        }
      }
      if (fitting.size() == 1) {
        group_[connection] = fitting.front();
      }
    }
  }

  /// The calls of send and recv, by their order the operations of the recording. Their times follow.
  void add_calls(const std::vector<CalledOperation>& calls) {
    if (calls.size() != trace_.point_to_point.size()) {
      to_.warnings.push_back(fmt::format("Calls of send and recv were left out: {} of {} were seen.",
                                         trace_.point_to_point.size(), calls.size()));
      return;
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const protocol::PointToPointCall& call = trace_.point_to_point[i];
      const bool sends = call.function == "send";
      Collective one;
      one.kind = sends ? CollectiveKind::kSend : CollectiveKind::kReceive;
      one.group = call.group;
      one.bytes = call.bytes;
      one.dtype = call.dtype;
      one.peer = call.peer;
      one.called_ns = static_cast<std::int64_t>(recording_.op_start()[calls[i].op]);
      one.file = calls[i].file;
      one.line = calls[i].line;
      const auto& iterations = to_.record.iterations;
      const auto after = std::ranges::upper_bound(iterations, one.called_ns, {}, &Iteration::started_ns);
      one.iteration = after == iterations.begin() ? 0 : static_cast<std::uint32_t>(after - iterations.begin() - 1);
      waiting_[{call.tag, sends}].push_back(static_cast<std::uint32_t>(to_.record.collectives.size()));
      to_.record.collectives.push_back(std::move(one));
    }
  }

  std::optional<std::uint32_t> collective_of(const GlooMessage& message) const {
    const auto found = by_sequence_.find({group_[message.connection], tag_of(message)});
    return found == by_sequence_.end() ? std::nullopt : std::optional(found->second);
  }

  /// The first call with the tag that was made before the message ended, has its size, and is of the same connection as
  /// the earlier calls with its peer.
  std::optional<std::uint32_t> call_of(const GlooMessage& message) {
    const auto found = waiting_.find({message.slot, message.sent});
    if (found == waiting_.end()) {
      return std::nullopt;
    }
    for (auto call = found->second.begin(); call != found->second.end(); ++call) {
      Collective& one = to_.record.collectives[*call];
      if (one.called_ns > message.ended_ns) {
        break;
      }
      if (one.bytes != message.bytes) {
        continue;
      }
      const auto [connection, is_new] = connection_of_peer_.try_emplace({one.group, one.peer}, message.connection);
      if (one.peer >= 0 && connection->second != message.connection) {
        continue;
      }
      const std::uint32_t index = *call;
      found->second.erase(call);
      one.started_ns = std::max(one.called_ns, message.started_ns);
      one.ended_ns = std::max(one.started_ns, message.ended_ns);
      return index;
    }
    return std::nullopt;
  }

  /// A receive begins when it is posted: the receiver announces that to the sender.
  void note_post(const GlooMessage& message) {
    if (message.kind == MessageKind::kReceiveReady && message.sent) {
      posted_[{message.connection, message.slot}].push_back(message.started_ns);
    }
  }

  void add(const GlooMessage& message, std::uint32_t collective) {
    Transfer transfer{collective, message.sent, -1, 0, message.bytes, message.started_ns, message.ended_ns};
    if (!message.sent) {
      auto& posts = posted_[{message.connection, message.slot}];
      if (!posts.empty() && posts.front() <= message.started_ns) {
        transfer.started_ns = posts.front();
        posts.erase(posts.begin());
      }
    }
    const std::uint64_t place = is_of_collective(message) ? counts_[{message.connection, collective, message.sent}]++
                                                          : static_cast<std::uint64_t>(message.position);
    to_.messages.push_back({transfer, message.connection, place});
  }

  /// A call whose message was not seen has no times.
  void forget_unsent_calls() {
    std::size_t count = 0;
    for (const auto& [tag, calls] : waiting_) {
      for (const std::uint32_t call : calls) {
        to_.record.collectives[call].started_ns = to_.record.collectives[call].called_ns;
        to_.record.collectives[call].ended_ns = to_.record.collectives[call].called_ns;
        ++count;
      }
    }
    if (count > 0) {
      to_.warnings.push_back(
          fmt::format("{} calls of send and recv have no times: their messages were not seen.", count));
    }
  }

  const recording::Recording& recording_;
  const CommunicationTrace& trace_;
  TracedRank& to_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> by_sequence_;  ///< (group, sequence) → collective
  std::vector<std::uint64_t> first_;                                              ///< sequence recorded, by group
  std::vector<std::uint64_t> last_;
  std::vector<std::uint32_t> group_;                                                     ///< by connection
  std::map<std::pair<std::uint64_t, bool>, std::vector<std::uint32_t>> waiting_;         ///< (tag, sends) → calls
  std::map<std::pair<std::uint32_t, int>, std::uint32_t> connection_of_peer_;            ///< (group, rank)
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::int64_t>> posted_;  ///< (connection, slot)
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint64_t> counts_;
};

}  // namespace

void add_messages(const recording::Recording& recording, const CommunicationTrace& trace,
                  const std::vector<CalledOperation>& calls, TracedRank& to) {
  Messages(recording, trace, to).add(calls);
}

void sort_by_call(TracedRank& rank) {
  auto& collectives = rank.record.collectives;
  std::vector<std::uint32_t> order(collectives.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return collectives[i].called_ns; });
  std::vector<Collective> sorted;
  std::vector<std::uint32_t> place(order.size());
  for (const std::uint32_t i : order) {
    place[i] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(collectives[i]));
  }
  collectives = std::move(sorted);
  for (TracedMessage& message : rank.messages) {
    message.transfer.collective = place[message.transfer.collective];
  }
  std::ranges::stable_sort(rank.messages, {}, [](const TracedMessage& one) { return one.transfer.started_ns; });
}

}  // namespace ridgeline::jobs
