# torchsim_add_package(folder): build the native module of one Python package.
#
# The folder's own CMakeLists.txt calls pybind11_add_module with any target name and sets OUTPUT_NAME _core when the name differs.
# Where the module goes (source tree, build tree or wheel) is decided here, once. Sanitizer flags are added here as well.

if(TORCHSIM_SANITIZE)
  # Assertions of the standard library catch what the sanitizers cannot see (operator[] past size() within the capacity).
  add_compile_options(-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=address,undefined)
endif()

function(torchsim_add_package folder)
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    message(STATUS "${folder}: no CMakeLists.txt, no native module to build")
    return()
  endif()
  if(TORCHSIM_INPLACE)
    set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  else()
    set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/modules/${folder}")
  endif()
  add_subdirectory("${folder}")
  get_directory_property(targets DIRECTORY "${folder}" BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type "${target}" TYPE)
    if(type STREQUAL "MODULE_LIBRARY" AND NOT TORCHSIM_INPLACE)
      install(TARGETS "${target}" LIBRARY DESTINATION "${folder}")
    endif()
  endforeach()
endfunction()
