// What a ledger's blocks hold: names in buckets, their claims in lists, free blocks, and ids that ended recently.
#pragma once

#include "stores/host/ledger.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <type_traits>

namespace mortise::inline v0::stores::host {

// Exclusive access to a ledger while it lives. Changes since the last commit() are undone at its end, as if the process had been
// killed. Throws as ledger_lock::take does. A process without a slot borrows the one for readers.
//
// One class because what is changed through it is committed or undone as a whole.
class ledger_access {
public:
    explicit ledger_access(ledger& of, std::chrono::milliseconds at_most = ledger_patience);
    ~ledger_access();
    ledger_access(const ledger_access&) = delete;
    ledger_access& operator=(const ledger_access&) = delete;

    const ledger_file& file() const noexcept { return file_; }

    name_block& name(block_number n) noexcept;
    claim_block& claim(block_number n) noexcept;
    const claim_block* claim_at(block_number n) const noexcept;  // null: there is none

    // The neighbours in a list of claims; 0 at its ends.
    block_number first(const claim_list& of) noexcept;
    block_number last(const claim_list& of) noexcept;
    block_number after(block_number claim) noexcept;
    block_number before(block_number claim) noexcept;

    // Whether its client closed without ending it (ledger::abandon).
    bool abandoned(block_number claim) noexcept;

    // Whether everything found so far was consistent. The second throws errc::unreachable if not.
    bool sound() const noexcept;
    void must_be_sound() const;

    // The only way to change a word of a block that is in use.
    template <class Word>
    void set(Word& word, std::type_identity_t<Word> value) noexcept;
    void commit() noexcept;
    // Ends the word of a holder with the commit that removes it. Not before: what is undone must leave the word as it was, since
    // its owner may be inside. So only a death can come between the two, and who finds that carries it through.
    void end_with_commit(spi::grant_word& word, const claim_id& id) noexcept;
    // Commits if the journal is getting full. Only where the state is consistent.
    void commit_if_full() noexcept;

    // A fresh block: what is written to it before it is linked in needs no journal. Throws errc::exhausted if the disk is
    // full.
    block_number allocate(std::uint32_t kind);
    void free(block_number n) noexcept;

    // `hint`: where a claim on it may be, or may have been.
    block_number find(std::string_view text, block_number hint) noexcept;
    block_number find(std::string_view name) noexcept;
    block_number add(std::string_view name);
    void remove(block_number name) noexcept;  // it has no claims any more

    void append(claim_list& to, block_number claim) noexcept;
    void prepend(claim_list& to, block_number claim) noexcept;
    void unlink(claim_list& from, block_number claim) noexcept;

    void each(const std::function<void(block_number name)>& visit);
    // Those of whole buckets, from this one on, until there are so many: the bucket after these, or bucket_count.
    std::uint32_t each_of_some(std::uint32_t bucket, std::size_t so_many,
                               const std::function<void(block_number name)>& visit);

    // Ids that ended recently. Each has one place, which the next id that hashes there overwrites.
    base::ended_claim& last_end(const claim_id& id) noexcept;
    void remember(const base::ended_claim& old) noexcept;

    // The highest token counter of any name.
    std::uint64_t last_counter() const noexcept;
    void raise_counter(std::uint64_t to) noexcept;

private:
    void broken() noexcept;
    void end_word() noexcept;

    ledger& of_;
    ledger_file& file_;
    std::unique_lock<std::mutex> threads_;
    bool reading_ = false;
    bool freed_ = false;  // since the last commit
    spi::grant_word* ending_ = nullptr;
    claim_id ending_id_{};
};

inline name_block& ledger_access::name(block_number n) noexcept {
    block_head* found = file_.block(n);
    if (found->kind != block_head::name) broken(), found = file_.block(0);
    return *static_cast<name_block*>(found);
}
inline claim_block& ledger_access::claim(block_number n) noexcept {
    block_head* found = file_.block(n);
    if (found->kind != block_head::claim) broken(), found = file_.block(0);
    return *static_cast<claim_block*>(found);
}
template <class Word>
void ledger_access::set(Word& word, std::type_identity_t<Word> value) noexcept {
    static_assert(sizeof(Word) == 4 || sizeof(Word) == 8);
    file_.note(&word, sizeof word);
    word = value;
}

}  // namespace mortise::inline v0::stores::host
