# cmake -D PROGRAM=... -D HOST=<whether host: is built> -D SCRATCH=<directory of ours> -P ticket_shop.cmake
# The shop without a common lock must oversell, else it proves nothing; with one it must come out even. A race needs two
# sellers at the right moment, so the faulty rounds get a few tries. The sound ones get none.

# shop(<variable>=<value>...): runs the shop and leaves `status`, `output` and `complaint`.
macro(shop)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=MORTISE_STORE --unset=SHOP_STOCK --unset=SHOP_PROCESSES
            --unset=SHOP_THREADS --unset=SHOP_PATIENCE ${ARGN} ${PROGRAM}
        OUTPUT_VARIABLE output ERROR_VARIABLE complaint RESULT_VARIABLE status)
endmacro()

# expect_round(<lock> <rest of a regular expression>): a result line of the last run.
function(expect_round lock pattern)
    if(NOT output MATCHES "(^|\n)shop: lock=${lock} [^\n]*${pattern}")
        message(FATAL_ERROR "The round lock=${lock} should say ${pattern}:\n${output}${complaint}")
    endif()
endfunction()

# expect_refusal(<status> <regular expression> <variable>=<value>...): one line on standard error, and no sale.
function(expect_refusal wanted pattern)
    shop(${ARGN})
    if(NOT status EQUAL wanted OR NOT complaint MATCHES "^ticket_shop: [^\n]*${pattern}[^\n]*\n$" OR output MATCHES "shop:")
        message(FATAL_ERROR "${ARGN}: expected status ${wanted} and a line with '${pattern}', not ${status} and:\n"
            "${output}${complaint}")
    endif()
endfunction()

# sells(<rounds that must oversell at least once> <rounds that must be exact every time> <variable>=<value>...)
function(sells faulty sound)
    foreach(try RANGE 1 5)
        shop(SHOP_STOCK=300 ${ARGN})
        if(NOT status EQUAL 0 OR NOT complaint STREQUAL "")
            message(FATAL_ERROR "${ARGN}: the shop ended with ${status}; it printed:\n${output}${complaint}")
        endif()
        foreach(lock IN LISTS sound)
            expect_round(${lock} " stock=300 sold=300 oversold=0 lost=0 ")
        endforeach()
        foreach(lock IN LISTS faulty)
            if(output MATCHES "(^|\n)shop: lock=${lock} [^\n]* oversold=[1-9]")
                list(REMOVE_ITEM faulty ${lock})
            endif()
        endforeach()
        if(NOT faulty)
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "${ARGN}: never oversold in ${try} runs: ${faulty}\n${output}")
endfunction()

if(HOST)
    file(REMOVE_RECURSE ${SCRATCH})
    file(MAKE_DIRECTORY ${SCRATCH})
    set(here MORTISE_STORE=host:${SCRATCH})
    sells("none;local" "mortise" ${here})
    sells("none" "local;mortise" ${here} SHOP_PROCESSES=1)
    sells("none;local" "mortise" ${here} SHOP_PROCESSES=16 SHOP_THREADS=1)
    shop(${here} SHOP_STOCK=1)
    expect_round("mortise store=host:[^ ]+" "processes=4 threads=4 stock=1 sold=1 oversold=0 lost=0 ")
    expect_refusal(69 "cannot make it" MORTISE_STORE=host:/proc/nowhere)
    file(REMOVE_RECURSE ${SCRATCH})

    # The store that is taken if none is named belongs to the user, so other builds may be at work in it.
    shop(SHOP_STOCK=1)
    if(NOT status EQUAL 69)
        expect_round("mortise store=host:" "processes=4 threads=4 stock=1 sold=1 oversold=0 lost=0 ")
    endif()
else()
    expect_refusal(78 "no store is called 'host'" SHOP_STOCK=1)
endif()
sells("none" "local;mortise" SHOP_PROCESSES=1 MORTISE_STORE=memory:)

expect_refusal(78 "use MORTISE_STORE=host: or SHOP_PROCESSES=1" MORTISE_STORE=memory:)
expect_refusal(78 "no store is called 'memry'" MORTISE_STORE=memry:)
expect_refusal(78 "empty" MORTISE_STORE=)
foreach(variable SHOP_PROCESSES SHOP_THREADS SHOP_STOCK SHOP_PATIENCE)
    foreach(value 0 -1 abc 4x "" 1000000000 99999999999999999999)
        expect_refusal(64 "${variable} must be a whole number from 1 to [0-9]+, not \"${value}\"" ${variable}=${value})
    endforeach()
endforeach()
expect_refusal(1 "cannot make a file for the stock in TMPDIR, /nowhere/at/all"
    TMPDIR=/nowhere/at/all SHOP_PROCESSES=1 MORTISE_STORE=memory:)
