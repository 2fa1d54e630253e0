# How our own targets are compiled, and the layers.

set(MORTISE_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast)

if(MORTISE_SANITIZE)
    # g++ 12 sees uninitialised values in instrumented code where there are none. clang is the second compiler: .ci/preset.
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        set(MORTISE_WARNINGS -w)
    endif()
    add_compile_options(-fsanitize=${MORTISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${MORTISE_SANITIZE})
endif()

if(CMAKE_UNITY_BUILD)
    list(APPEND MORTISE_WARNINGS -Wno-shadow)  # of a name in another file; make syntax has files one by one
endif()

# C++20 and warnings for a target of ours; nothing of it reaches the users of the library.
function(mortise_own target)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    target_compile_options(${target} PRIVATE ${MORTISE_WARNINGS} $<$<BOOL:${MORTISE_WERROR}>:-Werror>)
endfunction()

# What waits for servers, or serves only tests, needs no optimiser under a sanitizer: it compiles in half the time.
function(mortise_compile_quickly target)
    if(MORTISE_SANITIZE)
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# An object library that becomes a part of the library: mortise_<layer>, from the sources given, or else from all of
# the folder but tests.
function(mortise_add_layer layer)
    set(sources ${ARGN})
    if(NOT sources)
        file(GLOB sources CONFIGURE_DEPENDS *.cpp)
        list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
    endif()
    if(NOT sources)
        return()
    endif()
    add_library(mortise_${layer} OBJECT ${sources})
    mortise_own(mortise_${layer})
    set_target_properties(mortise_${layer} PROPERTIES
        POSITION_INDEPENDENT_CODE ON
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
    target_include_directories(mortise_${layer} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(mortise_${layer} PRIVATE $<$<BOOL:${MORTISE_ASSERTIONS}>:_GLIBCXX_ASSERTIONS>)
    target_link_libraries(mortise_${layer} PRIVATE Threads::Threads)
    set_property(GLOBAL APPEND PROPERTY MORTISE_LAYERS mortise_${layer})
endfunction()
