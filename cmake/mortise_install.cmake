# find_package(mortise) gives mortise::mortise; with COMPONENTS asio, where it was built, mortise::asio too.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mortise)

install(TARGETS mortise EXPORT mortise-targets)
install(DIRECTORY include/mortise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT mortise-targets NAMESPACE mortise:: DESTINATION ${package_dir})
if(MORTISE_WITH_ASIO)
    install(TARGETS mortise_asio EXPORT mortise-asio-targets)
    install(EXPORT mortise-asio-targets NAMESPACE mortise:: DESTINATION ${package_dir})
endif()

# A static library leaves its stores' libraries to whoever links it.
set(store_dependencies "")
if(NOT BUILD_SHARED_LIBS)
    get_property(packages GLOBAL PROPERTY MORTISE_STORE_PACKAGES)
    foreach(package IN LISTS packages)
        string(APPEND store_dependencies "find_dependency(${package})\n")
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
