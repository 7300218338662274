# Flags shared by every target of the project: warnings are errors, lld links, and ccache answers when it is there.

find_program(TDSL_CCACHE ccache)
if(TDSL_CCACHE)
  # A precompiled header defeats ccache unless it may trust the header's content and not its time stamp.
  set(ENV_CCACHE ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 ${TDSL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ENV_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ENV_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
endif()
if(TDSL_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(TDSL_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
