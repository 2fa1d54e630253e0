// One seller process of the shop.
#pragma once

#include <string_view>

// ticket_shop --seller <lock> is a seller process. The settings are in its environment, the rest in these descriptors.
constexpr const char* seller_word = "--seller";
constexpr int doors_descriptor = 0;  // ends when the doors open
constexpr int till_descriptor = 1;   // takes its messages, see till.hpp
constexpr int stock_descriptor = 3;

// Sells until the shelf is empty or the last customer is served. Answers the exit status.
int be_seller(std::string_view lock);
