// What the lab shows: the list of stories, a story as it was played, and the table at the end.
#pragma once

#include "lab/outputs.hpp"
#include "lab/performance.hpp"
#include "lab/rehearsal.hpp"
#include "lab/stage/text.hpp"
#include "lab/story.hpp"
#include "tools/mortise/terminal.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace lab {

class playbill {
public:
    struct setup {
        language speaks = language::english;
        bool json = false;
        bool in_full = true;  // each story with its timeline; else only the table
        output_place svg{};
        output_place html{};
        std::size_t stories = 1;
    };
    explicit playbill(setup how);

    int list() const;
    void begins(const story& next);
    void waits(std::chrono::nanoseconds passed, std::chrono::nanoseconds of);  // where time passes by itself
    void add(const story& told, form slot, rehearsal played);
    int ends();  // 0: everything went as told; 1: not; 69: some were not played

private:
    struct line {
        const story* told = nullptr;
        form slot{};
        rehearsal played{};
    };
    void show(const line& each) const;
    void draw() const;
    void tell_left_out() const;
    void print_table() const;

    const setup how_;
    std::vector<line> lines_;
    command::live_line progress_;
    std::size_t begun_ = 0;
};

}  // namespace lab
