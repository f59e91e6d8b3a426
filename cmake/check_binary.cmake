# cmake -D READELF=... -D BINARY=... -P check_binary.cmake
# Fails unless the binary needs only the C library, and none that is newer than docs/user/install.md says, is position
# independent and resolves its symbols at start.
set(newest_glibc 2.35)
foreach(part "--dynamic" "--file-header" "--program-headers" "--version-info")
  execute_process(COMMAND "${READELF}" --wide ${part} "${BINARY}" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND text "${output}")
endforeach()

string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" needed "${text}")
if(NOT needed)
  message(SEND_ERROR "${BINARY} has no dynamic section that readelf understands")
endif()
foreach(entry IN LISTS needed)
  if(NOT entry MATCHES "(libc\\.so|libm\\.so|ld-linux)")
    message(SEND_ERROR "${BINARY} must run where only the C library is, but it needs ${entry}")
  endif()
endforeach()

string(REGEX MATCHALL "GLIBC_[0-9.]+" versions "${text}")
list(REMOVE_DUPLICATES versions)
foreach(version IN LISTS versions)
  string(REPLACE "GLIBC_" "" version "${version}")
  if(version VERSION_GREATER newest_glibc)
    message(SEND_ERROR "${BINARY} must run with glibc ${newest_glibc}, but it needs symbols of glibc ${version}")
  endif()
endforeach()

foreach(mark "Type: +DYN" "BIND_NOW|Flags: NOW| NOW" "GNU_RELRO")
  if(NOT text MATCHES "${mark}")
    message(SEND_ERROR "${BINARY} lacks hardening: readelf shows nothing like '${mark}'")
  endif()
endforeach()
