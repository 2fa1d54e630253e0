// The numbers are those of etcd's rpc.proto and kv.proto.
#include "stores/etcd/rpc.hpp"

#include "stores/etcd/wire.hpp"

namespace mortise::inline v0::stores::etcd::rpc {
namespace {

std::string encoded(const compare& one) {
    wire_writer all;
    all.number(1, one.result).number(2, one.target).bytes(3, one.key);
    if (one.target == compare::value) {
        all.message(7, one.text);
    } else {
        all.number_even_zero(one.target == compare::create_revision ? 5 : 6, one.revision);
    }
    return all.bytes(64, one.range_end).take();
}

std::string encoded(const operation& one) {
    // Their order in the variant is that of their numbers.
    const auto which = static_cast<unsigned>(one.index()) + 1;
    return wire_writer{}.message(which, std::visit([](const auto& asked) { return rpc::encoded(asked); }, one)).take();
}

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
    constexpr int create_revision = 2;
    wire_writer all;
    all.bytes(1, one.key).bytes(2, one.range_end).number(3, one.limit);
    if (one.by_creation != any_order) all.number(5, one.by_creation).number(6, create_revision);
    return all.number(7, one.of_this_member ? 1 : 0).number(13, one.max_create_revision).take();
}
std::string encoded(const put_request& one) {
    return wire_writer{}.bytes(1, one.key).bytes(2, one.value).number(3, one.lease).take();
}
std::string encoded(const delete_request& one) {
    return wire_writer{}.bytes(1, one.key).bytes(2, one.range_end).number(3, one.prev_kv ? 1 : 0).take();
}
std::string encoded(const txn_request& one) {
    wire_writer all;
    for (const compare& each : one.compares) all.message(1, encoded(each));
    for (const operation& each : one.success) all.message(2, encoded(each));
    for (const operation& each : one.failure) all.message(3, encoded(each));
    return all.take();
}
std::string encoded(const watch_create& one) {
    wire_writer create;
    create.bytes(1, one.key).number(3, one.start_revision);
    if (one.no_puts) create.number_even_zero(5, 0);
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
