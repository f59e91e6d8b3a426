# ridgeline_page(<variable>)
# Sets <variable> to the page of the HTML report, one file in the build folder that web/build.mjs makes of web/src. Its
# packages are npm's, which ./dev installs into web/node_modules.
function(ridgeline_page variable)
  find_program(NODE node REQUIRED)
  if(
    NOT EXISTS "${CMAKE_SOURCE_DIR}/web/node_modules/esbuild"
    OR NOT EXISTS "${CMAKE_SOURCE_DIR}/web/node_modules/uplot"
  )
    message(FATAL_ERROR "the packages of the report's page are missing; run: npm ci --ignore-scripts --prefix web")
  endif()
  set(shared editors/vscode/src/figures.ts editors/vscode/src/view/dom.ts)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/web/src/*")
  list(TRANSFORM sources PREPEND "${CMAKE_SOURCE_DIR}/")
  list(TRANSFORM shared PREPEND "${CMAKE_SOURCE_DIR}/")
  set(page "${CMAKE_BINARY_DIR}/generated/page.html")
  add_custom_command(
    OUTPUT "${page}"
    COMMAND "${NODE}" "${CMAKE_SOURCE_DIR}/web/build.mjs" "${page}"
    DEPENDS ${sources} ${shared} "${CMAKE_SOURCE_DIR}/web/build.mjs" "${CMAKE_SOURCE_DIR}/web/package-lock.json"
    COMMENT "The page of the HTML report"
    VERBATIM
  )
  set(${variable} "${page}" PARENT_SCOPE)
endfunction()
