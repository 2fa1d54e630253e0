# mortise::asio: the header for Boost.Asio. AUTO makes it where Boost is found, ON demands it.
set(MORTISE_ASIO AUTO CACHE STRING "mortise::asio for Boost.Asio: ON, OFF or AUTO")
set(MORTISE_BOOST_VERSION 1.81)

set(MORTISE_WITH_ASIO OFF)
if(MORTISE_ASIO)
    find_package(Boost ${MORTISE_BOOST_VERSION} QUIET)
    set(MORTISE_WITH_ASIO ${Boost_FOUND})
    if(NOT Boost_FOUND AND MORTISE_ASIO STREQUAL "AUTO")
        message(STATUS "mortise::asio is left out: Boost ${MORTISE_BOOST_VERSION} was not found (package libboost1.81-dev)")
    elseif(NOT Boost_FOUND)
        message(FATAL_ERROR "mortise::asio needs Boost ${MORTISE_BOOST_VERSION} or newer (package libboost1.81-dev)")
    endif()
endif()

if(MORTISE_WITH_ASIO)
    add_library(mortise_asio INTERFACE)
    add_library(mortise::asio ALIAS mortise_asio)
    set_target_properties(mortise_asio PROPERTIES EXPORT_NAME asio)
    target_link_libraries(mortise_asio INTERFACE mortise Boost::headers)
endif()

# For programs of ours that use Asio. ThreadSanitizer does not understand its fences, and g++ refuses them; queues of handlers
# are guarded by mutexes as well.
function(mortise_sanitize_asio target)
    if(MORTISE_SANITIZE MATCHES "thread")
        target_compile_definitions(${target} PRIVATE BOOST_ASIO_DISABLE_FENCED_BLOCK)
    endif()
endfunction()
