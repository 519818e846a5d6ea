# SPDX-License-Identifier: Apache-2.0
# Compiler settings and the functions by which every target of this tree is declared.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_AUTOMOC ON)
# One -fPIC for libraries and executables alike, so that all of them can share one precompiled header.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
add_compile_options(-fPIC -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wshadow=local
    -Wno-missing-field-initializers) # designated initializers leave the rest at its default on purpose
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Debug information is kept small: it is the larger half of the build time.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

set(GRIDLOOM_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")
option(GRIDLOOM_ASSERTIONS "Keep assertions" OFF)
# A compiler newer than the one this tree is developed with may know new warnings; they must not stop a newcomer.
set(is_known_compiler OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    set(is_known_compiler ON)
endif()
option(GRIDLOOM_WERROR "Warnings are errors" ${is_known_compiler})
if(GRIDLOOM_WERROR)
    add_compile_options(-Werror)
endif()
if(GRIDLOOM_SANITIZE)
    add_compile_options(-fsanitize=${GRIDLOOM_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${GRIDLOOM_SANITIZE})
    if(GRIDLOOM_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=undefined)
    endif()
    # GCC 12 reports false positives of these once the sanitizers have rewritten the code.
    add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow)
endif()
if(GRIDLOOM_ASSERTIONS)
    add_compile_definitions(QT_FORCE_ASSERTS _GLIBCXX_ASSERTIONS)
else()
    add_compile_definitions(NDEBUG)
endif()
add_compile_definitions(QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_NO_KEYWORDS QT_NO_FOREACH
                        GRIDLOOM_VERSION="${PROJECT_VERSION}")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
        CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
endif()

# Build tree and installation have the same shape: bin/, lib/, lib/gridloom/plugins/KIND/ID/.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(GRIDLOOM_PLUGIN_DIR lib/gridloom/plugins)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# gridloom_library(NAME [SHARED] SOURCES ... USES ...): a library of runtime/ with alias gridloom::NAME.
function(gridloom_library name)
    cmake_parse_arguments(A "SHARED" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
    if(A_SHARED)
        add_library(gridloom_${name} SHARED ${A_SOURCES})
    else()
        add_library(gridloom_${name} STATIC ${A_SOURCES})
    endif()
    add_library(gridloom::${name} ALIAS gridloom_${name})
    target_include_directories(gridloom_${name} PUBLIC ${CMAKE_SOURCE_DIR}/runtime)
    target_link_libraries(gridloom_${name} PUBLIC ${A_USES} PRIVATE ${A_PRIVATE_USES})
    set_target_properties(gridloom_${name} PROPERTIES LINKER_LANGUAGE CXX)
    gridloom_use_pch(gridloom_${name})
endfunction()

# gridloom_executable(NAME SOURCES ... USES ...): an executable in bin/.
function(gridloom_executable name)
    cmake_parse_arguments(A "" "" "SOURCES;USES" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/runtime)
    target_link_libraries(${name} PRIVATE ${A_USES})
    set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib" INSTALL_RPATH "$ORIGIN/../lib")
    gridloom_use_pch(${name})
    install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# gridloom_plugin(KIND ID SOURCES ... USES ...): plugins/KINDs/ID; its manifest plugin.json lies beside the code.
function(gridloom_plugin kind id)
    cmake_parse_arguments(A "" "" "SOURCES;USES" ${ARGN})
    set(target gridloom_${kind}_${id})
    add_library(${target} MODULE ${A_SOURCES})
    target_link_libraries(${target} PRIVATE gridloom::sdk ${A_USES})
    # Also a plugin that calls no function of libgridloom names it: the SONAME is the number of the SDK's API.
    target_link_options(${target} PRIVATE LINKER:--no-as-needed)
    set_target_properties(${target} PROPERTIES
        PREFIX "" OUTPUT_NAME "lib${id}"
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${GRIDLOOM_PLUGIN_DIR}/${kind}s/${id}
        BUILD_RPATH "$ORIGIN/../../../.." INSTALL_RPATH "$ORIGIN/../../../..")
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    gridloom_use_pch(${target})
    configure_file(${CMAKE_CURRENT_SOURCE_DIR}/plugin.json
        ${CMAKE_BINARY_DIR}/${GRIDLOOM_PLUGIN_DIR}/${kind}s/${id}/plugin.json COPYONLY)
    install(TARGETS ${target} LIBRARY DESTINATION ${GRIDLOOM_PLUGIN_DIR}/${kind}s/${id})
    install(FILES plugin.json DESTINATION ${GRIDLOOM_PLUGIN_DIR}/${kind}s/${id})
    add_dependencies(gridloom_plugins ${target})
endfunction()
add_custom_target(gridloom_plugins)

add_custom_target(gridloom_handover_tests)

# gridloom_test(tst_name SOURCES ... USES ... [LABELS ...] [TIMEOUT s]): a Qt Test executable run by CTest.
function(gridloom_test name)
    cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;USES;LABELS" ${ARGN})
    add_executable(${name} ${A_SOURCES})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/runtime ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE Qt6::Test ${A_USES})
    target_compile_definitions(${name} PRIVATE
        GRIDLOOM_SOURCE_DIR="${CMAKE_SOURCE_DIR}" GRIDLOOM_BINARY_DIR="${CMAKE_BINARY_DIR}")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
        BUILD_RPATH "$ORIGIN/../lib")
    gridloom_use_pch(${name})
    if(NOT A_TIMEOUT)
        set(A_TIMEOUT 60)
    endif()
    if(NOT A_LABELS)
        set(A_LABELS unit)
    endif()
    # What ThreadSanitizer checks: hand-overs between our threads. Debian's Qt is not instrumented, so that signals between
    # threads look like races to it.
    if("handover" IN_LIST A_LABELS)
        add_dependencies(gridloom_handover_tests ${name})
    endif()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}"
        ENVIRONMENT "QT_FATAL_WARNINGS=;QT_LOGGING_RULES=")
endfunction()

# One precompiled header for the whole tree.
function(gridloom_use_pch target)
    if(NOT TARGET gridloom_pch)
        file(WRITE ${CMAKE_BINARY_DIR}/gridloom_pch.cpp "")
        add_library(gridloom_pch OBJECT ${CMAKE_BINARY_DIR}/gridloom_pch.cpp)
        set_target_properties(gridloom_pch PROPERTIES AUTOMOC OFF)
        target_link_libraries(gridloom_pch PRIVATE Qt6::Core)
        target_precompile_headers(gridloom_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
    endif()
    target_link_libraries(${target} PRIVATE Qt6::Core)
    target_precompile_headers(${target} REUSE_FROM gridloom_pch)
endfunction()
