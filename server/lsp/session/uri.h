// URIs of documents, paths of files, and the two names that one file has here and where the client runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::lsp {

/// The path in a file:// URI. Nothing for any other scheme, and for what cannot be a path.
std::optional<std::string> path_of_uri(std::string_view uri);
/// As VS Code writes it: all but letters, digits, `-._~/` is percent-encoded.
std::string uri_of_path(std::string_view path);

/// A folder as the client names it (`C:\work` too), and as we do.
struct PathMap {
  std::string local;
  std::string remote;
};
/// Reads LOCAL=REMOTE. Nothing when one of them is missing.
std::optional<PathMap> parse_path_map(std::string_view text);

/// The longest folder that fits counts; paths in none of them are the same on both sides.
class PathMaps {
 public:
  PathMaps() = default;
  explicit PathMaps(std::vector<PathMap> maps);
  void add(PathMap map);
  std::string to_ours(std::string path) const;
  std::string to_theirs(std::string path) const;

 private:
  std::vector<PathMap> maps_;
};

}  // namespace ridgeline::lsp
