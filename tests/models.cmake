# What is proved of the protocols, in small: models/check. Needs SPIN.
find_program(spin_program spin)
if(NOT spin_program)
    message(STATUS "No models are checked: spin is not installed (apt-get install spin)")
    return()
endif()
foreach(model IN ITEMS quorum_tokens sealed_lease grants hand_over host_word)
    add_test(NAME models_${model} COMMAND ${PROJECT_SOURCE_DIR}/models/check ${model})
    set_tests_properties(models_${model} PROPERTIES
        TIMEOUT 300
        COST 100
        ENVIRONMENT "SEARCH_IN=${CMAKE_CURRENT_BINARY_DIR}/models/${model}")
endforeach()
