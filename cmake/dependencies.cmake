# What the daemon and its tests are made with. Headers of libraries are system headers: their warnings are not ours.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(GTest 1.12 REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)
find_path(SQLITECPP_INCLUDE_DIR SQLiteCpp/Database.h REQUIRED)
find_library(SQLITECPP_STATIC_LIBRARY libSQLiteCpp.a REQUIRED)
find_library(SQLITE_STATIC_LIBRARY libsqlite3.a REQUIRED)
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_library(ZLIB_STATIC_LIBRARY libz.a REQUIRED)
add_subdirectory(cmake/tree_sitter)  # ridgeline::tree_sitter

# The daemon links nothing shared but the C library, and Debian has no static fmt and spdlog: what their libraries hold is
# made here of the same headers, once, which takes a third of the time that it takes in every file that logs or formats.
set(source "${CMAKE_BINARY_DIR}/generated/text_libraries.cpp")
file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#include <fmt/format-inl.h>
#include <spdlog/common-inl.h>
#include <spdlog/details/backtracer-inl.h>
#include <spdlog/details/log_msg-inl.h>
#include <spdlog/details/log_msg_buffer-inl.h>
#include <spdlog/details/os-inl.h>
#include <spdlog/details/periodic_worker-inl.h>
#include <spdlog/details/registry-inl.h>
#include <spdlog/logger-inl.h>
#include <spdlog/pattern_formatter-inl.h>
#include <spdlog/sinks/ansicolor_sink-inl.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/sinks/sink-inl.h>
#include <spdlog/spdlog-inl.h>
#include <mutex>

// Templates that the headers declare and do not define.
template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal(float);
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal(double);
template fmt::detail::locale_ref::locale_ref(const std::locale&);
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
template void fmt::detail::buffer<char>::append(const char*, const char*);
template void fmt::detail::vformat_to(buffer<char>&, string_view, format_args, locale_ref);
template class spdlog::sinks::base_sink<std::mutex>;
template class spdlog::sinks::ansicolor_sink<spdlog::details::console_mutex>;
template class spdlog::sinks::ansicolor_stdout_sink<spdlog::details::console_mutex>;
]])
add_library(ridgeline_text_libraries STATIC "${source}")
target_link_libraries(ridgeline_text_libraries PRIVATE ridgeline_options)
target_compile_options(ridgeline_text_libraries PRIVATE -w)  # its warnings are not ours
target_link_libraries(ridgeline_options INTERFACE $<LINK_ONLY:ridgeline_text_libraries>)
# Boost.Process uses the standard file system instead of Boost's library.
target_compile_definitions(ridgeline_options INTERFACE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL BOOST_PROCESS_USE_STD_FS)

# SQLiteCpp over SQLite. SQLiteCpp's own target would link the shared SQLite.
add_library(ridgeline::sqlite STATIC IMPORTED)
set_target_properties(ridgeline::sqlite PROPERTIES
  IMPORTED_LOCATION "${SQLITECPP_STATIC_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${SQLITECPP_INCLUDE_DIR};${SQLITE_INCLUDE_DIR}"
  INTERFACE_LINK_LIBRARIES "${SQLITE_STATIC_LIBRARY};m;Threads::Threads")

add_library(ridgeline::zlib STATIC IMPORTED)
set_target_properties(ridgeline::zlib PROPERTIES
  IMPORTED_LOCATION "${ZLIB_STATIC_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${ZLIB_INCLUDE_DIR}")
