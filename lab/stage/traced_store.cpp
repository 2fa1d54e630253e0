#include "lab/stage/traced_store.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace lab {
namespace {

namespace spi = mortise::spi;

text with_token(const spi::grant& given) {
    if (given.counter == 0) return {"granted", "已授予"};
    const std::string number = std::to_string(given.counter);
    return {"granted, token " + number, "已授予，令牌 " + number};
}

text outcome_of(const spi::claim_answer& answer) {
    switch (answer.is) {
        case spi::claim_answer::verdict::granted:
            return with_token(answer.grant);
        case spi::claim_answer::verdict::queued:
            return {"waits in line", "排队等待"};
        case spi::claim_answer::verdict::busy:
            return {"busy", "被占用"};
        case spi::claim_answer::verdict::refused:
            return {"refused", "被拒绝"};
        case spi::claim_answer::verdict::unknown:
            break;
    }
    return {"no answer", "没有答复"};
}

text outcome_of(spi::release_answer answer) {
    switch (answer) {
        case spi::release_answer::released:
            return {"released", "已释放"};
        case spi::release_answer::expired:
            return {"had expired", "早已过期"};
        case spi::release_answer::taken_over:
            return {"is somebody else's by now", "已属于别人"};
        case spi::release_answer::unknown:
            break;
    }
    return {"no answer", "没有答复"};
}

text outcome_of(const std::vector<spi::renewal_answer>& answers) {
    using enum spi::renewal_answer;
    if (std::ranges::find(answers, lost) != answers.end()) return {"lost", "已丢失"};
    if (std::ranges::find(answers, unknown) != answers.end()) return {"no answer", "没有答复"};
    return {"renewed", "已续期"};
}

text said(const std::string& request, const text& answer) {
    return {request + " → " + answer.en, request + " → " + answer.zh};
}

}  // namespace

traced_store::traced_store(const spi::context& outer, const spi::store_factory& inner, listener told)
    : store_wrapper(outer, inner), told_(std::move(told)) {}

void traced_store::claim(const spi::claim_request& request, spi::reply<spi::claim_answer> reply) {
    told_.requests(+1);
    store_wrapper::claim(
        request, [this, name = std::string(request.name), reply = std::move(reply)](spi::claim_answer answer) mutable {
            told_.asked(said("claim " + name, outcome_of(answer)));
            const bool waits = answer.is == spi::claim_answer::verdict::queued;
            if (answer.is == spi::claim_answer::verdict::granted) told_.granted(answer.grant.counter);
            reply(std::move(answer));
            if (waits) told_.waits();
            told_.requests(-1);
        });
}

void traced_store::renew(std::span<const spi::renewal> renewals, spi::reply<std::vector<spi::renewal_answer>> reply) {
    std::string names;
    for (const spi::renewal& each : renewals) names += " " + std::string(each.name);
    told_.requests(+1);
    store_wrapper::renew(renewals, [this, names = std::move(names),
                                    reply = std::move(reply)](std::vector<spi::renewal_answer> answers) mutable {
        told_.asked(said("renew" + names, outcome_of(answers)));
        reply(std::move(answers));
        told_.requests(-1);
    });
}

void traced_store::release(std::string_view name, const mortise::claim_id& id, spi::reply<spi::release_answer> reply) {
    store_wrapper::release(name, id, [this, name = std::string(name), reply = std::move(reply)](auto answer) mutable {
        told_.asked(said("release " + name, outcome_of(answer)));
        reply(answer);
    });
}

void traced_store::granted(std::string_view name, const mortise::claim_id& id, const spi::grant& given) {
    told_.asked(said("push " + std::string(name), with_token(given)));
    told_.granted(given.counter);
    store_wrapper::granted(name, id, given);
}

}  // namespace lab
