# ridgeline_embed(<variable> <header> <folder or file>...)
# Sets <variable> to a C++ file, in the build folder, that defines embedded_files(), which the header in server/ declares
# in the namespace of its room, over the bytes of the given files and of everything in the given folders. Paths are
# relative to the source folder and stay so in the binary; a file that is made in the build folder is given with its full
# path, and goes by its name. The assembler reads the files, so their bytes may be anything and compiling takes no time.
function(ridgeline_embed variable header)
  string(REGEX REPLACE "/.*" "" room "${header}")
  set(files)
  foreach(entry IN LISTS ARGN)
    if(IS_DIRECTORY "${CMAKE_SOURCE_DIR}/${entry}")
      file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/${entry}/*")
      list(FILTER found EXCLUDE REGEX "/__pycache__/|/\\.|\\.pyc$|~$")
      list(APPEND files ${found})
    else()
      list(APPEND files "${entry}")
    endif()
  endforeach()
  list(SORT files)

  set(data "")
  set(symbols "")
  set(entries "")
  set(dependencies)
  set(number 0)
  foreach(file IN LISTS files)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE path)
    list(APPEND dependencies "${path}")
    if(IS_ABSOLUTE "${file}")
      cmake_path(GET file FILENAME file)
    endif()
    set(symbol "ridgeline_${room}_file_${number}")
    string(
      APPEND data
      "    \".hidden ${symbol}, ${symbol}_size\\n\"\n"
      "    \".global ${symbol}, ${symbol}_size\\n\"\n"
      "    \"${symbol}: .incbin \\\"${path}\\\"\\n\"\n"
      "    \"${symbol}_end: .balign 8\\n\"\n"
      "    \"${symbol}_size: .quad ${symbol}_end - ${symbol}\\n\"\n"
    )
    string(APPEND symbols "extern \"C\" const char ${symbol}[];\nextern \"C\" const std::uint64_t ${symbol}_size;\n")
    string(APPEND entries "      {\"${file}\", {${symbol}, ${symbol}_size}},\n")
    math(EXPR number "${number} + 1")
  endforeach()

  set(output "${CMAKE_BINARY_DIR}/generated/${room}_files.cpp")
  configure_file("${CMAKE_SOURCE_DIR}/cmake/embedded_files.cpp.in" "${output}" @ONLY)
  # A source in a group (UNITY_BUILD) would lose its dependencies.
  set_source_files_properties("${output}" PROPERTIES OBJECT_DEPENDS "${dependencies}" SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()
