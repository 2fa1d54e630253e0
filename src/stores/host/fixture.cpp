#include "stores/host/fixture.hpp"

#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/open_ledgers.hpp"
#include "stores/host/reaper.hpp"

#include <mortise/boot_clock.hpp>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

std::string directory_of(const std::string& url) {
    return url.substr(url.find(':') + 1);
}

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
    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        return records_in(directory_of(url));
    }

    remains remains_at(const std::string& url) const override {
        const std::string directory = directory_of(url);
        const auto kept = open_ledger({directory, true});
        const std::uint64_t blocks = kept->blocks_in_use();
        const std::string problem = find_damage(*kept);
        std::size_t files = 0;
        std::size_t pipes = 0;
        for (const auto& file : std::filesystem::directory_iterator(directory)) {
            ++files;
            if (file.path().filename().string().starts_with("bell-")) ++pipes;
        }
        return {.clean = pipes == 0 && blocks == 0 && problem.empty(),
                .figures = "files=" + std::to_string(files) + " pipes=" + std::to_string(pipes) +
                           " blocks=" + std::to_string(blocks) + (problem.empty() ? "" : " problem='" + problem + "'")};
    }

private:
    std::string root_;
    int made_ = 0;
};

}  // namespace

// Whoever meets the claim of a client that is gone ends it, so those do not count.
std::vector<spi::stored_claim> records_in(const std::string& directory) {
    const auto kept = open_ledger({directory, true});
    ledger_access in{*kept, std::chrono::seconds{20}};
    std::vector<spi::stored_claim> all;
    const spi::time_point now = boot_clock::now();
    in.each([&](block_number n) {
        const std::string name{in.name(n).text()};
        const named_state state{in, name};
        const auto add = [&](block_number block, bool holds) {
            const base::kept_claim one = state.at(block);
            if (now < one.ends && !one.over() && (one.detached || has_owner(*kept, state, block)))
                all.push_back({name, one.id, holds, "block " + std::to_string(block)});
        };
        for (block_number c = state.first_holder(); c != 0; c = state.after(c)) add(c, true);
        for (block_number c = state.first_in_queue(); c != 0; c = state.after(c)) add(c, false);
    });
    return all;
}

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<host_fixture>());
    return all;
}

}  // namespace mortise::inline v0::stores::host
