// Whether the batch size that a user has settled on is run in the background. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/callback.h"
#include "base/function_ref.h"
#include "editor/document_reader.h"
#include "editor/entries.h"
#include "editor/settings.h"

namespace ridgeline::editor {

struct TrialDecision {
  enum class Kind : std::uint8_t {
    kNothing,  ///< nothing to try: it is measured, or may not run
    kLater,    ///< not while the text is being edited or the file is profiled
    kRefused,  ///< it stays predicted: `why`
    kTry
  };
  Kind kind = Kind::kNothing;
  int batch_size = 0;
  std::string why{};
  std::string profile_id{};  ///< whose figures it is about; empty: there are none
  base::Callback start{};    ///< of kTry: begins the trial; decide_trial() leaves it to its caller
};

/// The state when the text has not been edited for long enough.
struct TrialConditions {
  const Settings& settings;
  const Entry* entry = nullptr;         ///< the document as an entry; null: it is none
  const std::string& text;              ///< of the document
  const SourceFacts* source = nullptr;  ///< of that text; null: it has no entry point
  bool is_busy = false;                 ///< the text is being parsed, or an edit of ours is pending
  std::uint64_t available_bytes = 0;    ///< of memory, now
};

/// `has_consent`: to running the entry's code. It does not ask the user, and is called last.
TrialDecision decide_trial(const TrialConditions& conditions, base::FunctionRef<bool()> has_consent);

}  // namespace ridgeline::editor
