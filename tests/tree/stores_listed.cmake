# cmake -D SOURCE=... -D WORK=... -D COMPILER=... -P stores_listed.cmake
# What ./quickstart shows at its end: the stores of the build, and what to install for those that were left out.
file(READ ${SOURCE}/quickstart quickstart)
if(NOT quickstart MATCHES "build/generated/stores\\.txt")
    message(FATAL_ERROR "./quickstart does not show build/generated/stores.txt")
endif()

# As on a machine without the client libraries; TLS stays as it is.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK} -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER}
        -D MORTISE_BUILD_TESTS=OFF -D MORTISE_BUILD_EXAMPLES=OFF -D MORTISE_ASIO=OFF
        -D MORTISE_NGHTTP2_LIBRARY= -D MORTISE_ZOOKEEPER_MT_LIBRARY= -D MORTISE_PQ_LIBRARY= -D MORTISE_MARIADB_LIBRARY=
        -D MORTISE_STORE_REDIS=OFF
    OUTPUT_VARIABLE output ERROR_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
file(READ ${WORK}/generated/stores.txt said)
foreach(line
        "Stores in this build: host, memory"
        "Left out: etcd: nghttp2 was not found (apt-get install libnghttp2-dev)"
        "Left out: mysql: libmariadb was not found (apt-get install libmariadb-dev)"
        "Left out: postgres: libpq was not found (apt-get install libpq-dev)"
        "Left out: zookeeper: its C client was not found (apt-get install libzookeeper-mt-dev)"
        "Left out: redis: MORTISE_STORE_REDIS is OFF"
        "Left out: redlock: MORTISE_STORE_REDIS is OFF")
    string(FIND "${said}" "${line}\n" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "'${line}' is not said, but:\n${said}")
    endif()
endforeach()
