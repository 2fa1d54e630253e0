// The numbers are those of etcd's rpc.proto and kv.proto.
#include "stores/etcd/rpc.hpp"

#include "stores/etcd/wire.hpp"

namespace mortise::inline v0::stores::etcd::rpc {
namespace {

// ---- asked

void write(const range_request& one, wire_writer& to) {
    constexpr int create_revision = 2;
    to.bytes(1, one.key).bytes(2, one.range_end).number(3, one.limit);
    if (one.by_creation != any_order) to.number(5, one.by_creation).number(6, create_revision);
    to.number(7, one.of_this_member ? 1 : 0).number(13, one.max_create_revision);
}

void write(const put_request& one, wire_writer& to) {
    to.bytes(1, one.key).bytes(2, one.value).number(3, one.lease);
    if (one.only_touch) to.number(5, 1).number(6, 1);
}

void write(const delete_request& one, wire_writer& to) {
    to.bytes(1, one.key).bytes(2, one.range_end).number(3, one.prev_kv ? 1 : 0);
}

void write(const compare& one, wire_writer& to) {
    to.number(1, one.result).number(2, one.target).bytes(3, one.key);
    if (one.target == compare::value) {
        to.message(7, one.text);
    } else {
        to.number_even_zero(one.target == compare::create_revision ? 5 : 6, one.revision);
    }
    to.bytes(64, one.range_end);
}

void write(const operation& one, wire_writer& to) {
    // Their order in the variant is that of their numbers.
    const auto which = static_cast<unsigned>(one.index()) + 1;
    std::visit([&](const auto& asked) { to.inside(which, [&](wire_writer& in) { write(asked, in); }); }, one);
}

void write(const txn_request& one, wire_writer& to) {
    const auto all = [&](unsigned field, const auto& some) {
        for (const auto& each : some) to.inside(field, [&](wire_writer& in) { write(each, in); });
    };
    all(1, one.compares);
    all(2, one.success);
    all(3, one.failure);
}

template <class Request>
std::string written(const Request& one) {
    wire_writer all;
    write(one, all);
    return all.take();
}

// ---- answered

std::int64_t revision_in(std::string_view header) {
    std::int64_t revision = 0;
    for (wire_reader in{header}; in.next();)
        if (in.field() == 3) revision = in.number();
    return revision;
}

bool decode(std::string_view bytes, key_value& into) {
    wire_reader in{bytes};
    while (in.next()) switch (in.field()) {
            case 1:
                into.key = in.bytes();
                break;
            case 2:
                into.create_revision = in.number();
                break;
            case 3:
                into.mod_revision = in.number();
                break;
            case 5:
                into.value = in.bytes();
                break;
            case 6:
                into.lease = in.number();
                break;
            default:
                break;
        }
    return in.good();
}

bool decode(std::string_view bytes, event& into) {
    wire_reader in{bytes};
    bool good = true;
    while (good && in.next()) {
        if (in.field() == 1) into.deleted = in.number() == 1;
        if (in.field() == 2) good = decode(in.bytes(), into.kv);
    }
    return good && in.good();
}

bool decode(std::string_view bytes, result& into) {
    wire_reader in{bytes};
    bool good = true;
    while (good && in.next()) {
        if (in.field() == 1) good = rpc::decode(in.bytes(), into.emplace<range_response>());
        if (in.field() == 2) into.emplace<put_response>();
        if (in.field() == 3) good = rpc::decode(in.bytes(), into.emplace<delete_response>());
    }
    return good && in.good();
}

}  // namespace

std::string encoded(const range_request& one) {
    return written(one);
}
std::string encoded(const put_request& one) {
    return written(one);
}
std::string encoded(const delete_request& one) {
    return written(one);
}
std::string encoded(const txn_request& one) {
    return written(one);
}
std::string encoded(const watch_create& one) {
    wire_writer create;
    create.bytes(1, one.key).bytes(2, one.range_end).number(3, one.start_revision);
    if (one.no_puts) create.number_even_zero(5, 0);
    if (one.no_deletes) create.number(5, 1);
    return wire_writer{}.message(1, create.number(7, one.watch_id).take()).take();
}
std::string encoded(const watch_cancel& one) {
    return wire_writer{}.message(2, wire_writer{}.number(1, one.watch_id).take()).take();
}
std::string encoded(const lease_grant_request& one) {
    return wire_writer{}.number(1, one.ttl).number(2, one.id).take();
}
std::string encoded(const lease_id& one) {
    return wire_writer{}.number(1, one.id).take();
}
std::string encoded(const credentials& one) {
    return wire_writer{}.bytes(1, one.name).bytes(2, one.password).take();
}

bool decode(std::string_view bytes, range_response& into) {
    wire_reader in{bytes};
    bool good = true;
    while (good && in.next()) {
        if (in.field() == 1) into.revision = revision_in(in.bytes());
        if (in.field() == 2) good = decode(in.bytes(), into.kvs.emplace_back());
        if (in.field() == 3) into.more = in.number() != 0;
    }
    return good && in.good();
}

bool decode(std::string_view bytes, delete_response& into) {
    wire_reader in{bytes};
    bool good = true;
    while (good && in.next()) {
        if (in.field() == 2) into.deleted = in.number();
        if (in.field() == 3) good = decode(in.bytes(), into.prev_kvs.emplace_back());
    }
    return good && in.good();
}

bool decode(std::string_view bytes, txn_response& into) {
    wire_reader in{bytes};
    bool good = true;
    while (good && in.next()) {
        if (in.field() == 1) into.revision = revision_in(in.bytes());
        if (in.field() == 2) into.succeeded = in.number() != 0;
        if (in.field() == 3) good = decode(in.bytes(), into.responses.emplace_back());
    }
    return good && in.good();
}

bool decode(std::string_view bytes, watch_response& into) {
    wire_reader in{bytes};
    bool good = true;
    while (good && in.next()) switch (in.field()) {
            case 1:
                into.revision = revision_in(in.bytes());
                break;
            case 2:
                into.watch_id = in.number();
                break;
            case 3:
                into.created = in.number() != 0;
                break;
            case 4:
                into.canceled = in.number() != 0;
                break;
            case 5:
                into.compact_revision = in.number();
                break;
            case 11:
                good = decode(in.bytes(), into.events.emplace_back());
                break;
            default:
                break;
        }
    return good && in.good();
}

bool decode(std::string_view bytes, lease_response& into) {
    wire_reader in{bytes};
    while (in.next()) {
        if (in.field() == 2) into.id = in.number();
        if (in.field() == 3) into.ttl = in.number();
        if (in.field() == 4) into.granted_ttl = in.number();
    }
    return in.good();
}

bool decode(std::string_view bytes, admission& into) {
    wire_reader in{bytes};
    while (in.next())
        if (in.field() == 2) into.token = in.bytes();
    return in.good();
}

bool decode(std::string_view bytes, status_response& into) {
    wire_reader in{bytes};
    while (in.next()) {
        if (in.field() == 2) into.version = in.bytes();
        if (in.field() == 4) into.leader = static_cast<std::uint64_t>(in.number());
        if (in.field() == 8) into.errors.emplace_back(in.bytes());
        if (in.field() == 10) into.learner = in.number() != 0;
    }
    return in.good();
}

}  // namespace mortise::inline v0::stores::etcd::rpc
