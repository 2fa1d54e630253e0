// What the environment asks of the shop.
#pragma once

#include <chrono>
#include <string>

using count = long long;

constexpr const char* lock_name = "ticket shop";

// Throws a failure that names the variable which is not a number in its range.
struct settings {
    count stock = number_from("SHOP_STOCK", 500, 10'000'000);
    count processes = number_from("SHOP_PROCESSES", 4, 64);
    count threads = number_from("SHOP_THREADS", 4, 256);
    std::chrono::seconds patience{number_from("SHOP_PATIENCE", 30, 3600)};
    std::string store = text_from("MORTISE_STORE", "host:");

    // Two for every ticket at least, and every thread serves as many. So even the worst shop closes at last.
    count customers_per_thread() const { return (2 * stock - 1) / (processes * threads) + 1; }
    count customers() const { return customers_per_thread() * processes * threads; }

private:
    static count number_from(const char* variable, count otherwise, count most);
    static std::string text_from(const char* variable, const char* otherwise);
};
