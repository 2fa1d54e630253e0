# mortise_add_store(<name>
#     SCHEMES <scheme>...       the URL schemes it answers
#     SOURCES <file>...         the store itself; <name>_store.hpp declares open()
#     FIXTURE <file>...         what tests need of it; fixture.hpp declares make_fixtures()
#     TESTS <file>...           its own tests, built into store_<name>_tests
#     [BASELINE <file>...]      what `mortise bench` measures it against; baseline/baselines.hpp declares make_baselines()
#     [SERVED <fixture>...]     those of its fixtures that start a server, in the order of make_fixtures()
#     [MODES <address>...]      one of each way to use it, for the table of guarantees; nothing is connected
#     [LIBRARIES <target>...]   its client library: mortise::<name>, made by mortise_client_library; mortise_install.cmake
#                               says how pkg-config knows any other
#     [PACKAGES <name>...]      what find_package must find for that
#     [TEST_LIBRARIES <target>...]  what its fixtures need besides
#     [PARTIAL]                 it has exclusive locks without tokens only: conformance says what it lacks, and storms and
#                               other suites that use all kinds do without it
#     [HASTY]                   its own tests count in tens of milliseconds: it is optimised under sanitizers too
#     [QUICK])                  its own tests take moments: ./test -L quick runs them too
#
# A suite that runs on every store has one ctest entry for each served fixture, so one process and one server.
#
# In namespace mortise::stores::<name> there must be
#     spi::store_factory open(const base::url&);
#     spi::fixtures make_fixtures();
#     baselines make_baselines(const base::url&);    if BASELINE is given
function(mortise_add_store name)
    cmake_parse_arguments(PARSE_ARGV 1 store "QUICK;HASTY;PARTIAL" "" "SCHEMES;MODES;SOURCES;BASELINE;FIXTURE;TESTS;SERVED;LIBRARIES;PACKAGES;TEST_LIBRARIES")
    if(store_UNPARSED_ARGUMENTS OR NOT store_SCHEMES OR NOT store_SOURCES)
        message(FATAL_ERROR "mortise_add_store(${name}): SCHEMES and SOURCES are needed, not '${store_UNPARSED_ARGUMENTS}'")
    endif()

    mortise_add_layer(store_${name} ${store_SOURCES})
    target_link_libraries(mortise_store_${name} PRIVATE ${store_LIBRARIES})
    if(store_SERVED AND NOT store_HASTY)
        mortise_compile_quickly(mortise_store_${name})
    endif()

    list(TRANSFORM store_FIXTURE PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM store_BASELINE PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL APPEND PROPERTY MORTISE_STORES ${name})
    set_property(GLOBAL PROPERTY MORTISE_MODES_OF_${name} ${store_MODES})
    set_property(GLOBAL PROPERTY MORTISE_BASELINE_OF_${name} ${store_BASELINE})
    set_property(GLOBAL APPEND PROPERTY MORTISE_STORE_LIBRARIES ${store_LIBRARIES})
    set_property(GLOBAL APPEND PROPERTY MORTISE_STORE_PACKAGES ${store_PACKAGES})
    set_property(GLOBAL APPEND PROPERTY MORTISE_FIXTURE_SOURCES ${store_FIXTURE})
    set_property(GLOBAL APPEND PROPERTY MORTISE_FIXTURE_LIBRARIES ${store_TEST_LIBRARIES})
    set_property(GLOBAL PROPERTY MORTISE_SCHEMES_OF_${name} ${store_SCHEMES})
    if(store_SERVED)
        list(GET store_SERVED 0 plain)
        set_property(GLOBAL APPEND PROPERTY MORTISE_SERVED ${store_SERVED})
        if(NOT store_PARTIAL)
            set_property(GLOBAL APPEND PROPERTY MORTISE_SERVED_PLAIN ${plain})
        endif()
    endif()
    set_property(GLOBAL PROPERTY MORTISE_PARTIAL_${name} ${store_PARTIAL})

    if(MORTISE_WITH_TESTS AND store_TESTS AND NOT name IN_LIST MORTISE_UNTESTED_STORES)
        set(quick "")
        if(store_QUICK)
            set(quick QUICK)
        endif()
        set(waits "")
        if(store_SERVED)  # for leases and for elections of servers, so they begin before those that only compute
            set(waits PROPERTIES COST 50)
        endif()
        mortise_add_tests(store_${name}_tests ${quick}
            SOURCES ${store_TESTS} LIBRARIES mortise_fixtures ${store_LIBRARIES} ${waits})
    endif()
