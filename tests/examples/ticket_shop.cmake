# cmake -D PROGRAM=... -P ticket_shop.cmake
# Without a lock the shop must oversell, else it proves nothing; with one it must come out even. The race needs a
# second thread at the right moment, so the unlocked shop gets a few tries.
set(ENV{SHOP_STOCK} 300)
set(tries 5)
foreach(try RANGE 1 ${tries})
    execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "The shop ended with ${status}; it printed:\n${output}")
    endif()
    if(NOT output MATCHES "(^|\n)shop: lock=mortise stock=300 sold=300 oversold=0 lost=0 ")
        message(FATAL_ERROR "The shop with locks did not come out even:\n${output}")
    endif()
    if(output MATCHES "(^|\n)shop: lock=none [^\n]*oversold=[1-9]")
        return()
    endif()
endforeach()
message(FATAL_ERROR "The shop without locks never oversold in ${tries} runs:\n${output}")
