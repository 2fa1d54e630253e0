# How the lab draws its stories. There are no threads in it.
if(NOT MORTISE_SANITIZE MATCHES "thread")
    mortise_add_test_folder(lab/draw lab_tests TOGETHER QUICK LIBRARIES mortise_lab_drawing)
    target_compile_definitions(lab_tests PRIVATE MORTISE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()

# Its pages and pictures in a browser.
find_program(MORTISE_CHROMIUM NAMES chromium chromium-browser google-chrome)
if(MORTISE_SANITIZE)
    message(STATUS "Sanitized build: the lab's pages are left to the plain build")
elseif(MORTISE_CHROMIUM)
    mortise_add_test_folder(lab/browser lab_browser_tests LIBRARIES mortise_lab_drawing)
    target_compile_definitions(lab_browser_tests PRIVATE MORTISE_CHROMIUM="${MORTISE_CHROMIUM}")
    if(TARGET mortise_lab)
        target_compile_definitions(lab_browser_tests PRIVATE MORTISE_LAB="$<TARGET_FILE:mortise_lab>")
        add_dependencies(lab_browser_tests mortise_lab)
    endif()
else()
    message(STATUS "The lab's pages are not tried in a browser: apt-get install --no-install-recommends chromium")
endif()

# Its stories, as people play them.
if(TARGET mortise_lab)
    mortise_add_test_folder(lab lab_play_tests TOGETHER PROPERTIES COST 60)
    target_compile_definitions(lab_play_tests PRIVATE
        MORTISE_LAB="$<TARGET_FILE:mortise_lab>" MORTISE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_sources(lab_play_tests PRIVATE
        ${PROJECT_SOURCE_DIR}/src/stores/redis/servers/conversation.cpp
        ${PROJECT_SOURCE_DIR}/src/stores/redis/servers/server.cpp)
    add_dependencies(lab_play_tests mortise_lab)
endif()
