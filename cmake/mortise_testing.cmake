# Decides MORTISE_WITH_TESTS and says how a test program is built and registered.

set(MORTISE_WITH_TESTS OFF)
if(MORTISE_BUILD_TESTS STREQUAL "AUTO")
    find_package(GTest 1.12 CONFIG QUIET)
    set(MORTISE_WITH_TESTS ${GTest_FOUND})
    if(NOT GTest_FOUND)
        message(STATUS "Tests are not built: GoogleTest was not found (packages libgtest-dev and libgmock-dev)")
    endif()
elseif(MORTISE_BUILD_TESTS)
    find_package(GTest 1.12 CONFIG)
    if(NOT GTest_FOUND)
        message(FATAL_ERROR "The tests need GoogleTest 1.12 or newer (packages libgtest-dev and libgmock-dev)")
    endif()
    set(MORTISE_WITH_TESTS ON)
endif()

if(MORTISE_WITH_TESTS)
    enable_testing()
    include(GoogleTest)
endif()

# ThreadSanitizer ends a child of fork that starts a thread, unless the program asks it not to. For programs that fork.
function(mortise_allow_threads_after_fork target)
    if(MORTISE_SANITIZE MATCHES "thread")
        target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/tsan_options.cpp)
    endif()
endfunction()

# mortise_add_tests(<target> SOURCES <file>... [LIBRARIES <target>...] [PROPERTIES <ctest property> <value>...]
#     [WITHOUT_LIBRARY])
# One program, each of its tests a ctest entry. It sees the internals of the library and tests/support, unless it is
# said to do without.
function(mortise_add_tests target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "WITHOUT_LIBRARY" "" "SOURCES;LIBRARIES;PROPERTIES")
    add_executable(${target} ${arg_SOURCES})
    mortise_own(${target})
    mortise_allow_threads_after_fork(${target})
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
    # Half the time to compile, or less. The library keeps its own flags: it is what is to be watched.
    if(MORTISE_SANITIZE)
        target_compile_options(${target} PRIVATE -O0)
    endif()
    if(MORTISE_SANITIZE MATCHES "undefined")
        target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    endif()
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(NOT arg_WITHOUT_LIBRARY)
        target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} mortise_test_support mortise_internals)
    endif()
    target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${target}
        TEST_PREFIX ${target}.
        DISCOVERY_MODE PRE_TEST
        NO_PRETTY_VALUES
        PROPERTIES
            TIMEOUT 300
            LABELS ${target}
            ENVIRONMENT MORTISE_STORM_SCALE=${MORTISE_STORM_SCALE}
            ${arg_PROPERTIES})
endfunction()
