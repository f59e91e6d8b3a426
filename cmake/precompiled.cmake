# How a cold build takes less time: files compiled in groups, and precompiled headers for what is not shipped, which is not
# optimised either. In the debug build every file is compiled by itself and has to include what it needs.
option(RIDGELINE_IN_GROUPS "Compile the files of a folder in groups" ON)
# Files of a group. Large ones compile in less time on the whole, and a changed file in more: the sanitizers' builds are
# mostly made from nothing.
if(RIDGELINE_SANITIZE)
  set(RIDGELINE_GROUP 16)
else()
  set(RIDGELINE_GROUP 8)
endif()

# ridgeline_quickly_built(<target>): for what is not shipped. Gives the target the headers, all of them; what it may
# include is checked by tests/layers.
function(ridgeline_quickly_built target)
  if(NOT TARGET ridgeline_headers)
    set(source "${CMAKE_BINARY_DIR}/generated/headers.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// Nothing but the precompiled headers.\n")
    add_library(ridgeline_headers STATIC EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(
      ridgeline_headers
      PRIVATE ridgeline_options Boost::headers nlohmann_json::nlohmann_json GTest::gmock
    )
    target_precompile_headers(
      ridgeline_headers
      PRIVATE
        <algorithm>
        <array>
        <chrono>
        <filesystem>
        <fstream>
        <functional>
        <map>
        <optional>
        <random>
        <sstream>
        <string>
        <unordered_map>
        <variant>
        <vector>
        <boost/asio/io_context.hpp>
        <boost/asio/local/stream_protocol.hpp>
        <boost/asio/posix/stream_descriptor.hpp>
        <boost/asio/steady_timer.hpp>
        <fmt/format.h>
        <gmock/gmock.h>
        <gtest/gtest.h>
        <nlohmann/json.hpp>
    )
    ridgeline_without_optimisation(ridgeline_headers)
  endif()
  target_precompile_headers(${target} REUSE_FROM ridgeline_headers)
  # The headers hold for files that are compiled with the same macros: GoogleTest's are among its options.
  target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  ridgeline_without_optimisation(${target})
  ridgeline_in_groups(${target})
endfunction()

# ridgeline_in_groups(<target>): compiles the files of a folder several at a time (a unity build): what they include is
# instantiated once. Two of them cannot use one name in their anonymous namespaces for different things.
function(ridgeline_in_groups target)
  if(NOT RIDGELINE_IN_GROUPS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes a file of the group for a header, and then warns of lambdas in coroutines.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(MD5 name "${folder}")
    math(EXPR count_${name} "0${count_${name}} + 1")
    math(EXPR group "${count_${name}} / ${RIDGELINE_GROUP}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${group}")
  endforeach()
endfunction()

# ridgeline_shipped(<target>): in groups; in the sanitizers' builds, from which nothing is shipped, as the tests are built.
function(ridgeline_shipped target)
  if(RIDGELINE_SANITIZE)
    ridgeline_quickly_built(${target})
  else()
    ridgeline_in_groups(${target})
  endif()
endfunction()

function(ridgeline_without_optimisation target)
  target_compile_options(${target} PRIVATE -O0)
  set_target_properties(${target} PROPERTIES RIDGELINE_QUICKLY_BUILT ON)
endfunction()
