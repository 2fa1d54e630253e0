// The members of a cluster, as one thing to ask: bytes in, bytes out.
#pragma once

#include "stores/etcd/rpc_result.hpp"
#include "stores/etcd/settings.hpp"
#include "stores/etcd/stream.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mortise::inline v0::stores::etcd {

// One member is asked until it fails; then the next. Passwords become tokens, and are sent again when these are no longer
// accepted. Replies and what streams hear come from whichever thread reads, also before ask() returns, with no lock held; none
// comes after close().
class members {
public:
    using answered = unique_function<void(const rpc_result&, const std::string& bytes)>;

    static std::shared_ptr<members> of(const settings& how, spi::clock& clock);
    virtual ~members();

    virtual void ask(const char* method, std::string request, spi::duration timeout, answered done) = 0;
    // The same for what crowds ask. Few of these are on their way at a time, since a member that is asked more than it can
    // answer in time answers nobody; the others wait here. The request is made when it is sent, and its timeout begins then.
    // None: it is not wanted any more, and the rpc_result is `cancelled`.
    using made_late = unique_function<std::optional<std::string>()>;
    virtual void ask_in_turn(const char* method, made_late request, spi::duration timeout, answered done) = 0;
    // For what changes nothing: if one does not answer, the next is asked.
    virtual void look_up(const char* method, std::string request, spi::duration timeout, answered done) = 0;
    // A certain one, for what is not the cluster's affair.
    virtual void ask_one(std::size_t member, const char* method, std::string request, spi::duration timeout,
                         answered done) = 0;
    virtual std::shared_ptr<stream> open(const char* method, stream::listener hears) = 0;
    // The one a stream was opened to does not answer: the next is tried. All streams to it end.
    virtual void give_up(const stream& silent) = 0;

    virtual std::size_t count() const = 0;
    virtual const std::string& address_of(std::size_t member) const = 0;

    // A caller that blocks reads for all meanwhile; see net/channel.hpp.
    virtual void wait(spi::sleeper& caller) = 0;
    virtual void serve(std::chrono::milliseconds at_most, const std::function<bool()>& enough) = 0;
    virtual void nudge(const spi::sleeper& caller) noexcept = 0;

    // Runs `what` as if it were a reply: not after close(), which waits for it.
    virtual void guarded(unique_function<void()> what) = 0;
    virtual void close() noexcept = 0;
};

}  // namespace mortise::inline v0::stores::etcd
