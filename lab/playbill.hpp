// What the lab shows: the list of stories, a story as it was played, and the table at the end.
#pragma once

#include "lab/performance.hpp"
#include "lab/rehearsal.hpp"
#include "lab/stage/text.hpp"
#include "lab/story.hpp"
#include "tools/mortise/terminal.hpp"

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
        std::string svg{};    // a file for one picture, a directory for several
        std::string html{};
        std::size_t stories = 1;
    };
    explicit playbill(setup how);

    int list() const;
    void begins(const story& next);
    void add(const story& told, form slot, rehearsal played);
    int ends();  // 0: everything went as told

private:
    struct line {
        const story* told = nullptr;
        form slot{};
        rehearsal played{};
    };
    void show(const line& each) const;
    void draw() const;
    void print_table() const;
    std::string file_for(const std::string& place, const std::string& name) const;
    void write(const std::string& path, const std::string& bytes) const;

    const setup how_;
    std::vector<line> lines_;
    command::live_line progress_;
    std::size_t begun_ = 0;
};

}  // namespace lab
