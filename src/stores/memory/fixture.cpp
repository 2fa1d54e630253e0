#include "stores/memory/fixture.hpp"

#include "stores/memory/memory_table.hpp"

namespace mortise::inline v0::stores::memory {
namespace {

class memory_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "memory"; }
    std::string fresh_url() override { return "memory:fixture-" + std::to_string(++made_); }
    std::string reason_against(std::string_view) const override { return {}; }
    bool spans_processes() const noexcept override { return false; }
    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        return memory_table::named(url.substr(url.find(':') + 1))->records();
    }

private:
    int made_ = 0;
};

}  // namespace

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<memory_fixture>());
    return all;
}

}  // namespace mortise::inline v0::stores::memory
