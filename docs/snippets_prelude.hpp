// What the fragments of README.md and docs/ take for granted. They are compiled; those about the patterns run, too.
#pragma once

#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

// The application around the lock.
void sell_one();
void work_until(std::stop_token);
void log(const mortise::refusal&);
void log(const std::string&);

struct database {
    bool seal_and_update(int row, mortise::token);  // see docs/fencing.md
};
extern database db;
extern int row;

// One client for the whole process.
extern mortise::client& locks;
