#include "editor/source_thread.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

namespace ridgeline::editor {

SourceThread::SourceThread() : thread_([this] { run(); }) {}

SourceThread::~SourceThread() {
  stop();
  thread_.join();
}

void SourceThread::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_->store(true);
  }
  changed_.notify_one();
}

void SourceThread::add(Group group, Work work) {
  {
    const std::scoped_lock lock(mutex_);
    if (!stopping_->load()) {
      waiting_[group].push_back(std::move(work));
    }
  }
  changed_.notify_one();
}

void SourceThread::run() {
  while (auto work = next()) {
    run_slice(work->first, std::move(work->second));
  }
}

std::optional<std::pair<SourceThread::Group, SourceThread::Work>> SourceThread::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_->load() || !waiting_.empty(); });
  if (stopping_->load()) {
    return std::nullopt;
  }
  auto turn = waiting_.upper_bound(last_);
  turn = turn == waiting_.end() ? waiting_.begin() : turn;
  last_ = turn->first;
  Work work = std::move(turn->second.front());
  turn->second.pop_front();
  if (turn->second.empty()) {
    waiting_.erase(turn);
  }
  return std::pair(last_, std::move(work));
}

void SourceThread::run_slice(Group group, Work work) {
  bool more = false;
  try {
    more = work();
  } catch (const std::exception& problem) {
    spdlog::error("reading a source failed: {}", problem.what());
  }
  if (more) {
    add(group, std::move(work));
  }
}

}  // namespace ridgeline::editor
