// What an operator should know of a cluster.
#pragma once

#include "stores/etcd/members.hpp"
#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// What one member said of itself.
struct member_report {
    std::string address{};
    bool answered = false;
    bool refused = false;   // us, not that it is down
    std::string trouble{};  // else
    std::string version{};
    bool has_leader = true;
    bool learner = false;
    std::vector<std::string> errors{};  // that it tells of, alarms among them
    spi::duration took{};               // to answer
};

// What the cluster answered.
struct cluster_report {
    std::vector<member_report> members{};
    spi::duration shortest_lease{};  // what it gives to who asks for one second; zero if it did not say
    std::string refusal{};           // why a claim's keys may not be read and written
};

// Pure.
std::vector<finding> findings_of(const settings& how, const cluster_report& seen);

void diagnose(const settings& how, const std::shared_ptr<members>& cluster, spi::clock& clock,
              spi::reply<std::vector<finding>> done);

}  // namespace mortise::inline v0::stores::etcd
