#include "worker/cache.h"

#include <gmock/gmock.h>

#include <chrono>
#include <iterator>

#include "tests/unit/worker/places.h"
#include "worker/embedded_sources.h"

namespace ridgeline::worker {
namespace {

namespace fs = std::filesystem;
using testing::content_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::Variable;

base::Result<std::string> cache_in(const fs::path& folder) {
  const Variable cache("RIDGELINE_CACHE", folder.string());
  return cache_folder();
}

/// What there is, or why there is none: never mistaken for the other in these tests.
std::string text_of(const base::Result<std::string>& result) {
  return result ? *result : "error: " + result.error().message();
}

void expect_refused(const fs::path& folder, const std::string& words) {
  const auto refused = cache_in(folder);
  ASSERT_FALSE(refused.has_value()) << *refused;
  const std::string error = refused.error().message();
  EXPECT_THAT(error, HasSubstr(words));
  EXPECT_THAT(error, HasSubstr(folder.string()));
  EXPECT_THAT(error, HasSubstr("RIDGELINE_CACHE"));  // what to do
}

TEST(CacheFolder, IsMadeForUsAlone) {
  const TemporaryFolder folder;
  EXPECT_EQ(text_of(cache_in(folder / "a/b/cache")), (folder / "a/b/cache").string());
  EXPECT_EQ(fs::status(folder / "a/b/cache").permissions(), fs::perms::owner_all);
  EXPECT_EQ(text_of(cache_in(folder / "a/b/cache")), (folder / "a/b/cache").string());
}

TEST(CacheFolder, IsClosedToOthersWhoCouldReadIt) {
  const TemporaryFolder folder;
  for (const fs::perms others : {fs::perms::others_read, fs::perms::group_exec, fs::perms::group_read}) {
    fs::create_directories(folder / "cache");
    fs::permissions(folder / "cache", fs::perms::owner_all | others);
    EXPECT_EQ(text_of(cache_in(folder / "cache")), (folder / "cache").string());
    EXPECT_EQ(fs::status(folder / "cache").permissions(), fs::perms::owner_all);
  }
}

TEST(CacheFolder, FollowsTheUsualVariables) {
  const TemporaryFolder folder;
  const Variable none("RIDGELINE_CACHE", std::nullopt);
  const Variable home("HOME", (folder / "home").string());
  {
    const Variable base("XDG_CACHE_HOME", (folder / "xdg").string());
    EXPECT_EQ(text_of(cache_folder()), (folder / "xdg/ridgeline").string());
  }
  const Variable base("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(text_of(cache_folder()), (folder / "home/.cache/ridgeline").string());
}

TEST(CacheFolder, IsRefusedWhenOthersCanWriteToIt) {
  const TemporaryFolder folder;
  for (const fs::perms others : {fs::perms::others_write, fs::perms::group_write}) {
    fs::create_directories(folder / "cache");
    fs::permissions(folder / "cache", fs::perms::owner_all | others);
    expect_refused(folder / "cache", "not yours alone");
  }
}

TEST(CacheFolder, IsRefusedWhenItBelongsToSomebodyElse) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "cache");
  if (::chown((folder / "cache").c_str(), 12345, 12345) != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  expect_refused(folder / "cache", "not yours alone");
}

TEST(CacheFolder, IsRefusedWhenItIsAFile) {
  const TemporaryFolder folder;
  expect_refused(folder.file("cache", ""), "not yours alone");
}

TEST(CacheFolder, SaysWhyItCannotBeMade) {
  const TemporaryFolder folder;
  folder.file("file", "");
  expect_refused(folder / "file/cache", "Not a directory");
}

TEST(UnpackSources, WritesEveryEmbeddedFile) {
  const TemporaryFolder cache;
  const auto unpacked = unpack_sources(cache.path().string());
  ASSERT_TRUE(unpacked.has_value()) << unpacked.error().message();
  const fs::path root = *unpacked;
  ASSERT_FALSE(embedded_files().empty());
  for (const base::EmbeddedFile& file : embedded_files()) {
    EXPECT_EQ(content_of(root / file.path), file.content) << file.path;
  }
  EXPECT_THAT(root.string(), HasSubstr(sources_hash()));
}

TEST(UnpackSources, RepairsAndKeeps) {
  const TemporaryFolder cache;
  const fs::path root = *unpack_sources(cache.path().string());
  const base::EmbeddedFile& damaged = embedded_files().front();
  const base::EmbeddedFile& missing = embedded_files().back();
  const base::EmbeddedFile& good = embedded_files()[1];
  const auto written = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(root / good.path, written);
  std::ofstream(root / damaged.path, std::ios::app) << "damage";
  fs::remove(root / missing.path);
  EXPECT_EQ(text_of(unpack_sources(cache.path().string())), root);
  EXPECT_EQ(content_of(root / damaged.path), damaged.content);
  EXPECT_EQ(content_of(root / missing.path), missing.content);
  EXPECT_EQ(fs::last_write_time(root / good.path), written) << "what is right is left alone";
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
  }
}

TEST(UnpackSources, SaysWhyItCannot) {
  const TemporaryFolder folder;
  const auto refused = unpack_sources(folder.file("cache", "").string());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr((folder / "cache").string()));
}

TEST(UnpackSources, SaysThatAFolderStandsInTheWay) {
  const TemporaryFolder cache;
  const fs::path root = *unpack_sources(cache.path().string());
  fs::remove(root / embedded_files().front().path);
  fs::create_directories(root / embedded_files().front().path);
  const auto refused = unpack_sources(cache.path().string());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("directory"));
}

TEST(SourcesHash, IsStable) {
  EXPECT_EQ(sources_hash().size(), 16U);
  EXPECT_EQ(sources_hash(), sources_hash());
}

}  // namespace
}  // namespace ridgeline::worker
