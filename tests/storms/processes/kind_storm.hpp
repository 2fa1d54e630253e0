// Storms of one kind: four processes of four threads, which are killed now and then, and a page that shows who is inside.
//
//     class X : public kind_storm {};
//     EVERY_STORE_OF_PROCESSES(X);
//     TEST_P(X, ...) { run<shared_mutex_user>("shared_mutex", at_length(1'000'000)); expect_clean_end(); }
#pragma once

#include "storms/processes/claim_notes.hpp"
#include "storms/processes/kind_page.hpp"
#include "storms/processes/kind_users.hpp"
#include "storms/processes/storm.hpp"
#include "support/shared_page.hpp"

#include <mortise/spi/client.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mortise::testing {

class kind_storm : public ::testing::TestWithParam<ground> {
protected:
    using doing = kind_page::doing;

    // The whole length is for `make storms`; a tenth of it is enough for every day.
    static std::uint64_t at_length(std::uint64_t operations) {
        return GetParam().entries(in_full() ? operations : operations / 10);
    }

    // What is to stand before the store in each process; and whether each writes down its claims.
    using wrapping = std::function<spi::store_factory(spi::store_factory)>;
    wrapping wrap_;
    bool noted_ = false;

    // One life of a process. It ends by itself if the storm hangs.
    template <class User>
    void hire(std::size_t process) {
        const std::uint64_t life = ++lives_[process];
        crew_[process] = child{[&, process, life] {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::alarm(280);
            const auto notes = std::make_shared<claim_notes>();
            client locks = connect(notes);
            const census_answer answers{locks, page_->census, census()};
            std::vector<std::thread> threads;
            for (std::size_t i = 0; i < kind_page::threads; ++i)
                threads.emplace_back([&, i] {
                    const std::size_t lane = process * kind_page::threads + i;
                    try {
                        User me{locks, page_lane{*page_, lane, life}, static_cast<unsigned>(life * 64 + lane + 1)};
                        while (!page_->over) me.turn();
                    } catch (const std::exception& e) {
                        page_->complain(e.what());
                    }
                });
            for (std::thread& one : threads) one.join();
            if (noted_) notes->save(notes_of(process));
            return 0;
        }};
    }
    client connect(const std::shared_ptr<claim_notes>& notes) const {
        client_options options{.label = "storm"};
        if (GetParam().by_lease()) options.lease = GetParam().lease();
        if (!wrap_ && !noted_) return client{url_, options};
        spi::store_factory made = spi::factory_of(url_);
        if (wrap_) made = wrap_(std::move(made));
        if (noted_)
            made = [inner = std::move(made), notes](const spi::context& outer) {
                return std::make_unique<noted_store>(outer, inner, notes);
            };
        return spi::make_client(made, {}, options);
    }
    template <class Wrapper>
    static wrapping by() {
        return [](spi::store_factory inner) -> spi::store_factory {
            return [inner = std::move(inner)](const spi::context& outer) {
                return std::make_unique<Wrapper>(outer, inner);
            };
        };
    }

    std::string notes_of(std::size_t process) const { return scratch_ / std::to_string(process); }
    std::string census() const { return scratch_ / "census"; }
    // After all have left.
    queue_verdict order_of_claims(in_order which) const {
        std::vector<queued_claim> claims;
        for (std::size_t p = 0; p < kind_page::processes; ++p) claim_notes::load(notes_of(p), claims);
        const queue_verdict found = check_order(std::move(claims), which);
        std::cout << "order: claims=" << found.claims << " contested=" << found.contested
                  << " inversions=" << found.inversions.size() << "\n";
        return found;
    }

    // Until so many operations are done. Somebody is killed every few milliseconds, by turns while it waits, while it is inside
    // and while it upgrades; then everybody else must get in, also those who can be beside nobody.
    template <class User>
    void run(const char* which, std::uint64_t quota, bool kill = true) {
        User::set(*page_);
        if (kill && GetParam().by_lease()) page_->linger = 2ms;
        for (std::size_t p = 0; p < kind_page::processes; ++p) hire<User>(p);
        EXPECT_TRUE(everybody_moves()) << "before the storm";
        const auto begun = steady_clock::now();
        const std::uint64_t first = page_->operations();
        const auto done = [&] { return page_->operations() - first >= quota; };
        // Where a death costs seconds, there is work to be done between two of them.
        const bool by_lease = GetParam().by_lease();
        const std::uint64_t least = by_lease ? GetParam().deaths(400) : 30;
        const unsigned pause = by_lease ? 1'000'000 : 40'000;
        const auto enough = [&] { return kills_ >= least && (by_lease || done()); };
        while (kill && !enough() && !HasFailure() && steady_clock::now() - begun < 200s) {
            std::this_thread::sleep_for(std::chrono::microseconds{dice_() % pause});
            kill_one<User>();
        }
        EXPECT_TRUE(eventually(done, 200s)) << "only " << page_->operations() << " operations";
        EXPECT_TRUE(everybody_moves()) << "after the storm";
        const double seconds = seconds_since(begun);
        if (!wrap_) expect_no_orphans();
        leave();
        if (kills_ >= 200) {
            EXPECT_FALSE(waits_.empty()) << "nobody died holding anything";
        }
        std::sort(waits_.begin(), waits_.end());
        std::cout << "storm=" << which << " store=" << GetParam().name << " processes=" << kind_page::processes
                  << " threads=" << kind_page::threads << " operations=" << page_->operations()
                  << " overlaps=" << page_->overlaps << " token_disorders=" << page_->disorders
                  << " stuck=" << page_->stuck << " kills=" << kills_ << " died_holding=" << waits_.size()
                  << " next_full_entry_ms_median=" << (waits_.empty() ? 0 : waits_[waits_.size() / 2])
                  << " max=" << (waits_.empty() ? 0 : waits_.back()) << " short_waits=" << page_->short_waits
                  << " beside=" << page_->beside << " unseen=" << page_->unseen << " seconds=" << seconds << "\n";
    }

