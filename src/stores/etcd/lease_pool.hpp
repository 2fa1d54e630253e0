// The leases of a client, and the one stream that keeps them alive. Locks borrow them.
#pragma once

#include "stores/etcd/members.hpp"
#include "stores/etcd/reopening_stream.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// A lease as etcd keeps it. Its members are guarded by the book it is in; ask that.
struct lease {
    std::int64_t id = 0;
    bool shared = false;  // by all claims with the same time
    bool kept = false;    // alive until told otherwise: kept so without being asked
    bool gone = false;
    spi::duration life{};      // as etcd gave it
    spi::time_point proven{};  // an instant, before a request was sent, at which its time began anew
    unsigned failures = 0;     // keepalives without an answer
};

// Claims that are renewed share one lease for each length of time. A claim that is not, or outlives its process, has one
// to itself, whose number follows from the claim's id. From any thread.
class lease_pool final : public std::enable_shared_from_this<lease_pool>, public stream_user {
public:
    enum class answer { alive, gone, unknown };

    struct terms {
        spi::duration life;
        spi::time_point proven;
    };
    using got = unique_function<void(const rpc_result&, const std::shared_ptr<lease>&)>;
    using kept = unique_function<void(answer)>;

    // `gone` is told of each lease that etcd no longer knows, once.
    lease_pool(std::shared_ptr<members> cluster, spi::clock& clock, spi::duration timeout,
               unique_function<void(const std::shared_ptr<lease>&)> gone);

    void share(spi::duration life, got then);
    void own(std::int64_t id, spi::duration life, got then);

    // Its time begins anew, from before this call's request on.
    void keep(const std::shared_ptr<lease>& which, kept then);
    // Whether that goes on by itself.
    void keep_on(const std::shared_ptr<lease>& which, bool whether);

    terms terms_of(const lease& which) const;
    // It is known from elsewhere that etcd does not have it any more.
    void forget(const std::shared_ptr<lease>& which);

    // It is given to nobody else from now on. True: it was, until now.
    bool retire(const std::shared_ptr<lease>& which);

    // All keys on it vanish.
    void revoke(std::int64_t id, unique_function<void(const rpc_result&)> then);
    std::vector<std::shared_ptr<lease>> all_shared() const;

    // Whoever is still owed an answer gets none, and is let go of.
    void close() noexcept;

private:
    struct question {
        std::shared_ptr<lease> of;
        spi::time_point sent;
        std::uint64_t number;
        kept then;
    };
    struct pending {
        std::shared_ptr<lease> is;
        std::vector<got> waiting;
    };

    void granted(const std::shared_ptr<lease>& made, const rpc_result& reply, const std::string& bytes,
                 spi::time_point sent, got then);
    void opened(stream& fresh, const lock& held) override;
    void heard(const std::string& message) override;
    void ended(lock held) override;
    void overdue(std::uint64_t question);
    void next_round(const std::shared_ptr<lease>& which);

    const std::shared_ptr<members> cluster_;
    spi::clock& clock_;
    const spi::duration timeout_;
    unique_function<void(const std::shared_ptr<lease>&)> gone_;

    mutable std::mutex mutex_;
    std::map<spi::duration, pending> shared_;
    std::vector<std::weak_ptr<lease>> retired_;               // shared, once
    std::map<std::int64_t, std::deque<question>> questions_;  // by lease, in the order they were sent
    reopening_stream stream_;
    bool closed_ = false;
    std::uint64_t question_number_ = 0;
};

}  // namespace mortise::inline v0::stores::etcd
