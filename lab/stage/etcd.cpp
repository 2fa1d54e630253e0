#include "lab/stage/etcd.hpp"

#include "stores/etcd/servers/cluster.hpp"

namespace lab {
namespace {

class private_etcd final : public etcd {
public:
    void clear() override {
        for (std::size_t i = 0; i < members_.size(); ++i)
            if (!members_.member(i).running()) members_.member(i).restart();
        members_.member(members_.leader()).command("del --prefix ''");
    }
    std::string addresses() const override { return members_.addresses(); }
    void replace_leader() override {
        members_.member(members_.leader()).kill();
        members_.leader();
    }

private:
    mortise::stores::etcd::servers::cluster members_{3};
};

}  // namespace

std::unique_ptr<etcd> start_etcd() {
    return std::make_unique<private_etcd>();
}

}  // namespace lab
