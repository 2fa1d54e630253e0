# The installed package, as somebody else's project finds it; and the marks of the exports, which only a shared library
# puts to the test: the consumer is linked once more with one made of the same objects.
if(MORTISE_INSTALL)
    # They compile: with what the others leave them, so they begin early.
    set(behind_the_others nice -n 19)
    add_test(NAME consumer.installed COMMAND ${behind_the_others} ${CMAKE_COMMAND}
        -D BUILD=${PROJECT_BINARY_DIR}
        -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/consumer
        -D WORK=${CMAKE_CURRENT_BINARY_DIR}/consumer
        -D GENERATOR=${CMAKE_GENERATOR}
        -D COMPILER=${CMAKE_CXX_COMPILER}
        -D ASIO=${MORTISE_WITH_ASIO}
        -P ${CMAKE_CURRENT_SOURCE_DIR}/consumer/run.cmake)
    add_test(NAME consumer.shared_moved COMMAND ${behind_the_others} ${CMAKE_COMMAND}
        -D ROOT=${PROJECT_SOURCE_DIR}
        -D BUILD=${PROJECT_BINARY_DIR}
        -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/consumer
        -D WORK=${CMAKE_CURRENT_BINARY_DIR}/consumer_shared_moved
        -D COMPILER=${CMAKE_CXX_COMPILER}
        -P ${CMAKE_CURRENT_SOURCE_DIR}/consumer/shared.cmake)
    set_tests_properties(consumer.installed consumer.shared_moved PROPERTIES TIMEOUT 900 COST 200 LABELS consumer)
endif()

get_target_property(objects mortise SOURCES)
get_property(store_libraries GLOBAL PROPERTY MORTISE_STORE_LIBRARIES)
add_library(mortise_shared_check SHARED ${objects})
set_target_properties(mortise_shared_check PROPERTIES LINKER_LANGUAGE CXX)
target_link_options(mortise_shared_check PRIVATE -Wl,--no-undefined)
target_link_libraries(mortise_shared_check PRIVATE Threads::Threads ${store_libraries})
target_include_directories(mortise_shared_check PUBLIC ${PROJECT_SOURCE_DIR}/include)

add_executable(consumer_shared consumer/main.cpp)
mortise_own(consumer_shared)
target_link_libraries(consumer_shared PRIVATE mortise_shared_check)
add_test(NAME consumer.shared COMMAND consumer_shared)
set_tests_properties(consumer.shared PROPERTIES TIMEOUT 60 LABELS consumer)
