// A workload on some stores: who takes part, what is done, and what is looked at.
#pragma once

#include "baseline/registry.hpp"
#include "contender.hpp"
#include "figures.hpp"
#include "options.hpp"

#include <mortise/client.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// A store under measure. Its client is never used for locks: the processes of a contest make their own.
struct subject_store {
    std::string url;  // may hold a password; shown() does not
    mortise::client client;
    mortise::baselines baselines;
    std::string label;

    explicit subject_store(const std::string& address)
        : url(address), client(address), baselines(mortise::baselines_of(address)), label(client.store()) {}

    // Its address, without what it holds of secrets and options; tell_apart() adds to it.
    const std::string& shown() const { return label; }
    const mortise::promises& promises() const { return client.promises(); }
    std::vector<mortise::baseline> baselines_of_kind(mortise::baseline::kind wanted) const;
    // What a lock and an unlock are compared with, the most telling first.
    std::vector<mortise::baseline> lock_baselines() const;
};
using subject_stores = std::vector<std::unique_ptr<subject_store>>;

// Those that are shown alike, as strategies of one database are, are shown with what they promise to be, or with a number.
void tell_apart(const subject_stores& all);

// Of one run of one entrant: a value for each metric, not a number where the store does not count it.
struct outcome {
    std::vector<double> values{};
    histogram waits{};
};

struct entrant {
    const subject_store* store;
    contender lock;
    std::optional<std::size_t> baseline{};  // among the entrants; none: it is measured alone
    std::optional<std::size_t> pushes{};    // likewise: what its switches are compared with

    std::optional<std::size_t> baseline_of(const metric& what) const;
};

struct scenario {
    std::string workload;  // "contended, 16 threads, 1 name"
    std::vector<metric> metrics{};
    int lanes = 1;
    std::vector<entrant> entrants{};
    std::function<outcome(const entrant&)> run{};
    bool goes_on = false;  // an entrant that fails is left out, and the others are measured; else it ends the bench
    std::function<std::optional<bar>(const entrant&, const metric&)> bar_for{};

    struct omission {
        const subject_store* store;
        std::string what;  // the workload, or one figure of it
        std::string reason;
    };
    std::vector<omission> left_out{};
};

// What the workload of that name is made of. All but `holding`, which is no contest.
std::vector<scenario> scenarios(std::string_view workload, const subject_stores& stores, const options& how);

// mortise::mutex that asks the store for each turn: no hand-over between threads of a process.
contender each_asks(const subject_store& store, const names& where, mortise::order order = mortise::order::any);

// A read of 1 ms, as of a row of a database.
void read_row();

// Nobody else's names, not even those of a bench beside this one.
std::string fresh_name(std::string_view workload);

}  // namespace bench
