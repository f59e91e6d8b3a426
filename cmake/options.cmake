# How every target of ours is compiled and linked.
set(RIDGELINE_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, such as address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# The sanitizers' build: line tables, and assertions stay. Optimising what they add takes longer than all tests save.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1")
# A product and a sum are rounded each, as on x86-64: where every processor can do both in one instruction, GCC and Eigen
# would, and figures would differ in their last digits. A target's own options come later, and may say otherwise.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  string(APPEND CMAKE_CXX_FLAGS " -ffp-contract=off -U__ARM_FEATURE_FMA")
endif()
set(CMAKE_C_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

add_library(ridgeline_options INTERFACE)
target_include_directories(ridgeline_options INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/server")
target_compile_definitions(ridgeline_options INTERFACE RIDGELINE_VERSION="${PROJECT_VERSION}")

if(RIDGELINE_SANITIZE)
  target_compile_options(ridgeline_options INTERFACE -w) # by Clang, which is quicker at this; the warnings are GCC's
else()
  target_compile_options(
    ridgeline_options
    INTERFACE
      -Wall
      -Wextra
      -Wpedantic
      -Wshadow
      -Wconversion
      -Wsign-conversion
      -Wnon-virtual-dtor
      -Wold-style-cast
      -Werror
  )
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms, fixed in 13: on `"literal" + std::string` (gcc.gnu.org/PR105651), and on the frames of coroutines that
  # have an operator new of their own, as Asio's do.
  target_compile_options(ridgeline_options INTERFACE -Wno-restrict -Wno-mismatched-new-delete)
endif()

# Hardening. Position independence is written out, because CMake's own switch does not pass -pie to the linker.
target_compile_options(ridgeline_options INTERFACE -fPIE -fstack-protector-strong)
target_link_options(ridgeline_options INTERFACE -Wl,-z,relro,-z,now)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # Needs optimisation, which the tests' own files go without: cmake/precompiled.cmake.
  target_compile_options(
    ridgeline_options
    INTERFACE -U_FORTIFY_SOURCE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:RIDGELINE_QUICKLY_BUILT>>>:-D_FORTIFY_SOURCE=2>
  )
else()
  target_compile_definitions(ridgeline_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

if(RIDGELINE_SANITIZE)
  target_compile_options(
    ridgeline_options
    INTERFACE -fsanitize=${RIDGELINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
  )
  target_link_options(ridgeline_options INTERFACE -pie -fsanitize=${RIDGELINE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Half a gigabyte of instrumented tests takes LLVM's linker a fifth of the time.
    target_link_options(ridgeline_options INTERFACE -fuse-ld=lld)
    if(RIDGELINE_SANITIZE MATCHES "address")
      set(RIDGELINE_FUZZ ON) # tests/fuzz
      # What -fsanitize=fuzzer-no-link adds, as options that leave the precompiled headers usable. Of layers and targets
      # of the fuzzer: the other tests have no need of it, and compile in less time without.
      set(RIDGELINE_COVERAGE -fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp,stack-depth)
    endif()
  endif()
else()
  # With the C library in it, the program runs on every Linux of its processor, however old its own C library is. The
  # sanitizers' own libraries need the shared ones.
  target_link_options(ridgeline_options INTERFACE -static-pie)
endif()

# Names of the options a sanitizer reads from the environment, for tests: the first finding ends the run.
set(
  RIDGELINE_TEST_ENVIRONMENT
  "ASAN_OPTIONS=halt_on_error=1:handle_abort=1:detect_stack_use_after_return=1:strict_string_checks=1"
  "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1"
)

# Tests of a program that is shipped: it needs no library, and the hardening is in it.
function(ridgeline_ship target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RIDGELINE_SANITIZE)
    add_test(
      NAME ${target}.stands_alone
      COMMAND
        "${CMAKE_COMMAND}" -D "READELF=${CMAKE_READELF}" -D "BINARY=$<TARGET_FILE:${target}>" -P
        "${CMAKE_SOURCE_DIR}/cmake/check_binary.cmake"
    )
  endif()
endfunction()
