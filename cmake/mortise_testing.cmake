# Decides MORTISE_WITH_TESTS and says how a test program is built and registered.

set(MORTISE_WITH_TESTS OFF)
if(MORTISE_BUILD_TESTS STREQUAL "AUTO")
    find_package(GTest 1.12 CONFIG QUIET)
    find_package(OpenSSL 3.0 QUIET GLOBAL)
    if(GTest_FOUND AND OPENSSL_FOUND)
        set(MORTISE_WITH_TESTS ON)
    else()
        message(STATUS "Tests are not built: GoogleTest and OpenSSL are needed (packages libgtest-dev, libgmock-dev, libssl-dev)")
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

# The filter of GoogleTest for the tests of one fixture: their names end in /<fixture> or /<fixture>_<kind>. A fixture may be
# called like the beginning of another.
function(mortise_filter_of fixture result)
    get_property(served GLOBAL PROPERTY MORTISE_SERVED)
    set(others "")
    foreach(other IN LISTS served)
        if(other MATCHES "^${fixture}_")
            list(APPEND others */${other} */${other}_*)
        endif()
    endforeach()
    list(JOIN others ":" others)
    if(others)
        string(PREPEND others "-")
    endif()
    set(${result} "*/${fixture}:*/${fixture}_*${others}" PARENT_SCOPE)
endfunction()

# mortise_add_tests(<target> SOURCES <file>... [LIBRARIES <target>...] [PROPERTIES <ctest property> <value>...]
#     [STORES all|plain] [APART <fixture>...] [WITHOUT_LIBRARY] [OPTIMISED] [TOGETHER] [QUICK])
# One program, each of its tests a ctest entry. It sees the internals of the library and tests/support, unless it is
# said to do without. STORES says that its tests have fixtures as parameters, all of them or the plain one of each store:
# then all tests of a fixture that starts a server are one entry, <target>.<fixture>, and so are those of each fixture that is
# set APART, or of each suite that is ("name.*"). OPTIMISED is for long runs. The
# random histories in *_property_test.cpp are such, and a program of their own: <target> with _histories for _tests.
# TOGETHER makes them one entry under a sanitizer, where a process costs more than most tests. QUICK is for those that take
# moments and need no server: ./test -L quick builds and runs them alone. Their label is <target>.quick, of the others <target>.
function(mortise_add_tests target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "WITHOUT_LIBRARY;OPTIMISED;TOGETHER;QUICK" "STORES" "SOURCES;LIBRARIES;PROPERTIES;APART")
    set(histories ${arg_SOURCES})
    list(FILTER histories INCLUDE REGEX "_property_test\\.cpp$")
    if(histories AND NOT arg_OPTIMISED)
        list(REMOVE_ITEM arg_SOURCES ${histories})
        string(REGEX REPLACE "_tests$" "_histories" of_histories ${target})
        if(NOT MORTISE_SANITIZE)  # of what they do so often, the tests beside them do each thing once
            mortise_add_tests(${of_histories} OPTIMISED TOGETHER
                SOURCES ${histories} LIBRARIES ${arg_LIBRARIES} PROPERTIES ${arg_PROPERTIES})
        endif()
    endif()
    add_executable(${target} ${arg_SOURCES})
    mortise_own(${target})
    mortise_allow_threads_after_fork(${target})
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
    # Half the time to compile, or less. The library keeps its own flags: it is what is to be watched.
    if(NOT arg_OPTIMISED)
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
    set(label ${target})
    if(arg_QUICK)
        string(APPEND label .quick)
        set_property(GLOBAL APPEND PROPERTY MORTISE_QUICK_TESTS ${target})
    endif()
    set(properties
        TIMEOUT 300
        LABELS ${label}
        ENVIRONMENT MORTISE_STORM_SCALE=${MORTISE_STORM_SCALE}
        ${arg_PROPERTIES})
    # There a look for leaks takes three seconds of each process, also of an empty one: those of many tests have it alone.
    if(MORTISE_SANITIZE MATCHES "address" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND NOT arg_TOGETHER)
        list(APPEND properties ENVIRONMENT_MODIFICATION ASAN_OPTIONS=set:detect_leaks=0)
    endif()

    set(served "")
    if(arg_STORES STREQUAL "all")
        get_property(served GLOBAL PROPERTY MORTISE_SERVED)
    elseif(arg_STORES STREQUAL "plain")
        get_property(served GLOBAL PROPERTY MORTISE_SERVED_PLAIN)
    endif()
    list(APPEND served ${arg_APART})
    set(apart "")
    foreach(fixture IN LISTS served)
        if(fixture MATCHES "^(.*)[.][*]$")
            set(filter ${fixture})
            set(fixture ${CMAKE_MATCH_1})
            list(APPEND apart ${filter})
        else()
            list(APPEND apart */${fixture} */${fixture}_*)
            mortise_filter_of(${fixture} filter)
        endif()
        add_test(NAME ${target}.${fixture} COMMAND ${target} --gtest_filter=${filter})
        set_tests_properties(${target}.${fixture} PROPERTIES ${properties} LABELS ${target} TIMEOUT 600 COST 100
            FAIL_REGULAR_EXPRESSION " 0 tests from 0 test suites ran")
    endforeach()
    list(JOIN apart ":" apart)
    if(apart)
        string(PREPEND apart "-")
    endif()
    if(arg_TOGETHER AND MORTISE_SANITIZE)
        add_test(NAME ${target} COMMAND ${target} "--gtest_filter=*${apart}")
        set_tests_properties(${target} PROPERTIES ${properties} TIMEOUT 900 COST 100)
        return()
    endif()
    gtest_discover_tests(${target}
        TEST_PREFIX ${target}.
        TEST_FILTER "${apart}"
        DISCOVERY_MODE PRE_TEST
        DISCOVERY_TIMEOUT 120
        NO_PRETTY_VALUES
        PROPERTIES ${properties})
endfunction()
