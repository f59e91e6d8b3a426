# What the daemon and its tests are made with. Headers of libraries are system headers: their warnings are not ours.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(GTest 1.12 REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)
find_library(SQLITE_STATIC_LIBRARY libsqlite3.a REQUIRED)
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_library(ZLIB_STATIC_LIBRARY libz.a REQUIRED)
add_subdirectory(cmake/tree_sitter)  # ridgeline::tree_sitter

# Debian has no static fmt and spdlog, and the daemon links nothing shared but the C library: so they are headers only.
# Boost.Process likewise uses the standard file system instead of Boost's library.
target_compile_definitions(ridgeline_options INTERFACE
  FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL BOOST_PROCESS_USE_STD_FS)

add_library(ridgeline::sqlite STATIC IMPORTED)
set_target_properties(ridgeline::sqlite PROPERTIES
  IMPORTED_LOCATION "${SQLITE_STATIC_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${SQLITE_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES "m;Threads::Threads")

add_library(ridgeline::zlib STATIC IMPORTED)
set_target_properties(ridgeline::zlib PROPERTIES
  IMPORTED_LOCATION "${ZLIB_STATIC_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${ZLIB_INCLUDE_DIR}")
