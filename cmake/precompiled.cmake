# What takes long to read, read once per build. Only the sanitizers' builds do so: in the release build, and for
# clang-tidy, every file has to include what it needs.
#
# ridgeline_precompiled(<target>): gives it the headers, all of them; what it may include is checked by tests/layers.
function(ridgeline_precompiled target)
  if(NOT RIDGELINE_SANITIZE)
    return()
  endif()
  if(NOT TARGET ridgeline_headers)
    set(source "${CMAKE_BINARY_DIR}/generated/headers.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// Nothing but the precompiled headers.\n")
    add_library(ridgeline_headers STATIC "${source}")
    target_link_libraries(ridgeline_headers PRIVATE
      ridgeline_options Boost::headers nlohmann_json::nlohmann_json GTest::gmock)
    target_precompile_headers(ridgeline_headers PRIVATE
      <algorithm> <array> <chrono> <filesystem> <fstream> <functional> <map> <optional> <random> <sstream> <string>
      <unordered_map> <variant> <vector>
      <boost/asio/io_context.hpp> <boost/asio/local/stream_protocol.hpp> <boost/asio/posix/stream_descriptor.hpp>
      <boost/asio/steady_timer.hpp> <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ridgeline_headers)
  # The headers hold for files that are compiled with the same macros: GoogleTest's are among its options.
  target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
endfunction()
