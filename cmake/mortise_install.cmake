# find_package(mortise) gives mortise::mortise; with COMPONENTS asio, where it was built, mortise::asio too.
include(CMakePackageConfigHelpers)

# What make install builds: to ninja, `mortise` is the command of that name and not the library.
add_custom_target(mortise_package)
add_dependencies(mortise_package mortise mortise_patterns)
if(TARGET mortise_postgres_transaction)
    add_dependencies(mortise_package mortise_postgres_transaction)
    install(TARGETS mortise_postgres_transaction EXPORT mortise-targets)
endif()
if(TARGET mortise_mysql_optimistic)
    add_dependencies(mortise_package mortise_mysql_optimistic)
    install(TARGETS mortise_mysql_optimistic EXPORT mortise-targets)
endif()
if(TARGET mortise_program)
    add_dependencies(mortise_package mortise_program)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mortise)

install(TARGETS mortise mortise_patterns EXPORT mortise-targets)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB pages CONFIGURE_DEPENDS docs/*.md docs/*.svg)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY include/mortise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT mortise-targets NAMESPACE mortise:: DESTINATION ${package_dir})
if(MORTISE_WITH_ASIO)
    install(TARGETS mortise_asio EXPORT mortise-asio-targets)
    install(EXPORT mortise-asio-targets NAMESPACE mortise:: DESTINATION ${package_dir})
endif()

# A static library leaves its stores' libraries to whoever links it.
get_property(packages GLOBAL PROPERTY MORTISE_STORE_PACKAGES)
get_property(store_libraries GLOBAL PROPERTY MORTISE_STORE_LIBRARIES)
set(store_dependencies "")
if(NOT BUILD_SHARED_LIBS)
    install(FILES cmake/mortise_client_library.cmake DESTINATION ${package_dir})
    foreach(package IN LISTS packages)
        string(APPEND store_dependencies "find_dependency(${package})\n")
    endforeach()
    string(APPEND store_dependencies "include(\${CMAKE_CURRENT_LIST_DIR}/mortise_client_library.cmake)\n")
    foreach(library IN LISTS store_libraries)
        if(library MATCHES "^mortise::(.*)$")
            string(APPEND store_dependencies
                "mortise_client_library(${CMAKE_MATCH_1})\n"
                "if(NOT TARGET ${library})\n"
                "    set(mortise_FOUND FALSE)\n"
                "    set(mortise_NOT_FOUND_MESSAGE \"the library ${CMAKE_MATCH_1}, with which it was built, was not found\")\n"
                "    return()\n"
                "endif()\n")
        endif()
    endforeach()
endif()
configure_package_config_file(cmake/mortise-config.cmake.in ${PROJECT_BINARY_DIR}/generated/mortise-config.cmake
    INSTALL_DESTINATION ${package_dir})
# No promise across minor versions before 1.0.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/mortise-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/generated/mortise-config.cmake
    ${PROJECT_BINARY_DIR}/generated/mortise-config-version.cmake
    DESTINATION ${package_dir})

# pkg-config mortise. Whoever links a static library links its stores' libraries too, with --static or without. Paths are
# relative to the file, so that a prefix may be moved.
set(pc_requires "")
set(pc_libraries "")
set(pc_private "")
foreach(library IN LISTS store_libraries)
    if(library MATCHES "^mortise::(.*)$")
        string(APPEND pc_libraries " -l${CMAKE_MATCH_1}")
    elseif(library STREQUAL "OpenSSL::SSL" AND BUILD_SHARED_LIBS)
        string(APPEND pc_libraries " -lssl -lcrypto")
    elseif(library STREQUAL "OpenSSL::SSL")
        set(pc_requires openssl)
    else()
        message(FATAL_ERROR "cmake/mortise_install.cmake: how does pkg-config know ${library}?")
    endif()
endforeach()
if(BUILD_SHARED_LIBS)
    set(pc_private "${pc_libraries}")
    set(pc_libraries "")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
    set(pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
    set(pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
    file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(packaging/mortise.pc.in ${PROJECT_BINARY_DIR}/generated/mortise.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/mortise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
