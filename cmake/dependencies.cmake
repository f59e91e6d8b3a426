# What the daemon and its tests are made with. Headers of libraries are system headers: their warnings are not ours.
find_package(Threads REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS url)
find_package(Eigen3 3.4 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(GTest 1.12 REQUIRED)
find_package(fmt 9.1 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)
find_path(SQLITECPP_INCLUDE_DIR SQLiteCpp/Database.h REQUIRED)
find_library(SQLITECPP_STATIC_LIBRARY libSQLiteCpp.a REQUIRED)
find_library(SQLITE_STATIC_LIBRARY libsqlite3.a REQUIRED)
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_library(UTF8PROC_STATIC_LIBRARY libutf8proc.a REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_library(ZLIB_STATIC_LIBRARY libz.a REQUIRED)
add_subdirectory(cmake/tree_sitter) # ridgeline::tree_sitter

# The daemon links nothing shared but the C library, and Debian has no static fmt and spdlog: both are made here of their
# headers. Compiling them into every file that logs or formats takes 4 s more for each. Sanitizer builds, of which nothing
# is shipped, link Debian's libraries.
if(RIDGELINE_SANITIZE)
  target_link_libraries(ridgeline_options INTERFACE $<LINK_ONLY:spdlog::spdlog> $<LINK_ONLY:fmt::fmt>)
else()
  set(source "${CMAKE_BINARY_DIR}/generated/text_libraries.cpp")
  file(
    CONFIGURE
    OUTPUT "${source}"
    CONTENT
      [[
#undef SPDLOG_COMPILED_LIB
#define SPDLOG_HEADER_ONLY
#define FMT_HEADER_ONLY
#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <mutex>

template class spdlog::sinks::base_sink<std::mutex>;
]]
  )
  add_library(ridgeline_text_libraries STATIC "${source}")
  target_link_libraries(ridgeline_text_libraries PRIVATE ridgeline_options)
  # Every inline function, used or not; the linker drops those that nobody calls. Their warnings are not ours.
  target_compile_options(ridgeline_text_libraries PRIVATE -fkeep-inline-functions -ffunction-sections -w)
  target_link_options(ridgeline_text_libraries INTERFACE -Wl,--gc-sections)
  target_link_libraries(ridgeline_options INTERFACE $<LINK_ONLY:ridgeline_text_libraries>)
endif()
# Boost.Process uses the standard file system instead of Boost's library.
target_compile_definitions(ridgeline_options INTERFACE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL BOOST_PROCESS_USE_STD_FS)

# Only the parts under the MPL 2.0, and without assertions: a failed one would end the daemon.
set_property(TARGET Eigen3::Eigen APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS EIGEN_MPL2_ONLY EIGEN_NO_DEBUG)

# SQLiteCpp over SQLite. SQLiteCpp's own target would link the shared SQLite.
add_library(ridgeline::sqlite STATIC IMPORTED)
set_target_properties(
  ridgeline::sqlite
  PROPERTIES
    IMPORTED_LOCATION "${SQLITECPP_STATIC_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${SQLITECPP_INCLUDE_DIR};${SQLITE_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${SQLITE_STATIC_LIBRARY};m;Threads::Threads"
)

add_library(ridgeline::zlib STATIC IMPORTED)
set_target_properties(
  ridgeline::zlib
  PROPERTIES IMPORTED_LOCATION "${ZLIB_STATIC_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${ZLIB_INCLUDE_DIR}"
)

add_library(ridgeline::utf8proc STATIC IMPORTED)
set_target_properties(
  ridgeline::utf8proc
  PROPERTIES IMPORTED_LOCATION "${UTF8PROC_STATIC_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${UTF8PROC_INCLUDE_DIR}"
)
