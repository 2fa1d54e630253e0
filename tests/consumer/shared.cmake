# cmake -D ROOT=... -D BUILD=... -D SOURCE=... -D WORK=... -D COMPILER=... -P shared.cmake
# A shared build, as an administrator installs it: make install, with a prefix and a destination. The prefix is moved, and the
# command and the library are used there; then make uninstall leaves nothing behind.
file(REMOVE_RECURSE ${WORK}/root ${WORK}/moved)
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)

set(prefix /opt/locks)
# The stores of other machines are in the static build, and their libraries with them.
set(arguments -C ${ROOT} BUILD=${WORK}/build PREFIX=${prefix} DESTDIR=${WORK}/root
    "OPTIONS=-DBUILD_SHARED_LIBS=ON -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DMORTISE_BUILD_TESTS=OFF -DMORTISE_BUILD_EXAMPLES=OFF -DMORTISE_TLS=OFF -DMORTISE_STORE_REDIS=OFF -DMORTISE_STORE_ETCD=OFF -DMORTISE_STORE_ZOOKEEPER=OFF -DMORTISE_STORE_POSTGRES=OFF -DMORTISE_STORE_MYSQL=OFF")
run(make install ${arguments})
set(installed ${WORK}/root${prefix})
has(${installed} bin/mortise include/mortise/mortise.hpp share/doc/mortise/LICENSE share/man/man1/mortise.1)

file(MAKE_DIRECTORY ${WORK}/moved)
file(RENAME ${installed} ${WORK}/moved/locks)
set(moved ${WORK}/moved/locks)
without_machine_paths(${moved})
run(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${moved}/bin/mortise --version)
run(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${moved}/bin/mortise run -w 10s --store host:${WORK}/moved/host ours -- true)
file(READ_ELF ${moved}/bin/mortise RPATH rpath RUNPATH runpath CAPTURE_ERROR failed)
if(NOT "${rpath}${runpath}" STREQUAL "")
    message(FATAL_ERROR "the command, which needs no library of ours, has a run path: '${rpath}${runpath}'")
endif()

with_pkg_config(${moved} ${WORK}/by_pkg_config)
file(GLOB_RECURSE library ${moved}/*/libmortise.so)
get_filename_component(library ${library} DIRECTORY)
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${library} ${WORK}/by_pkg_config)
file(REMOVE_RECURSE ${WORK}/moved/host)

file(RENAME ${moved} ${installed})
file(WRITE ${installed}/lib/other.txt "somebody else's")
run(make uninstall ${arguments})
file(GLOB_RECURSE left LIST_DIRECTORIES false ${WORK}/root/*)
if(NOT left STREQUAL "${installed}/lib/other.txt")
    message(FATAL_ERROR "make uninstall left, or took what is not ours: ${left}")
endif()
file(GLOB_RECURSE left LIST_DIRECTORIES true ${WORK}/root/*)
list(FILTER left INCLUDE REGEX "mortise")
if(left)
    message(FATAL_ERROR "make uninstall left folders: ${left}")
endif()
