# What is proved of the protocols, in small: models/check. Needs SPIN.
find_program(spin_program spin)
if(NOT spin_program)
    message(STATUS "No models are checked: spin is not installed (apt-get install spin)")
    return()
endif()
add_test(NAME models_quorum_tokens COMMAND ${PROJECT_SOURCE_DIR}/models/check)
set_tests_properties(models_quorum_tokens PROPERTIES
    TIMEOUT 300
    COST 100
    ENVIRONMENT "SEARCH_IN=${CMAKE_CURRENT_BINARY_DIR}/models")
