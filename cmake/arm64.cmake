# Compiles for 64-bit ARM on another machine: `cmake --preset arm64 -D CMAKE_SYSROOT=FOLDER`. The folder is a root of
# Debian for arm64 with the libraries that `dev` names, as `debootstrap --arch=arm64` makes one: docs/dev/release.md.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
