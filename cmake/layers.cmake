# A layer is a folder and a static library named after it. What it may include is checked by tests/layers.

# ridgeline_layer(<name> [FOLDER <folder>] [LINKS <target>...] [SOURCES <file>...])
# Makes ridgeline_<name> of the sources in <folder>, by default server/<name>; makes nothing while there are none.
# Layers among LINKS that do not exist are left out. Adds the layer to RIDGELINE_LAYERS.
function(ridgeline_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 LAYER "" "FOLDER" "LINKS;SOURCES")
  if(NOT LAYER_FOLDER)
    set(LAYER_FOLDER "server/${name}")
  endif()
  set_property(GLOBAL APPEND PROPERTY RIDGELINE_FOLDERS "${LAYER_FOLDER}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    "${CMAKE_SOURCE_DIR}/${LAYER_FOLDER}/*.cpp" "${CMAKE_SOURCE_DIR}/${LAYER_FOLDER}/*.h")
  list(APPEND sources ${LAYER_SOURCES})
  set(implementation ${sources})
  list(FILTER implementation INCLUDE REGEX "\\.cpp$")
  if(NOT implementation)
    return()
  endif()

  set(target "ridgeline_${name}")
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PRIVATE ridgeline_options)
  target_compile_options(${target} PRIVATE ${RIDGELINE_COVERAGE})
  ridgeline_shipped(${target})
  foreach(link IN LISTS LAYER_LINKS)
    if(TARGET ${link} OR NOT link MATCHES "^ridgeline_")
      target_link_libraries(${target} PUBLIC ${link})
    endif()
  endforeach()
  set(RIDGELINE_LAYERS ${RIDGELINE_LAYERS} ${target} PARENT_SCOPE)
endfunction()

# Stops when server/ has a folder with sources that is no layer: it would silently be left out of the build.
function(ridgeline_check_folders)
  get_property(folders GLOBAL PROPERTY RIDGELINE_FOLDERS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/server/*/*.cpp")
  foreach(source IN LISTS sources)
    string(REGEX MATCH "^server/[^/]+" folder "${source}")
    if(NOT folder IN_LIST folders AND NOT source STREQUAL "server/main.cpp")
      message(FATAL_ERROR "${source}: ${folder} is no layer yet; add it to CMakeLists.txt and tests/layers")
    endif()
  endforeach()
endfunction()
