// What an operator sees and does from outside: who holds what, and to take it away.
#pragma once

#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::inline v0::stores::etcd {

class admin : public std::enable_shared_from_this<admin> {
public:
    admin(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table)
        : parts_(std::move(parts)), table_(std::move(table)) {}

    void list(spi::reply<spi::listing> done);
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done);

private:
    struct survey;

    void break_as_read(const std::string& name, std::uint64_t counter, bool again, spi::reply<spi::break_answer> done);

    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
};

}  // namespace mortise::inline v0::stores::etcd
