# CMake toolchain file: a project in C or C++ becomes WebAssembly that Sandglass runs, by Zig's compiler or by clang with wasi-libc.
#
#   cmake -B build --toolchain sandglass.cmake
#   cmake --build build
#   sandglass build harness.c build/libNAME.a      a harness beside the project; or, if the project has one as an executable:
#   sandglass fuzz build/NAME.wasm
#
# The compiler is the first that is there: $WASI_SDK_PATH, zig, python3 -m ziglang, clang; -DSANDGLASS_COMPILER=zig or =clang chooses.
# -DSANDGLASS_UNDEFINED=ON compiles checks of undefined behaviour into libraries, which `sandglass build` then gives names.
# Without a build type, and with Debug, code is compiled with -O2 -g, as `sandglass build` does. Exceptions of C++ are off: no C++ library
# for WebAssembly has them.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_EXECUTABLE_SUFFIX_C .wasm)
set(CMAKE_EXECUTABLE_SUFFIX_CXX .wasm)
set(CMAKE_CROSSCOMPILING_EMULATOR "sandglass;run")

set(SANDGLASS_COMPILER "" CACHE STRING "zig or clang; by default the first that is there")
option(SANDGLASS_UNDEFINED "Compile checks of undefined behaviour in")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SANDGLASS_COMPILER SANDGLASS_UNDEFINED)

# Sets `sandglass_zig` to the words that start Zig.
macro(sandglass_find_zig)
  find_program(SANDGLASS_ZIG zig)
  find_program(SANDGLASS_PYTHON NAMES python3 python)
  mark_as_advanced(SANDGLASS_ZIG SANDGLASS_PYTHON)
  if(SANDGLASS_ZIG)
    set(sandglass_zig "${SANDGLASS_ZIG}")
  elseif(SANDGLASS_PYTHON)
    execute_process(COMMAND "${SANDGLASS_PYTHON}" -m ziglang version
      RESULT_VARIABLE sandglass_failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT sandglass_failed)
      set(sandglass_zig "${SANDGLASS_PYTHON}" -m ziglang)
    endif()
  endif()
endmacro()

if(SANDGLASS_COMPILER STREQUAL "zig" OR (SANDGLASS_COMPILER STREQUAL "" AND NOT DEFINED ENV{WASI_SDK_PATH}))
  sandglass_find_zig()
endif()
if(NOT sandglass_zig AND NOT SANDGLASS_COMPILER STREQUAL "zig")
  find_program(SANDGLASS_CLANG clang HINTS "$ENV{WASI_SDK_PATH}/bin")
  mark_as_advanced(SANDGLASS_CLANG)
endif()

if(sandglass_zig)
  set(CMAKE_C_COMPILER ${sandglass_zig} cc -target wasm32-wasi)
  set(CMAKE_CXX_COMPILER ${sandglass_zig} c++ -target wasm32-wasi)
  list(JOIN sandglass_zig " " sandglass_ar)
  # What Zig checks in builds that are not optimised calls a library of its own; what it hides could not be exported.
  set(sandglass_flags "-fno-sanitize=undefined")
  set(sandglass_visible "-fvisibility=default")
elseif(SANDGLASS_CLANG)
  set(CMAKE_C_COMPILER "${SANDGLASS_CLANG}")
  set(CMAKE_CXX_COMPILER "${SANDGLASS_CLANG}++")
  set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
  set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
  get_filename_component(sandglass_bin "${SANDGLASS_CLANG}" REALPATH)
  get_filename_component(sandglass_bin "${sandglass_bin}" DIRECTORY)
  # GNU's ar knows no objects of WebAssembly, and leaves out the index that the linker wants.
  find_program(SANDGLASS_AR llvm-ar HINTS "${sandglass_bin}")
  mark_as_advanced(SANDGLASS_AR)
  if(NOT SANDGLASS_AR)
    message(FATAL_ERROR "no llvm-ar beside ${SANDGLASS_CLANG}\n  next: apt-get install llvm, or python3 -m pip install ziglang")
  endif()
  set(CMAKE_AR "${SANDGLASS_AR}")
else()
  message(FATAL_ERROR "no compiler for C and C++, expected zig on PATH, python3 -m ziglang, or clang with wasi-libc\n  next: python3 -m pip install ziglang")
endif()

if(sandglass_zig)
  foreach(language C CXX)
    set(CMAKE_${language}_ARCHIVE_CREATE "${sandglass_ar} ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
    set(CMAKE_${language}_ARCHIVE_APPEND "${sandglass_ar} ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
    set(CMAKE_${language}_ARCHIVE_FINISH "${sandglass_ar} ranlib <TARGET>")
  endforeach()
endif()

if(SANDGLASS_UNDEFINED)
  set(sandglass_flags "-fsanitize=undefined -fno-sanitize=function,vptr -fno-sanitize-recover=all")
endif()
# In Sandglass' repository, FuzzedDataProvider.h lies beside.
if(IS_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/../c/include/fuzzer")
  get_filename_component(sandglass_include "${CMAKE_CURRENT_LIST_DIR}/../c/include" ABSOLUTE)
  string(APPEND sandglass_flags " \"-isystem${sandglass_include}\"")
endif()
string(PREPEND sandglass_flags "-O2 -g ${sandglass_visible} ")
set(CMAKE_C_FLAGS_INIT "${sandglass_flags}")
set(CMAKE_CXX_FLAGS_INIT "${sandglass_flags} -fno-exceptions")

# An executable exports what Sandglass calls, if that is in it, and has no entry of its own. Zig's linker cannot be told names
# that may be missing: there everything that is linked is exported.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-mexec-model=reactor -Wl,-z,stack-size=8388608")
if(sandglass_zig)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -rdynamic")
else()
  # Clang runs wasm-opt over what it links with an optimisation, and names and lines are lost.
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -O0")
  foreach(name LLVMFuzzerTestOneInput LLVMFuzzerInitialize LLVMFuzzerCustomMutator LLVMFuzzerCustomCrossOver sandglass_setup malloc free)
    string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--export-if-defined=${name}")
  endforeach()
endif()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
