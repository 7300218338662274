# What the compiler's own libraries share: LLVM and MLIR 22.1 as the two shared libraries, no RTTI, no exceptions,
# and one precompiled header with the MLIR headers that nearly every file reads.

file(STRINGS ${CMAKE_SOURCE_DIR}/LLVM_VERSION TDSL_LLVM_VERSION LIMIT_COUNT 1)
find_package(MLIR ${TDSL_LLVM_VERSION} REQUIRED CONFIG
  PATHS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLVM ${TDSL_LLVM_VERSION} REQUIRED CONFIG
  PATHS /usr/lib/llvm-22/lib/cmake/llvm)
message(STATUS "Using MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(TDSL_INCLUDE_DIRS ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)

# The interface that every compiler library links: include paths and flags.
add_library(tdsl_compiler_flags INTERFACE)
target_include_directories(tdsl_compiler_flags INTERFACE ${TDSL_INCLUDE_DIRS})
target_include_directories(tdsl_compiler_flags SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(tdsl_compiler_flags INTERFACE ${LLVM_DEFINITIONS_LIST})
target_compile_options(tdsl_compiler_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti -fno-exceptions -fvisibility-inlines-hidden>)

# tdsl_pch: the precompiled MLIR headers, made once and reused by every library that asks for MLIR.
file(WRITE ${CMAKE_BINARY_DIR}/pch/pch.cpp "")
add_library(tdsl_pch OBJECT ${CMAKE_BINARY_DIR}/pch/pch.cpp)
target_link_libraries(tdsl_pch PRIVATE tdsl_compiler_flags)
# Templates that the headers instantiate are then instantiated once, in the precompiled header: files build about four times faster.
target_compile_options(tdsl_pch PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Xclang -fno-pch-timestamp -fpch-instantiate-templates>)
target_precompile_headers(tdsl_pch PRIVATE
  <memory> <optional> <string> <vector>
  <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
  <mlir/IR/Dialect.h> <mlir/IR/Matchers.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h>
  <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Pass/Pass.h>
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h> <llvm/ADT/STLExtras.h> <llvm/ADT/TypeSwitch.h>
  <llvm/Support/FormatVariadic.h>)

# ccache tells precompiled headers apart by this text instead of by their bytes, which hold the path of the build tree: two trees
# (a fresh clone, a second work tree) then share their objects. All that such a header depends on is in the text.
get_target_property(TDSL_PCH_HEADERS tdsl_pch PRECOMPILE_HEADERS)
get_target_property(TDSL_PCH_OPTIONS tdsl_pch COMPILE_OPTIONS)
get_target_property(TDSL_COMPILER_OPTIONS tdsl_compiler_flags INTERFACE_COMPILE_OPTIONS)
file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/tdsl_pch.dir/cmake_pch.hxx.pch.sum
  "LLVM ${LLVM_PACKAGE_VERSION} ${CMAKE_BUILD_TYPE} ${TDSL_SANITIZE} ${CMAKE_CXX_FLAGS} ${TDSL_PCH_OPTIONS} ${TDSL_COMPILER_OPTIONS} ${TDSL_PCH_HEADERS}\n")

# tdsl_read_pch(target): the target's files read the precompiled header. Ninja runs every compiler in the build tree's root, so the
# path can be relative, and ccache finds the object that another tree has made.
function(tdsl_read_pch name)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_GENERATOR STREQUAL "Ninja")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp -include-pch CMakeFiles/tdsl_pch.dir/cmake_pch.hxx.pch")
    # A dependency between targets orders their generated files only, not their objects.
    get_target_property(sources ${name} SOURCES)
    set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/CMakeFiles/tdsl_pch.dir/cmake_pch.hxx.pch)
  else()
    target_precompile_headers(${name} REUSE_FROM tdsl_pch)
  endif()
  add_dependencies(${name} tdsl_generated_headers)
endfunction()

# tdsl_add_library(Name SOURCES... [NO_MLIR] [DEPENDS targets...] [LINK_LIBS libs...])
#
# A static library of the compiler. With NO_MLIR it sees LLVM's support headers only and builds without the precompiled header.
function(tdsl_add_library name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC tdsl_compiler_flags ${ARG_LINK_LIBS})
  if(ARG_NO_MLIR)
    target_link_libraries(${name} PUBLIC LLVM)
  else()
    target_link_libraries(${name} PUBLIC MLIR LLVM)
    tdsl_read_pch(${name})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# tdsl_use_pch(program): a program, which in a sanitized build says how the sanitizer runs, reads the precompiled header too, which was made for position independent code of libraries.
function(tdsl_use_pch name)
  if(TDSL_SANITIZE)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
  endif()
  target_compile_options(${name} PRIVATE -fPIC)
  tdsl_read_pch(${name})
endfunction()

# tdsl_add_tool(name SOURCES... [LINK_LIBS libs...]): a program in build/bin.
function(tdsl_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE tdsl_compiler_flags ${ARG_LINK_LIBS} MLIR LLVM)
  tdsl_use_pch(${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# Every tablegen target of include/ adds itself to this one, so that any file may include any generated header.
add_custom_target(tdsl_generated_headers)

# tdsl_add_passes(Name): Passes.h.inc of the folder's Passes.td; `registerNamePasses` registers them. MLIR's statistics are empty
# in an LLVM that was built without, as Debian's is: ours stand in their place (include/tdsl/Support/PassStatistic.h).
function(tdsl_add_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(PassesOfMLIR.h.inc -gen-pass-decls -name ${name})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/PassesOfMLIR.h.inc)
  set(result ${CMAKE_CURRENT_BINARY_DIR}/Passes.h.inc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/PassStatistics.cmake)
  add_custom_command(
    OUTPUT ${result}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${generated} -DRESULT=${result} -P ${script}
    DEPENDS ${generated} ${script})
  add_custom_target(TDSL${name}PassesIncGen DEPENDS ${result})
  add_dependencies(tdsl_generated_headers TDSL${name}PassesIncGen)
endfunction()
