# cmake -D READELF=... -D BINARY=... -P check_binary.cmake
# Fails unless the binary needs no library and no loader, is position independent and resolves its symbols at start.
foreach(part "--dynamic" "--file-header" "--program-headers")
  execute_process(COMMAND "${READELF}" --wide ${part} "${BINARY}" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND text "${output}")
endforeach()

if(NOT text MATCHES "Dynamic section")
  message(SEND_ERROR "${BINARY} has no dynamic section that readelf understands")
endif()
foreach(mark "\\(NEEDED\\)[^\n]*" "INTERP [^\n]*")
  if(text MATCHES "${mark}")
    message(SEND_ERROR "${BINARY} must run on any Linux, but it needs a library or a loader: ${CMAKE_MATCH_0}")
  endif()
endforeach()

foreach(mark "Type: +DYN" "BIND_NOW|Flags: NOW| NOW" "GNU_RELRO")
  if(NOT text MATCHES "${mark}")
    message(SEND_ERROR "${BINARY} lacks hardening: readelf shows nothing like '${mark}'")
  endif()
endforeach()
