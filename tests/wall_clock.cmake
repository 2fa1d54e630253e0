# The same tests in another time zone with a wall clock that is an hour off, and with one that jumps. A preloaded shim
# bends the wall clock; sanitizers want to be loaded first, so there is none of this under them.
if(MORTISE_SANITIZE OR NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/support/wall_clock_shim.c)
    message(STATUS "No wall clock tests in this build")
    return()
endif()

add_library(wall_clock_shim MODULE support/wall_clock_shim.c)
target_link_libraries(wall_clock_shim PRIVATE ${CMAKE_DL_LIBS})

# For processes whose clocks disagree, and for servers whose clock is set.
foreach(program IN ITEMS process_storm_tests store_redis_tests)
    if(TARGET ${program})
        target_compile_definitions(${program} PRIVATE MORTISE_WALL_CLOCK_SHIM="$<TARGET_FILE:wall_clock_shim>")
        add_dependencies(${program} wall_clock_shim)
    endif()
endforeach()

# They mostly wait, so they begin first.
function(mortise_add_wall_clock_test name program setting)
    if(TARGET ${program})
        add_test(NAME ${name} COMMAND ${program} ${ARGN})
        set_tests_properties(${name} PROPERTIES
            TIMEOUT 300
            COST 100
            LABELS wall_clock
            ENVIRONMENT "TZ=Asia/Kathmandu;LD_PRELOAD=$<TARGET_FILE:wall_clock_shim>;MORTISE_TEST_WALL=${setting}")
    endif()
endfunction()

# Servers keep their honest clocks (support/server_group.cpp). With a clock that jumps, all tests of a store's plain fixture,
# unless its leases are slow; of the others, and with one that is off, what is about time.
get_property(served GLOBAL PROPERTY MORTISE_SERVED)
get_property(quick GLOBAL PROPERTY MORTISE_SERVED_QUICK)
set(apart "")
foreach(fixture IN LISTS served)
    list(APPEND apart */${fixture} */${fixture}_*)
    mortise_filter_of(${fixture} all)
    string(REPLACE "*/${fixture}:*/${fixture}_*" "*shop*/${fixture}*:*lease*/${fixture}*" about_time "${all}")
    if(fixture IN_LIST quick)
        set(jumping ${all})
    else()
        set(jumping ${about_time})
    endif()
    mortise_add_wall_clock_test(conformance_${fixture}_wall_clock_jumping conformance_tests jump=3600
        --gtest_filter=${jumping})
    mortise_add_wall_clock_test(conformance_${fixture}_wall_clock_off conformance_tests offset=3600
        --gtest_filter=${about_time})
endforeach()
foreach(fixture IN LISTS test_stores)
    list(APPEND apart */${fixture} */${fixture}_*)
endforeach()
list(JOIN apart ":" apart)

foreach(part IN ITEMS support conformance core store_memory store_host)
    mortise_add_wall_clock_test(${part}_wall_clock_off ${part}_tests offset=3600 --gtest_filter=-${apart})
    mortise_add_wall_clock_test(${part}_wall_clock_jumping ${part}_tests jump=3600 --gtest_filter=-${apart})
endforeach()
