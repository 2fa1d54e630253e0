// docs/guarantees.md says what the stores say of themselves.
#include <mortise/client.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

constexpr const char* page = MORTISE_SOURCE_DIR "/docs/guarantees.md";

constexpr const char* introduction = R"(# What is promised, and when the promise ends

This page is made from what each store says of itself (`client::promises()`); `make docs` writes it, and a test compares it.

**Exclusion** is about `valid()`: at no instant is it true for two holders of an exclusive lock. It is counted on the client's
own clock from before the request was sent, less a margin, so it ends before the store lets the next one in. It says nothing of
a write that is on its way already: an old holder's packet can arrive late, on every store. That is what **tokens** are for: a
later grant has a larger one, and a resource that *seals, then reads, then writes* ([fencing](fencing.md)) refuses the older. With
tokens nothing is lost or mixed up under any pause, delay or partition, as long as tokens rise.

Nobody can promise exclusion without tokens to processes that may be paused: a lease can end while its holder sleeps. `valid()`
is false then before the next instruction, but the instruction before it has been carried out.

Never promised: order of waiters across a failover, side effects exactly once, to notice a loss before `valid()` ends, and
exclusion after `mortise break` (the next token is larger, so sealed resources stay safe).

A store that always asks a majority needs no more than its own promise. For one that copies to replicas later, Redis, a claim can
wait for them: `durability::wait(k)`, or `wait=k` in the address. The grant, and each renewal, counts only once k replicas have it.
)";

std::string list_of(const std::vector<std::string>& sentences) {
    std::string text;
    for (const std::string& one : sentences) text += "- " + one + "\n";
    return text;
}

std::string section(const std::string& mode) {
    const mortise::client locks{mode};
    const mortise::promises& can = locks.promises();
    EXPECT_FALSE(can.exclusion.empty() || can.fencing.empty() || can.freed.empty() || can.ends.empty())
        << mode << " does not say what it promises";
    std::string text = "\n## " + can.store + "\n\n`" + mode + "`, for " + can.reach + ".\n\n";
    text += "| | |\n|---|---|\n";
    text += "| exclusion | " + can.exclusion + " |\n";
    text += "| with tokens | " + (can.tokens ? can.fencing : std::string("No tokens.")) + " |\n";
    text += "| free after the holder's death | " + can.freed + " |\n";
    text += std::string("| order | ") + (can.fifo ? "First come, first served." : "Any.") + " |\n";
    if (!can.assumes.empty()) text += "\nIt rests on:\n\n" + list_of(can.assumes);
    text += "\nExclusion ends when:\n\n" + list_of(can.ends);
    return text;
}

TEST(guarantees, say_what_the_stores_say) {
    std::string wanted = introduction;
    std::istringstream modes{MORTISE_MODES};
    for (std::string mode; std::getline(modes, mode);) wanted += section(mode);
    if (std::getenv("MORTISE_WRITE_DOCS") != nullptr) std::ofstream{page} << wanted;
    std::ifstream file{page};
    const std::string found{std::istreambuf_iterator<char>{file}, {}};
    EXPECT_EQ(found, wanted) << "make docs writes it anew";
}

}  // namespace
