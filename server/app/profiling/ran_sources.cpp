#include "app/profiling/ran_sources.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "app/profiling/unsaved_text.h"
#include "base/line_index.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ridgeline::app {

namespace {

constexpr std::size_t kMaxSources = 512;

void add_places(const analysis::Node& node, std::set<std::string>& files) {
  files.insert({node.location.file, node.definition.file});
  for (const analysis::Node& child : node.children) {
    add_places(child, files);
  }
}

}  // namespace

std::string path_of(const std::string& file, const analysis::Profile& profile) {
  return file.starts_with('/') ? file : profile.project_root + "/" + file;
}

std::vector<std::string> own_files(const analysis::Profile& profile) {
  std::set<std::string> files;
  add_places(profile.breakdown, files);
  std::erase_if(files, [](const std::string& file) { return file.empty() || file.starts_with('/'); });
  for (const analysis::LineCost& line : profile.lines) {
    files.insert(line.location.file);
  }
  std::vector<std::string> paths = {profile.entry_path};
  for (const std::string& file : files) {
    if (std::string path = path_of(file, profile); path != profile.entry_path && paths.size() < kMaxSources) {
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

RanSources ran_sources(const std::vector<std::string>& paths, const std::vector<protocol::SourceText>& overlay,
                       const store::Moment& began) {
  RanSources sources;
  for (const std::string& path : paths) {
    const auto unsaved = std::ranges::find(overlay, path, &protocol::SourceText::path);
    if (unsaved != overlay.end()) {
      sources.texts.push_back(*unsaved);
    } else if (store::take_fingerprint({path}, began).whole) {
      if (auto text = text_of(path)) {
        sources.texts.push_back({path, std::move(*text)});
      }
    } else {
      sources.changed.push_back(path);
    }
  }
  return sources;
}

RanSources ran_sources(const analysis::Profile& profile, const std::vector<protocol::SourceText>& overlay,
                       const store::Moment& began) {
  return ran_sources(own_files(profile), overlay, began);
}

void add_line_texts(analysis::Profile& profile, const std::vector<protocol::SourceText>& texts) {
  std::map<std::string_view, std::vector<analysis::LineCost*>> lines;  // by file, as the profile names it
  for (analysis::LineCost& line : profile.lines) {
    lines[line.location.file].push_back(&line);
  }
  const std::string root = profile.project_root + "/";
  for (const protocol::SourceText& source : texts) {
    std::string_view file = source.path;
    if (!lines.contains(file) && file.starts_with(root)) {
      file.remove_prefix(root.size());
    }
    const auto found = lines.find(file);
    if (found == lines.end()) {
      continue;
    }
    const base::LineIndex index(source.text);
    for (analysis::LineCost* line : found->second) {
      if (line->location.line >= 1 && line->location.line <= index.count()) {
        const std::string_view text = base::trimmed(index.line_in(source.text, line->location.line - 1));
        line->text = base::cut_utf8(text, analysis::kMaxLineText);
      }
    }
  }
}

}  // namespace ridgeline::app