endfunction()

# mortise_leave_out_store(<name> <why> [<package to install>])
function(mortise_leave_out_store name why)
    set(remedy "")
    if(ARGN)
        set(remedy " (apt-get install ${ARGN})")
    endif()
    message(STATUS "The store ${name} is left out: ${why}${remedy}")
    set_property(GLOBAL APPEND PROPERTY MORTISE_LEFT_OUT "${name}: ${why}${remedy}")
endfunction()

# Writes registry.cpp, baselines.cpp and fixtures.cpp from what mortise_add_store was told, and makes them the targets
# mortise_registry, mortise_baselines (for the command and the tests) and mortise_fixtures (for the tests).
function(mortise_generate_registry)
    get_property(stores GLOBAL PROPERTY MORTISE_STORES)
    list(SORT stores)
    set(registry_includes "")
    set(registry_entries "")
    set(baseline_sources "")
    set(baseline_includes "")
    set(baseline_entries "")
    set(baseline_count 0)
    set(fixture_includes "")
    set(fixture_entries "")
    set(entry_count 0)
    foreach(name IN LISTS stores)
        string(APPEND registry_includes "#include \"stores/${name}/${name}_store.hpp\"\n")
        get_property(schemes GLOBAL PROPERTY MORTISE_SCHEMES_OF_${name})
        get_property(baseline GLOBAL PROPERTY MORTISE_BASELINE_OF_${name})
        if(baseline)
            list(APPEND baseline_sources ${baseline})
            string(APPEND baseline_includes "#include \"stores/${name}/baseline/baselines.hpp\"\n")
        endif()
        foreach(scheme IN LISTS schemes)
            string(APPEND registry_entries "    {\"${scheme}\", &mortise::stores::${name}::open},\n")
            math(EXPR entry_count "${entry_count} + 1")
            if(baseline)
                string(APPEND baseline_entries "    {\"${scheme}\", &mortise::stores::${name}::make_baselines},\n")
                math(EXPR baseline_count "${baseline_count} + 1")
            endif()
        endforeach()
        string(APPEND fixture_includes "#include \"stores/${name}/fixture.hpp\"\n")
        get_property(partial GLOBAL PROPERTY MORTISE_PARTIAL_${name})
        set(plain true)
        if(partial)
            set(plain false)
        endif()
        string(APPEND fixture_entries "    {&mortise::stores::${name}::make_fixtures, ${plain}},\n")
    endforeach()

    set(generated ${PROJECT_BINARY_DIR}/generated)

    # What ./quickstart says.
    list(JOIN stores ", " built)
    get_property(left_out GLOBAL PROPERTY MORTISE_LEFT_OUT)
    list(TRANSFORM left_out PREPEND "Left out: ")
    list(JOIN left_out "\n" left_out)
    file(CONFIGURE OUTPUT ${generated}/stores.txt CONTENT "Stores in this build: ${built}\n${left_out}\n" @ONLY)

    configure_file(${PROJECT_SOURCE_DIR}/cmake/registry.cpp.in ${generated}/registry.cpp @ONLY)
    mortise_add_layer(registry ${generated}/registry.cpp)

    if(MORTISE_WITH_INTERNALS)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/baselines.cpp.in ${generated}/baselines.cpp @ONLY)
        file(GLOB shared_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/baseline/*.cpp)
        add_library(mortise_baselines STATIC ${generated}/baselines.cpp ${shared_sources} ${baseline_sources})
        mortise_own(mortise_baselines)
        mortise_compile_quickly(mortise_baselines)
        target_link_libraries(mortise_baselines PUBLIC mortise_internals)
    endif()

    if(MORTISE_WITH_TESTS)
        get_property(fixture_sources GLOBAL PROPERTY MORTISE_FIXTURE_SOURCES)
        get_property(libraries GLOBAL PROPERTY MORTISE_STORE_LIBRARIES)
        get_property(test_libraries GLOBAL PROPERTY MORTISE_FIXTURE_LIBRARIES)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/fixtures.cpp.in ${generated}/fixtures.cpp @ONLY)
        add_library(mortise_fixtures STATIC ${generated}/fixtures.cpp ${fixture_sources})
        mortise_own(mortise_fixtures)
        mortise_compile_quickly(mortise_fixtures)
        target_link_libraries(mortise_fixtures PUBLIC mortise_test_support mortise_baselines mortise_internals ${libraries} ${test_libraries})
    endif()
endfunction()
