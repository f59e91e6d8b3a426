#include "lsp/session/uri.h"

#include <gtest/gtest.h>

namespace ridgeline::lsp {
namespace {

TEST(PathOfUri, DecodesFiles) {
  EXPECT_EQ(path_of_uri("file:///a/b.py"), "/a/b.py");
  EXPECT_EQ(path_of_uri("file:/a/b.py"), "/a/b.py");
  EXPECT_EQ(path_of_uri("FILE://localhost/a"), "/a");
  EXPECT_EQ(path_of_uri("file:///a%20b/%C3%A4%25.py"), "/a b/ä%.py");
  EXPECT_EQ(path_of_uri("file:///a%3Fb%23c?query#fragment"), "/a?b#c");
  EXPECT_EQ(path_of_uri("file:///C%3A/x"), "/c:/x");
  EXPECT_EQ(path_of_uri("file:///c:/x"), "/c:/x");
  EXPECT_EQ(path_of_uri("file://server/share/x"), "//server/share/x");
}

TEST(PathOfUri, TakesWhatEditorsLeaveUnencoded) {
  EXPECT_EQ(path_of_uri("file:///a b/ä[1]{2}.py"), "/a b/ä[1]{2}.py");
  EXPECT_EQ(path_of_uri("file:///C:\\x"), "/c:\\x");
  EXPECT_EQ(path_of_uri("file:///a#b#c"), "/a");
}

TEST(PathOfUri, LeavesEverythingElseOpaque) {
  for (const char* uri : {"", "file:", "file://", "file://host", "untitled:Untitled-1", "vscode-notebook-cell:/a/b#1",
                          "/a/b", "file:relative", "file:///a%", "file:///a%2", "file:///a%zz", "file:///a%00b"}) {
    EXPECT_EQ(path_of_uri(uri), std::nullopt) << uri;
  }
}

TEST(UriOfPath, EncodesAsEditorsDo) {
  EXPECT_EQ(uri_of_path("/a/b_c-d.e~f.py"), "file:///a/b_c-d.e~f.py");
  EXPECT_EQ(uri_of_path("/a b/ä%?#@:+.py"), "file:///a%20b/%C3%A4%25%3F%23%40%3A%2B.py");
  EXPECT_EQ(uri_of_path("/c:/x"), "file:///c%3A/x");
  EXPECT_EQ(uri_of_path("//server/share/x"), "file://server/share/x");
  for (const char* path : {"/", "/a b", "/ä/€/😀", "/\x01\xff", "/%41", "//server/share", "//wsl$/x"}) {
    EXPECT_EQ(path_of_uri(uri_of_path(path)), path);
  }
}

TEST(PathMaps, ReadWhatUsersWrite) {
  EXPECT_EQ(parse_path_map("/a=/b=c")->remote, "/b=c");
  for (const char* text : {"", "=", "/a", "/a=", "=/b"}) {
    EXPECT_FALSE(parse_path_map(text).has_value()) << text;
  }
}

TEST(PathMaps, MoveWholeFolders) {
  const PathMaps maps({{"/home/me/p/", "/srv/p"}, {"/home/me/p/data", "/data"}, {"C:\\project", "/srv/project"}});
  EXPECT_EQ(maps.to_ours("/home/me/p/a.py"), "/srv/p/a.py");
  EXPECT_EQ(maps.to_ours("/home/me/p"), "/srv/p");
  EXPECT_EQ(maps.to_ours("/home/me/project/a.py"), "/home/me/project/a.py");
  EXPECT_EQ(maps.to_ours("/home/me/p/data/x"), "/data/x");
  EXPECT_EQ(maps.to_ours("/c:/project/x.py"), "/srv/project/x.py");
  EXPECT_EQ(maps.to_theirs("/srv/project/x.py"), "/c:/project/x.py");
  EXPECT_EQ(maps.to_theirs("/srv/p/data/x"), "/home/me/p/data/x");
  EXPECT_EQ(maps.to_theirs("/elsewhere"), "/elsewhere");
}

TEST(PathMaps, MayMoveTheRoot) {
  const PathMaps maps({PathMap{"/", "/mnt"}});
  EXPECT_EQ(maps.to_ours("/a"), "/mnt/a");
  EXPECT_EQ(maps.to_ours("/"), "/mnt");
  EXPECT_EQ(maps.to_theirs("/mnt/a"), "/a");
  EXPECT_EQ(maps.to_theirs("/mnt"), "/");
}

}  // namespace
}  // namespace ridgeline::lsp
