#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "jobs/record/rank_record.h"

namespace ridgeline::jobs {

namespace {

/// What a message is, seen from either end: group, whether it is of send and recv, the sequence of the collective, and
/// its place. Those of send and recv have no sequence of their own: the place alone tells them apart.
using MessageKey = std::tuple<std::string, bool, std::uint64_t, std::uint64_t>;

struct End {
  std::size_t rank = 0;
  std::size_t message = 0;
};

/// A message as its two ends saw it; absent: the end was not recorded.
struct Ends {
  std::optional<End> sender;
  std::optional<End> receiver;
};

class Connector {
 public:
  explicit Connector(std::vector<TracedRank> ranks) : ranks_(std::move(ranks)) {}

  std::vector<RankRecord> connect(std::vector<std::string>& warnings) {
    find_peers();
    find_roots();
    number_messages();
    std::vector<RankRecord> records;
    for (TracedRank& rank : ranks_) {
      for (const TracedMessage& message : rank.messages) {
        if (message.transfer.peer >= 0) {
          rank.record.transfers.push_back(message.transfer);
        }
      }
      records.push_back(std::move(rank.record));
    }
    if (unknown_peers_ > 0) {
      warnings.push_back(fmt::format("{} messages were left out: their other end was not recorded.", unknown_peers_));
    }
    if (different_ > 0) {
      warnings.push_back(
          fmt::format("{} messages were left out: sender and receiver saw different numbers of bytes.", different_));
    }
    return records;
  }

 private:
  void find_peers() {
    std::map<std::pair<std::string, std::string>, int> rank_at;  // by (local, remote)
    for (const TracedRank& rank : ranks_) {
      for (const protocol::Connection& one : rank.connections) {
        if (!one.local.empty()) {
          rank_at.emplace(std::pair(one.local, one.remote), rank.record.rank);
        }
      }
    }
    for (TracedRank& rank : ranks_) {
      for (TracedMessage& message : rank.messages) {
        const protocol::Connection& one = rank.connections[message.connection];
        const auto other = rank_at.find({one.remote, one.local});
        message.transfer.peer = other != rank_at.end() ? other->second : only_other(rank.record, message.transfer);
        unknown_peers_ += message.transfer.peer < 0 ? 1U : 0U;
      }
    }
  }

  static int only_other(const RankRecord& record, const Transfer& transfer) {
    const Collective& collective = record.collectives[transfer.collective];
    const std::vector<int>& ranks = record.groups[collective.group].ranks;
    if (ranks.size() != 2) {
      return collective.peer;
    }
    return ranks[0] == record.rank ? ranks[1] : ranks[0];
  }

  /// The root of a broadcast or a scatter receives nothing; that of a reduction or a gather sends nothing.
  void find_roots() {
    std::map<std::tuple<std::string, std::uint64_t>, int> roots;
    std::vector<std::vector<std::pair<bool, bool>>> used(ranks_.size());  // (sends, receives), by collective
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const RankRecord& record = ranks_[r].record;
      used[r].resize(record.collectives.size());
      for (const TracedMessage& message : ranks_[r].messages) {
        auto& [sends, receives] = used[r][message.transfer.collective];
        (message.transfer.sends ? sends : receives) = true;
      }
      for (std::size_t i = 0; i < record.collectives.size(); ++i) {
        const auto [sends, receives] = used[r][i];
        const CollectiveKind kind = record.collectives[i].kind;
        const bool from_root = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kScatter;
        const bool to_root = kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather;
        if ((from_root && sends && !receives) || (to_root && receives && !sends)) {
          roots[key(record, record.collectives[i])] = record.rank;
        }
      }
    }
    for (TracedRank& rank : ranks_) {
      for (Collective& one : rank.record.collectives) {
        const bool has_root = one.kind == CollectiveKind::kBroadcast || one.kind == CollectiveKind::kScatter ||
                              one.kind == CollectiveKind::kReduce || one.kind == CollectiveKind::kGather;
        const auto root = roots.find(key(rank.record, one));
        if (has_root && root != roots.end()) {
          one.peer = root->second;
        }
      }
    }
  }

  static std::tuple<std::string, std::uint64_t> key(const RankRecord& record, const Collective& one) {
    return {record.groups[one.group].name, one.sequence};
  }

  static MessageKey key(const RankRecord& record, const TracedMessage& message) {
    const Collective& one = record.collectives[message.transfer.collective];
    const bool is_call = one.kind == CollectiveKind::kSend || one.kind == CollectiveKind::kReceive;
    return {record.groups[one.group].name, is_call, is_call ? 0 : one.sequence, message.place};
  }

  /// Numbers the messages of each sender to each receiver, in the order of their keys, which both ends know.
  void number_messages() {
    std::map<std::pair<int, int>, std::map<MessageKey, Ends>> pairs;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const RankRecord& record = ranks_[r].record;
      for (std::size_t m = 0; m < ranks_[r].messages.size(); ++m) {
        const Transfer& transfer = ranks_[r].messages[m].transfer;
        if (transfer.peer < 0) {
          continue;
        }
        const std::pair<int, int> pair =
            transfer.sends ? std::pair(record.rank, transfer.peer) : std::pair(transfer.peer, record.rank);
        Ends& ends = pairs[pair][key(record, ranks_[r].messages[m])];
        (transfer.sends ? ends.sender : ends.receiver) = End{r, m};
      }
    }
    for (const auto& [pair, messages] : pairs) {
      std::uint64_t number = 0;
      for (const auto& [message, ends] : messages) {
        number_message(ends, number++);
      }
    }
  }

  void number_message(const Ends& ends, std::uint64_t number) {
    Transfer* sent = ends.sender ? &at(*ends.sender) : nullptr;
    Transfer* received = ends.receiver ? &at(*ends.receiver) : nullptr;
    const bool differ = sent != nullptr && received != nullptr && sent->bytes != received->bytes;
    different_ += differ ? 1U : 0U;
    for (Transfer* end : {sent, received}) {
      if (end == nullptr) {
        continue;
      }
      end->transaction = number;
      if (differ) {
        end->peer = -1;
      }
    }
    for (const std::optional<End>& end : {ends.sender, ends.receiver}) {
      if (!end.has_value()) {
        continue;
      }
      Collective& one = ranks_[end->rank].record.collectives[at(*end).collective];
      if (one.kind == CollectiveKind::kSend || one.kind == CollectiveKind::kReceive) {
        one.sequence = number;
        one.peer = at(*end).peer < 0 ? one.peer : at(*end).peer;  // also where it receives from any
      }
    }
  }

  Transfer& at(const End& end) { return ranks_[end.rank].messages[end.message].transfer; }

  std::vector<TracedRank> ranks_;
  std::size_t unknown_peers_ = 0;
  std::size_t different_ = 0;
};

}  // namespace

std::vector<RankRecord> connect_ranks(std::vector<TracedRank> ranks, std::vector<std::string>& warnings) {
  return Connector(std::move(ranks)).connect(warnings);
}

}  // namespace ridgeline::jobs
