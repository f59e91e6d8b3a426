#include "editor/source_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

namespace ridgeline::editor {
namespace {

/// Holds the thread until release() is called, so that what is added meanwhile waits for its turn.
class Gate {
 public:
  SourceThread::Work work() {
    return [opened = open_.get_future().share()] {
      opened.wait();
      return false;
    };
  }
  void release() { open_.set_value(); }

 private:
  std::promise<void> open_;
};

TEST(SourceThread, GroupsTakeTurns) {
  Gate gate;
  std::promise<void> done;
  std::string order;
  SourceThread thread;
  thread.add(1, gate.work());
  const auto piece = [&](char name, int pieces) {
    return [&order, name, left = pieces]() mutable {
      order += name;
      return --left > 0;
    };
  };
  thread.add(1, piece('a', 4));
  thread.add(1, piece('b', 2));
  thread.add(2, piece('c', 2));
  thread.add(3, [&, left = 8]() mutable {
    if (--left == 0) {
      done.set_value();
    }
    return left > 0;
  });
  gate.release();
  done.get_future().wait();
  EXPECT_EQ(order, "cacbabaa") << "neither a group nor a text waits until another is done";
}

TEST(SourceThread, GoesOnAfterAnException) {
  std::promise<void> done;
  SourceThread thread;
  thread.add(1, []() -> bool { throw std::runtime_error("no"); });
  thread.add(1, [&] {
    done.set_value();
    return false;
  });
  done.get_future().wait();
}

TEST(SourceThread, EndsThoughWorkNeverDoes) {
  auto held = std::make_shared<int>(0);
  {
    SourceThread thread;
    thread.add(1, [held] { return true; });
    thread.add(2, [held] { return true; });
    thread.stop();
    EXPECT_TRUE(*thread.stopping());
    thread.add(3, [held] { return true; });
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace ridgeline::editor
