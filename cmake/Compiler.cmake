# Find a C++20 compiler, or say in one sentence what to install; then the flags that all native code shares.

function(torchsim_no_compiler found)
  message(FATAL_ERROR
    "torchsim needs a C++20 compiler to build its two simulators.\n"
    "  expected: g++ 11 or newer, or clang++ 14 or newer\n"
    "  found: ${found}\n"
    "  try: apt-get install g++ python3-dev (Debian, Ubuntu), or set CXX to the path of a compiler")
endfunction()

if(DEFINED ENV{CXX} AND NOT DEFINED CMAKE_CXX_COMPILER)
  separate_arguments(TORCHSIM_CXX UNIX_COMMAND "$ENV{CXX}")
  list(GET TORCHSIM_CXX 0 TORCHSIM_CXX)
  find_program(TORCHSIM_CXX_PATH "${TORCHSIM_CXX}" NO_CACHE)
  if(NOT TORCHSIM_CXX_PATH)
    torchsim_no_compiler("CXX names ${TORCHSIM_CXX}, which is no program")
  endif()
endif()

include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  torchsim_no_compiler("no C++ compiler on PATH")
endif()
enable_language(CXX)

if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14))
  torchsim_no_compiler("${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} at ${CMAKE_CXX_COMPILER}")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)

# Baseline x86-64 (or aarch64): a module built here runs on any machine of the family. What gains from wider vectors is compiled
# for them beside it and chosen at run time. -ffp-contract=off: fused multiply-add only where the code asks for it.
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
add_compile_options(-Wall -Wextra -Werror -ffp-contract=off)
