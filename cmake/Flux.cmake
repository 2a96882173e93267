# How the parts of this project are built: one function for each kind of part.

add_library(flux_options INTERFACE)
target_compile_options(flux_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(FLUX_SANITIZE)
  target_compile_options(flux_options INTERFACE -fsanitize=${FLUX_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(flux_options INTERFACE -fsanitize=${FLUX_SANITIZE})
endif()

function(flux_add_folders)
  foreach(pattern ${ARGN})
    file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern}/CMakeLists.txt)
    foreach(list ${lists})
      cmake_path(GET list PARENT_PATH folder)
      add_subdirectory(${folder})
    endforeach()
  endforeach()
endfunction()

# The sources of the calling folder and its subfolders without tests; folders with a CMakeLists.txt of their own are not descended into.
function(flux_sources out)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${all})
  list(FILTER all EXCLUDE REGEX "_(test|fuzz)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  foreach(kind all tests)
    set(own "")
    foreach(file ${${kind}})
      cmake_path(GET file PARENT_PATH folder)
      set(foreign FALSE)
      while(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
        if(EXISTS ${folder}/CMakeLists.txt)
          set(foreign TRUE)
        endif()
        cmake_path(GET folder PARENT_PATH folder)
      endwhile()
      if(NOT foreign)
        list(APPEND own ${file})
      endif()
    endforeach()
    set(${kind} ${own})
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
  set(${out}_tests ${tests} PARENT_SCOPE)
endfunction()

# Catch2's main, compiled once.
if(FLUX_TESTS)
  file(WRITE ${CMAKE_BINARY_DIR}/catch_main.cpp "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n")
  add_library(flux_catch_main OBJECT ${CMAKE_BINARY_DIR}/catch_main.cpp)
  target_compile_options(flux_catch_main PRIVATE -O0)
  target_link_libraries(flux_catch_main PRIVATE flux_options)
endif()

# flux_add_test(NAME SOURCES... LIBS...): one Catch2 binary, run by ctest as unit.NAME.
function(flux_add_test name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT FLUX_TESTS OR NOT A_SOURCES)
    return()
  endif()
  add_executable(test_${name} ${A_SOURCES} $<TARGET_OBJECTS:flux_catch_main>)
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  target_compile_options(test_${name} PRIVATE -O0)
  # Only what reads the reference vectors knows their place: other objects are the same in every checkout.
  foreach(source ${A_SOURCES})
    file(STRINGS ${source} uses REGEX FLUX_TEST_VECTORS LIMIT_COUNT 1)
    if(uses)
      set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS
        "FLUX_TEST_VECTORS=\"${CMAKE_SOURCE_DIR}/../shared\"")
    endif()
  endforeach()
  target_link_libraries(test_${name} PRIVATE flux_options ${A_LIBS})
  add_test(NAME unit.${name} COMMAND test_${name})
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT 120 LABELS unit)
endfunction()

function(flux_check_unloadable target file_dir)
  add_test(NAME symbols.${target} COMMAND sh -c
    "test $(nm -D --defined-only $<TARGET_FILE:${target}> | awk '$2 == \"u\"' | wc -l) -eq 0")
  set_tests_properties(symbols.${target} PROPERTIES LABELS unit)
endfunction()

# A .so that is loaded at run time into DIR (below the library folder): hidden symbols, really unloadable.
function(flux_add_loadable target)
  cmake_parse_arguments(A "" "NAME;DIR" "SOURCES;LIBS" ${ARGN})
  add_library(${target} MODULE ${A_SOURCES})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${A_NAME}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/flux/${A_DIR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_options(${target} PRIVATE -Wl,-z,defs -Wl,--build-id=sha1)
  target_link_libraries(${target} PRIVATE flux_options flux ${A_LIBS})
  flux_check_unloadable(${target} ${A_DIR})
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/flux/${A_DIR})
endfunction()

# flux_add_module(NAME [LIBS...]): the broker module of the calling folder and its unit tests. What the tests need is
# compiled once into an object library.
function(flux_add_module name)
  cmake_parse_arguments(A "" "" "LIBS" ${ARGN})
  flux_sources(sources)
  add_library(objects_${name} OBJECT ${sources})
  set_target_properties(objects_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(objects_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_libraries(objects_${name} PUBLIC flux_options flux ${A_LIBS})
  flux_add_loadable(module_${name} NAME ${name} DIR modules SOURCES $<TARGET_OBJECTS:objects_${name}> LIBS ${A_LIBS})
  flux_add_test(${name} SOURCES ${sources_tests} LIBS objects_${name})
endfunction()

# flux_add_shell_plugin(NAME [LIBS...]): the shell plugin of the calling folder and its unit tests.
function(flux_add_shell_plugin name)
  cmake_parse_arguments(A "" "" "LIBS" ${ARGN})
  flux_sources(sources)
  add_library(objects_shell_${name} OBJECT ${sources})
  set_target_properties(objects_shell_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(objects_shell_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_libraries(objects_shell_${name} PUBLIC flux_options flux ${A_LIBS})
  flux_add_loadable(shell_plugin_${name} NAME ${name} DIR shell/plugins
    SOURCES $<TARGET_OBJECTS:objects_shell_${name}> LIBS ${A_LIBS})
  flux_add_test(shell_${name} SOURCES ${sources_tests} LIBS objects_shell_${name} ${A_LIBS})
endfunction()

# flux_add_jobtap_plugin(NAME [LIBS...]): the job-manager plugin of the calling folder.
function(flux_add_jobtap_plugin name)
  cmake_parse_arguments(A "" "" "LIBS" ${ARGN})
  flux_sources(sources)
  flux_add_loadable(jobtap_plugin_${name} NAME ${name} DIR job-manager/plugins SOURCES ${sources} LIBS ${A_LIBS})
endfunction()

# flux_add_program(NAME DIR bin|libexec|cmd SOURCES... LIBS...): a program, in the build tree where it is in an
# installation; `cmd` is for `flux-NAME`, which `flux NAME` runs.
function(flux_add_program name)
  cmake_parse_arguments(A "" "DIR" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE flux_options ${A_LIBS})
  # The build tree has the shape of an installation, so the same relative path serves both.
  set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  if(A_DIR STREQUAL "libexec")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/flux
      INSTALL_RPATH "$ORIGIN/../../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/flux)
  elseif(A_DIR STREQUAL "cmd")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/flux/cmd
      INSTALL_RPATH "$ORIGIN/../../../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/flux/cmd)
  else()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
      INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()
