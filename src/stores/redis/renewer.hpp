// Renews holds in batches: one script for those that one server keeps.
#pragma once

#include "base/renewal_replies.hpp"
#include "stores/redis/router.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::redis {

class renewer {
public:
    struct protocol {
        std::function<std::string(std::string_view name)> key_of;
        // Answered with a letter each, 1 if it is renewed.
        std::function<script_call(std::span<const renewal_item>)> call;
    };
    // `replicas_of`: how many replicas have to confirm a claim.
    renewer(protocol how, const settings& config, std::shared_ptr<router> servers, spi::clock& clock,
            std::function<unsigned(const claim_id&)> replicas_of);

    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done);

private:
    // Claims that one script renews, and their places in the request.
    struct batch {
        std::vector<renewal_item> items;
        std::vector<std::size_t> places;
    };
    void send(batch some, unsigned replicas, const std::shared_ptr<base::renewal_replies>& replies);

    const protocol protocol_;
    const settings settings_;
    const std::shared_ptr<router> servers_;
    spi::clock& clock_;
    const std::function<unsigned(const claim_id&)> replicas_of_;
};

}  // namespace mortise::inline v0::stores::redis
