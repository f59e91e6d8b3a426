// A profile as the editor's methods look things up in it: by file and line, by symbol, by node. Immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/prediction/predictor.h"
#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "app/profiling/profile_with_sources.h"
#include "base/function_ref.h"
#include "base/line_index.h"

namespace ridgeline::editor {

/// Names a file, given by its path, as the client does.
using UriOf = base::FunctionRef<std::string(const std::string& path)>;

/// The figures of one file. Lines count from 1, as in the profile; pointers are into the profile.
struct FileFigures {
  const std::string* text = nullptr;          ///< that ran; null: unknown
  std::optional<base::LineIndex> text_lines;  ///< of `text`
  std::map<std::uint32_t, const analysis::LineCost*> lines;
  std::multimap<std::uint32_t, const analysis::Node*> calls;        ///< by each line that called
  std::multimap<std::uint32_t, const analysis::Node*> definitions;  ///< modules, by the line of their class
};

class Figures {
 public:
  /// `earlier`: the models of the last profile that had some, for a profile without; null: there are none.
  explicit Figures(app::ProfileWithSources profile, std::shared_ptr<const analysis::Predictor> earlier = nullptr);
  Figures(const Figures&) = delete;
  Figures& operator=(const Figures&) = delete;

  const app::ProfileWithSources& profile_with_sources() const { return profile_; }
  const analysis::Profile& profile() const { return profile_.profile; }
  const analysis::Predictor& predictor() const { return predictor_; }
  const analysis::Outlook& outlook() const { return outlook_; }
  /// The last models of several batch sizes: of this profile, else of an earlier one. Null: there are none.
  const std::shared_ptr<const analysis::Predictor>& models() const { return models_; }
  std::int64_t created_s() const { return profile_.created_s; }
  const std::vector<protocol::SourceText>& sources() const { return profile_.sources; }

  /// By absolute path; null: the profile has nothing there.
  const FileFigures* file(std::string_view path) const;
  /// Whether a text of a file is the one that ran, but for the value of the entry point's batch size.
  bool differs_in_batch_size_only(std::string_view path, std::string_view text) const;
  /// Absolute path of a place's file; empty for no place.
  std::string path_of(const analysis::Location& place) const;
  /// A line as it was when it ran; empty where that is unknown.
  std::string_view line_text(const analysis::Location& place) const;
  /// The line of the `def` whose body calls the parts of a module, in the file of its class. Nothing for an operation,
  /// and for a module of a library: no line of the user calls its parts.
  std::optional<analysis::Location> forward_of(const analysis::Node& node) const;

  /// By its path from the root, as child indices: "" is the iteration, "0.2" the third child of its first.
  const analysis::Node* node(std::string_view id) const;
  std::string id_of(const analysis::Node& node) const;
  /// Null for the root.
  const analysis::Node* parent_of(const analysis::Node& node) const;

 private:
  struct Place {
    const analysis::Node* parent = nullptr;
    std::size_t number = 0;  ///< among the parent's children
  };

  void add(const analysis::Node& node);
  /// A line of the profile's library call; empty for any other.
  std::string_view library_line(const analysis::Location& place) const;

  app::ProfileWithSources profile_;
  analysis::Outlook outlook_;
  std::shared_ptr<const analysis::Predictor> models_;
  analysis::Predictor predictor_;
  std::map<std::string, FileFigures, std::less<>> files_;
  std::unordered_map<const analysis::Node*, Place> places_;
};

}  // namespace ridgeline::editor
