# Tests in another time zone with a wall clock that jumps, by half an hour to an hour at each reading. A preloaded shim bends the
# wall clock; sanitizers want to be loaded first, so there is none of this under them.
if(MORTISE_SANITIZE OR NOT EXISTS ${PROJECT_SOURCE_DIR}/checker/faults/wall_clock_shim.c)
    message(STATUS "No wall clock tests in this build")
    return()
endif()

add_library(wall_clock_shim MODULE ${PROJECT_SOURCE_DIR}/checker/faults/wall_clock_shim.c)
target_link_libraries(wall_clock_shim PRIVATE ${CMAKE_DL_LIBS})

# For processes whose clocks disagree, and for servers whose clock is set.
foreach(program IN ITEMS process_storm_tests store_redis_tests store_redlock_tests)
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
            FAIL_REGULAR_EXPRESSION " 0 tests from 0 test suites ran"
            ENVIRONMENT "TZ=Asia/Kathmandu;LD_PRELOAD=$<TARGET_FILE:wall_clock_shim>;MORTISE_TEST_WALL=${setting}")
    endif()
endfunction()

# The shim's own test, and what a clock that jumps could hide from.
mortise_add_wall_clock_test(checker_wall_clock_off checker_tests offset=3600 --gtest_filter=wall_clock.*)
mortise_add_wall_clock_test(checker_wall_clock_jumping checker_tests jump=3600 --gtest_filter=wall_clock.*)
mortise_add_wall_clock_test(checker_wall_clock_spread checker_tests spread=3600 --gtest_filter=wall_clock.*)
mortise_add_wall_clock_test(store_host_wall_clock_off store_host_tests offset=3600 --gtest_filter=host_tokens.*)

# What can notice a wall clock, and why nothing else can: docs/decisions/0034. Where tokens are made from the wall clock, all
# that is about tokens and time; elsewhere what is about time, on one fixture of each store. Servers keep their honest clocks
# (support/server_group.cpp).
set(about_tokens exclusion.* leases.* leased_locks.* elected.* detached.* upgrades.* ticket_shop.*)
set(about_time leases.* leased_locks.* ticket_shop.*)
function(mortise_filter_of_suites fixture result)
    set(filter "")
    foreach(suite IN LISTS ARGN)
        list(APPEND filter */${suite}/${fixture} */${suite}/${fixture}_*)
    endforeach()
    list(JOIN filter ":" filter)
    mortise_filter_of(${fixture} all)
    if(all MATCHES "(-.*)$")  # fixtures that are called like it, and more
        string(APPEND filter ${CMAKE_MATCH_1})
    endif()
    set(${result} ${filter} PARENT_SCOPE)
endfunction()
foreach(part IN ITEMS store_memory core)
    mortise_add_wall_clock_test(${part}_wall_clock_jumping ${part}_tests jump=3600)
endforeach()
mortise_add_wall_clock_test(store_host_wall_clock_jumping store_host_tests jump=3600
    --gtest_filter=host_tokens.*:host_store.*:host_liveness.*)
# Other strategies of a database count leases in other ways.
set(strategies mysql_get_lock mysql_for_update postgres_advisory)
get_property(all_served GLOBAL PROPERTY MORTISE_SERVED)
string(REPLACE ";" "|" any_served "${all_served}")
list(FILTER strategies INCLUDE REGEX "^(${any_served})$")
get_property(served GLOBAL PROPERTY MORTISE_SERVED_PLAIN)
list(APPEND served ${strategies})
foreach(fixture IN LISTS served ITEMS memory host)
    if(fixture IN_LIST served)
        mortise_filter_of_suites(${fixture} filter ${about_time})
    else()
        mortise_filter_of_suites(${fixture} filter ${about_tokens})
    endif()
    mortise_add_wall_clock_test(conformance_${fixture}_wall_clock_jumping conformance_tests jump=3600
        --gtest_filter=${filter})
endforeach()
