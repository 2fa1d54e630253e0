# The same tests in another time zone with a wall clock that is an hour off, and with one that jumps. A preloaded shim
# bends the wall clock; sanitizers want to be loaded first, so there is none of this under them.
if(MORTISE_SANITIZE OR NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/support/wall_clock_shim.c)
    message(STATUS "No wall clock tests in this build")
    return()
endif()

add_library(wall_clock_shim MODULE support/wall_clock_shim.c)
target_link_libraries(wall_clock_shim PRIVATE ${CMAKE_DL_LIBS})

# For processes whose clocks disagree.
if(TARGET process_storm_tests)
    target_compile_definitions(process_storm_tests PRIVATE MORTISE_WALL_CLOCK_SHIM="$<TARGET_FILE:wall_clock_shim>")
    add_dependencies(process_storm_tests wall_clock_shim)
endif()

function(mortise_add_wall_clock_test name program setting)
    if(TARGET ${program})
        add_test(NAME ${name} COMMAND ${program})
        set_tests_properties(${name} PROPERTIES
            TIMEOUT 300
            LABELS wall_clock
            ENVIRONMENT "TZ=Asia/Kathmandu;LD_PRELOAD=$<TARGET_FILE:wall_clock_shim>;MORTISE_TEST_WALL=${setting}")
    endif()
endfunction()

foreach(part IN ITEMS support conformance core store_memory store_host)
    mortise_add_wall_clock_test(${part}_wall_clock_off ${part}_tests offset=3600)
    mortise_add_wall_clock_test(${part}_wall_clock_jumping ${part}_tests jump=3600)
endforeach()
