// What the fragments of README.md and docs/ take for granted. They are compiled, not run.
#pragma once

#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
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
    bool update_if_newer(int row, mortise::token);
};
extern database db;
extern int row;

// One client for the whole process.
extern mortise::client& locks;
