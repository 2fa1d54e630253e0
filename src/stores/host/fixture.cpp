#include "stores/host/fixture.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

class host_fixture final : public spi::fixture {
public:
    host_fixture() {
        std::string made = std::filesystem::temp_directory_path() / "mortise-fixture-XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("cannot make " + made);
        root_ = made;
    }
    ~host_fixture() override {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    std::string_view store() const noexcept override { return "host"; }
    std::string fresh_url() override { return "host:" + root_ + "/" + std::to_string(++made_); }
    std::string reason_against(std::string_view) const override { return {}; }

private:
    std::string root_;
    int made_ = 0;
};

}  // namespace

std::unique_ptr<spi::fixture> make_fixture() {
    return std::make_unique<host_fixture>();
}

}  // namespace mortise::inline v0::stores::host
