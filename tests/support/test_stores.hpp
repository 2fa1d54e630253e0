// Stores that can do less than any of ours, so that the conformance suite takes nothing for granted:
//
//   polling     answers `busy` instead of queueing, pushes nothing and keeps no order
//   tokenless   has no fencing tokens
//   listless    cannot say who holds what
//
// Each is memory: with something taken away.
#pragma once

#include "support/polling_store.hpp"
#include "support/tokenless_store.hpp"

#include <mortise/client.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/fixture.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::testing {

// A fixture whose addresses lead to another store, in front of which stands the one under test. An address alone therefore
// does not open it: client{url} would meet the store behind.
class wrapped_fixture final : public spi::fixture {
public:
    using wrapper = std::function<spi::store_factory(spi::store_factory)>;

    wrapped_fixture(std::string_view name, std::unique_ptr<spi::fixture> inner, wrapper wrap)
        : name_(name), inner_(std::move(inner)), wrap_(std::move(wrap)) {}

    spi::store_factory store_at(const std::string& url) const { return wrap_(spi::factory_of(url)); }

    std::string_view store() const noexcept override { return name_; }
    std::string fresh_url() override { return inner_->fresh_url(); }
    std::string reason_against(std::string_view kind) const override { return inner_->reason_against(kind); }
    bool spans_processes() const noexcept override { return inner_->spans_processes(); }
    remains remains_at(const std::string& url) const override { return inner_->remains_at(url); }
    std::vector<spi::stored_claim> records_at(const std::string& url) const override { return inner_->records_at(url); }

private:
    const std::string_view name_;
    std::unique_ptr<spi::fixture> inner_;
    wrapper wrap_;
};

// One of each of the above.
inline spi::fixtures wrapped_fixtures() {
    const std::pair<std::string_view, wrapped_fixture::wrapper> all[] = {
        {"polling", [](const auto& inner) { return polling(inner, std::make_shared<polling_log>()); }},
        {"tokenless", [](const auto& inner) { return tokenless(inner); }},
        {"listless", [](const auto& inner) { return modest(inner, [](mortise::promises& p) { p.lists = false; }); }},
    };
    spi::fixtures made;
    for (const auto& [name, wrap] : all)
        for (auto& plain : spi::plain_fixtures())
            if (plain->store() == "memory")
                made.push_back(std::make_unique<wrapped_fixture>(name, std::move(plain), wrap));
    return made;
}

inline bool is_wrapped(const spi::fixture& one) {
    return dynamic_cast<const wrapped_fixture*>(&one) != nullptr;
}

// What stands at an address of a fixture, wrapped or not.
inline spi::store_factory store_at(const spi::fixture& of, const std::string& url) {
    const auto* wrapped = dynamic_cast<const wrapped_fixture*>(&of);
    return wrapped != nullptr ? wrapped->store_at(url) : spi::factory_of(url);
}
inline client client_at(const spi::fixture& of, const std::string& url, client_options options = {}) {
    if (!is_wrapped(of)) return client{url, std::move(options)};
    return spi::make_client(store_at(of, url), {}, std::move(options));
}

}  // namespace mortise::testing