    // Whether every claim in the store is one that a process admits to, or will be gone soon.
    audit_verdict audited() const {
        const ground& where = GetParam();
        if (where.fixture == nullptr) return {};
        std::vector<pid_t> answering;
        for (const child& one : crew_)
            if (one.pid() > 0) answering.push_back(one.pid());
        return audit(
            where.lease() + (where.by_lease() ? 8s : 2s), [&] { return where.fixture->records_at(url_); },
            [&] { return take_census(page_->census, census(), answering); });
    }
    void expect_no_orphans() const {
        const audit_verdict found = audited();
        EXPECT_TRUE(found.innocent()) << found.describe();
    }

    void leave() {
        page_->over = true;
        for (std::size_t p = 0; p < kind_page::processes; ++p)
            if (lives_[p] != 0) {
                EXPECT_EQ(crew_[p].wait(90s), 0) << "process " << p;
            }
    }

    // Nothing is left, and nothing was wrong.
    void expect_clean_end() {
        EXPECT_EQ(page_->overlaps, 0u);
        EXPECT_EQ(page_->disorders, 0u);
        EXPECT_EQ(page_->stuck, 0u);
        EXPECT_EQ(page_->errors, 0u) << page_->last_error;
        EXPECT_LT(page_->unseen, page_->operations() / 2) << "too many entries could not be judged";
        {
            client last{url_};
            for (const held_lock& one : last.list()) ADD_FAILURE() << one.name << " is still held";
        }
        if (GetParam().fixture == nullptr) return;
        const auto left = GetParam().fixture->remains_at(url_);
        EXPECT_TRUE(left.clean) << left.figures;
    }

    bool everybody_moves() {
        std::array<std::uint64_t, kind_page::lanes> before{};
        for (std::size_t i = 0; i < before.size(); ++i) before[i] = page_->all[i].operations;
        return eventually(
            [&] {
                for (std::size_t i = 0; i < before.size(); ++i)
                    if (page_->all[i].operations == before[i]) return false;
                return true;
            },
            60s);
    }

    // Whoever does `what`, if anybody is seen to; else anybody.
    std::size_t somebody(doing what) {
        const std::size_t first = dice_() % kind_page::lanes;
        const auto seen_until = steady_clock::now() + (GetParam().by_lease() ? 200ms : 0ms);
        for (int spin = 0; spin < 1000 || steady_clock::now() < seen_until; ++spin)
            for (std::size_t i = 0; i < kind_page::lanes; ++i)
                if (const std::size_t lane = (first + i) % kind_page::lanes; page_->all[lane].is == what)
                    return lane / kind_page::threads;
        return first / kind_page::threads;
    }

    template <class User>
    void kill_one() {
        constexpr std::array ways{doing::inside, doing::asking, doing::upgrading};
        const std::size_t process = somebody(ways[kills_++ % ways.size()]);
        page_->doomed[process] = lives_[process];
        crew_[process].kill();
        const auto killed_at = steady_clock::now();
        const std::uint64_t before = page_->full_entries();
        const bool holding = page_->died_holding(process, lives_[process]);
        // Entries that nobody may be beside, of all that it held.
        EXPECT_TRUE(eventually([&] { return page_->full_entries() >= before + kind_page::names; }, 60s))
            << "nobody gets in after process " << process << " was killed";
        if (holding) waits_.push_back(ms(steady_clock::now() - killed_at));
        hire<User>(process);
    }

    std::string url_ = GetParam().fresh_url();
    const scratch_directory scratch_;
    const shared_page<kind_page> page_;
    std::array<child, kind_page::processes> crew_{child::none(), child::none(), child::none(), child::none()};
    std::array<std::uint64_t, kind_page::processes> lives_{};
    std::uint64_t kills_ = 0;
    std::vector<double> waits_;
    std::minstd_rand dice_{20240229};
};

}  // namespace mortise::testing
