#include "cli/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "cli/terminal.h"
#include "report/units.h"

namespace ridgeline::cli {

namespace {

constexpr int kBarWidth = 20;

std::string track(double fraction) {
  const std::string filled = report::bar(fraction, kBarWidth);
  std::string text = filled;
  for (int i = report::columns(filled); i < kBarWidth; ++i) {
    text += "░";
  }
  return text;
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) != 0 && !is_dumb_terminal()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const protocol::Progress& step, const protocol::Progress& timed) {
  if (terminal_) {
    const int percent = static_cast<int>(std::lround(100 * std::clamp(timed.fraction, 0.0, 1.0)));
    std::cerr << "\r\033[K" << track(timed.fraction) << ' ' << percent << " %  " << report::printable(timed.message)
              << std::flush;
    shown_ = true;
  } else if (step.message != last_) {
    std::cerr << report::printable(step.message) << "\n";
    last_ = step.message;
  }
}

void ProgressLine::clear() {
  if (shown_) {
    std::cerr << "\r\033[K" << std::flush;
    shown_ = false;
  }
}

}  // namespace ridgeline::cli
