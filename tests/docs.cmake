# Documents that are more than text: a tutorial to be followed, and a reference to be made.

# docs/tutorial.md, done as it says, with a Redis server of its own.
find_program(MORTISE_BASH bash)
if(MORTISE_INSTALL AND MORTISE_BASH AND TARGET mortise_store_redis AND TARGET mortise_store_host AND MORTISE_BUILD_TOOLS)
    add_test(NAME tutorial COMMAND ${MORTISE_BASH} ${CMAKE_CURRENT_SOURCE_DIR}/tutorial/follow.sh
        ${PROJECT_SOURCE_DIR}/docs/tutorial.md
        ${PROJECT_SOURCE_DIR}/docs/tutorial
        ${PROJECT_BINARY_DIR}
        ${CMAKE_CURRENT_BINARY_DIR}/tutorial)
    # It sleeps most of the time.
    set_tests_properties(tutorial PROPERTIES TIMEOUT 300 COST 100 LABELS consumer
        ENVIRONMENT "CMAKE_GENERATOR=${CMAKE_GENERATOR};CXX=${CMAKE_CXX_COMPILER}")
endif()

# make reference, without warnings.
find_program(MORTISE_DOXYGEN doxygen)
if(MORTISE_DOXYGEN)
    add_test(NAME reference COMMAND sh -c
        "mkdir -p \"$1\" && { cat docs/reference/Doxyfile; echo \"OUTPUT_DIRECTORY = $1\"; } | \"$0\" -"
        ${MORTISE_DOXYGEN} ${CMAKE_CURRENT_BINARY_DIR}/reference
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(reference PROPERTIES TIMEOUT 300 COST 40 LABELS consumer)
else()
    message(STATUS "The reference is not tested: doxygen is needed")
endif()
