# server/layers.json says of each folder what it is for, what it may include (tests/layers checks that), and which static
# library, ridgeline_<library>, its sources are part of. A library links those of the folders that its own may include.

set(RIDGELINE_LAYERS_FILE "${CMAKE_SOURCE_DIR}/server/layers.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${RIDGELINE_LAYERS_FILE}")

# Sets `result` to the library of a folder or file, which may be the one of a folder that it is in; "" when there is none.
function(ridgeline_library_of path layers result)
  while(path)
    string(JSON library ERROR_VARIABLE missing GET "${layers}" "${path}" library)
    if(NOT missing)
      set(${result} "${library}" PARENT_SCOPE)
      return()
    endif()
    cmake_path(GET path PARENT_PATH path)
  endwhile()
  set(${result} "" PARENT_SCOPE)
endfunction()

# Makes the libraries, and sets RIDGELINE_LAYERS to all of them. Stops at a source in a folder without one, which would
# silently be left out of the build.
function(ridgeline_layers)
  file(READ "${RIDGELINE_LAYERS_FILE}" layers)
  file(
    GLOB_RECURSE sources
    CONFIGURE_DEPENDS
    RELATIVE "${CMAKE_SOURCE_DIR}"
    "${CMAKE_SOURCE_DIR}/protocol/*.cpp"
    "${CMAKE_SOURCE_DIR}/protocol/*.h"
    "${CMAKE_SOURCE_DIR}/server/*.cpp"
    "${CMAKE_SOURCE_DIR}/server/*.h"
  )
  list(REMOVE_ITEM sources server/main.cpp)
  set(libraries "")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    ridgeline_library_of("${folder}" "${layers}" library)
    if(NOT library)
      message(FATAL_ERROR "${source}: ${folder} is in no layer of server/layers.json")
    endif()
    list(APPEND libraries "${library}")
    list(APPEND sources_of_${library} "${CMAKE_SOURCE_DIR}/${source}")
    # Who may include a folder may include those below it, too.
    while(folder)
      list(APPEND libraries_below_${folder} "${library}")
      cmake_path(GET folder PARENT_PATH folder)
    endwhile()
  endforeach()
  list(REMOVE_DUPLICATES libraries)

  string(JSON count LENGTH "${layers}")
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON folder MEMBER "${layers}" ${i})
    ridgeline_library_of("${folder}" "${layers}" library)
    string(JSON includes GET "${layers}" "${folder}" includes)
    string(JSON packages ERROR_VARIABLE none GET "${layers}" "${folder}" packages)
    if(library)
      list(APPEND links_of_${library} ${libraries_below_${folder}})
    endif()
    foreach(kind includes packages)
      string(JSON length ERROR_VARIABLE none LENGTH "${${kind}}")
      if(library AND length MATCHES "^[1-9]")
        math(EXPR last_one "${length} - 1")
        foreach(k RANGE ${last_one})
          string(JSON name GET "${${kind}}" ${k})
          if(kind STREQUAL "packages")
            list(APPEND links_of_${library} "${name}")
          else()
            ridgeline_library_of("${name}" "${layers}" linked)
            list(APPEND links_of_${library} ${linked} ${libraries_below_${name}})
          endif()
        endforeach()
      endif()
    endforeach()
  endforeach()

  foreach(library IN LISTS libraries)
    set(target "ridgeline_${library}")
    add_library(${target} STATIC ${sources_of_${library}})
    target_link_libraries(${target} PRIVATE ridgeline_options)
    target_compile_options(${target} PRIVATE ${RIDGELINE_COVERAGE})
    ridgeline_shipped(${target})
    set(links ${links_of_${library}})
    list(REMOVE_DUPLICATES links)
    list(REMOVE_ITEM links "${library}")
    foreach(link IN LISTS links)
      if(link MATCHES "::")
        target_link_libraries(${target} PUBLIC ${link})
      else()
        target_link_libraries(${target} PUBLIC ridgeline_${link})
      endif()
    endforeach()
  endforeach()
  list(TRANSFORM libraries PREPEND ridgeline_)
  set(RIDGELINE_LAYERS ${libraries} PARENT_SCOPE)
endfunction()
