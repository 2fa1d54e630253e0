# Every ```cpp fence of README.md and docs/ is compiled; snippets.awk says how.
file(GLOB_RECURSE pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
file(GLOB front CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
list(APPEND pages ${front})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages} ${CMAKE_CURRENT_SOURCE_DIR}/snippets.awk)

set(fresh ${CMAKE_CURRENT_BINARY_DIR}/snippets.fresh)
file(REMOVE_RECURSE ${fresh})
file(MAKE_DIRECTORY ${fresh} ${CMAKE_CURRENT_BINARY_DIR}/snippets)
foreach(page IN LISTS pages)
    file(RELATIVE_PATH shown ${PROJECT_SOURCE_DIR} ${page})
    string(MAKE_C_IDENTIFIER ${shown} name)
    execute_process(COMMAND awk -v page=${page} -v name=${name} -v into=${fresh}
            -f ${CMAKE_CURRENT_SOURCE_DIR}/snippets.awk ${page}
        COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# Copied only when changed, so that an edited page compiles its own snippets again and no others.
file(GLOB extracted RELATIVE ${fresh} ${fresh}/*.cpp)
set(sources "")
set(programs "")
foreach(file IN LISTS extracted)
    file(COPY_FILE ${fresh}/${file} ${CMAKE_CURRENT_BINARY_DIR}/snippets/${file} ONLY_IF_DIFFERENT)
    file(STRINGS ${fresh}/${file} needs_boost REGEX "#include <(mortise/asio|boost/)")
    if(MORTISE_WITH_ASIO OR NOT needs_boost)
        list(APPEND sources ${CMAKE_CURRENT_BINARY_DIR}/snippets/${file})
        file(STRINGS ${fresh}/${file} has_prelude REGEX "snippets_prelude[.]hpp")
        if(NOT has_prelude)
            list(APPEND programs ${CMAKE_CURRENT_BINARY_DIR}/snippets/${file})
        endif()
    endif()
endforeach()
if(sources)
    add_library(snippets OBJECT ${sources})
    mortise_own(snippets)
    set_target_properties(snippets PROPERTIES UNITY_BUILD OFF)
    # What all but the programs begin with takes most of the time.
    target_precompile_headers(snippets PRIVATE ${PROJECT_SOURCE_DIR}/docs/snippets_prelude.hpp)
    set_source_files_properties(${programs} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    target_compile_options(snippets PRIVATE -O0 -Wno-unused -Wno-shadow)
    target_include_directories(snippets PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(snippets PRIVATE mortise::mortise $<TARGET_NAME_IF_EXISTS:mortise::asio>)

    # Those of the patterns' pages run, too.
    set(patterns "consistent_cache|once_per_period|sharded_stock|single_flight|striped_mutex|token_keeper")
    add_executable(pattern_snippets pattern_snippets.cpp
        "$<FILTER:$<TARGET_OBJECTS:snippets>,INCLUDE,docs_(${patterns})_md_>")
    mortise_own(pattern_snippets)
    target_include_directories(pattern_snippets PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(pattern_snippets PRIVATE mortise::patterns)
    add_test(NAME tree.pattern_snippets COMMAND pattern_snippets)
    set_tests_properties(tree.pattern_snippets PROPERTIES TIMEOUT 60 LABELS tree_tests)
endif()
