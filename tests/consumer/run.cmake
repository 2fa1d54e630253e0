# cmake -D BUILD=... -D SOURCE=... -D WORK=... -D GENERATOR=... -D COMPILER=... -D ASIO=... -P run.cmake
# Installs into a prefix of its own, moves that elsewhere, then builds and runs the consumer against it: as a CMake project, and
# with what pkg-config says.
file(REMOVE_RECURSE ${WORK})
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)
without_machine_paths(${WORK}/prefix)
has(${WORK}/prefix share/doc/mortise/LICENSE share/doc/mortise/README.md share/doc/mortise/CHANGELOG.md
    share/doc/mortise/docs/errors.md share/doc/mortise/docs/guarantees.md)

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_BUILD_TYPE=Release
    -D ASIO=${ASIO})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
if(ASIO)
    run(${WORK}/build/consumer_asio)
endif()

with_pkg_config(${WORK}/prefix ${WORK}/by_pkg_config)
run(${WORK}/by_pkg_config)
with_pkg_config(${WORK}/prefix ${WORK}/by_pkg_config_static --static)
run(${WORK}/by_pkg_config_static)
