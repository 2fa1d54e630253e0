// Carries out what the table of claims decides (bound_table.hpp), on the client's connections (bound_sessions.hpp).
#pragma once

#include "net/poller.hpp"
#include "stores/mysql/bound_sessions.hpp"
#include "stores/mysql/bound_table.hpp"
#include "stores/mysql/settings.hpp"
#include "stores/sql/pending_replies.hpp"
#include "stores/sql/reading_callers.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::mysql {

class bound_claims : public std::enable_shared_from_this<bound_claims> {
public:
    bound_claims(const settings& settings, const spi::context& context, spi::duration longest_lease);

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done);
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done);
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done);
    void list(spi::reply<spi::listing> done);
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done);
    bound_sessions& sessions() { return *sessions_; }

    sql::reading_callers& callers() { return callers_; }
    void close() noexcept;

private:
    void run(bound_table::actions todo);
    void run(bound_table::action& one);
    void look(const bound_table::action& one);
    void tick_later();
    // What happens next to a claim, once a statement was answered.
    template <class Event>
    void then(Event event);

    const settings settings_;
    const spi::context context_;
    net::poller sockets_{context_.clock};
    std::atomic<bool> closed_{false};

    std::mutex mutex_;
    bound_table table_;
    sql::pending_replies replies_;
    bool ticking_ = false;

    sql::reading_callers callers_;
    std::shared_ptr<bound_sessions> sessions_;
};

}  // namespace mortise::inline v0::stores::mysql
