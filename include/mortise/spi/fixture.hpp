// How the tests bring up a store.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/audit.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::spi {

// One per store folder, or several where servers come in several arrangements. It starts a private server (loopback port,
// temporary directory) when first asked for a URL, and stops it when destroyed. The conformance suite runs on every fixture
// the build knows.
class MORTISE_API fixture {
public:
    virtual ~fixture();

    virtual std::string_view store() const noexcept = 0;  // the folder's name, or that and more: "redis_tls"

    // An address where no lock is held and that no other call of this returned.
    virtual std::string fresh_url() = 0;

    // Why a kind ("shared_mutex"), a suite ("audits") or a test ("suite.test") cannot run on this store, or why it cannot say who
    // holds a lock ("names of holders"): one sentence, or empty when it can. For what promises() does not tell; the tests ask
    // that themselves.
    virtual std::string reason_against(std::string_view what) const = 0;

    // Whether several processes can meet on it. Those stores go through the storms of processes too.
    virtual bool spans_processes() const noexcept { return true; }

    // How soon a holder's death can free its locks. Zero: the store notices it at once. Else the shortest lease there is, or
    // whatever else has to end first. The storms kill thousands, or fewer where each costs time.
    virtual std::chrono::milliseconds frees_the_dead_after() const noexcept { return {}; }

    // What is left at one of its addresses when nobody uses it any more.
    struct remains {
        bool clean = true;      // nothing that grows with use
        std::string figures{};  // "files=2 blocks=0", for people
    };
    virtual remains remains_at(const std::string& /*url*/) const { return {}; }

    // Every claim that its servers keep at one of its addresses, read past the store under test. Left out are those that the
    // store itself takes for ended: they are in nobody's way, and go when somebody comes by. Throws if it cannot be read.
    virtual std::vector<stored_claim> records_at(const std::string& url) const = 0;
};

using fixtures = std::vector<std::unique_ptr<fixture>>;

// Made by the build from src/stores/*/fixture.hpp.
fixtures all_fixtures();

// The first of each folder: for storms, and for what is not about the store.
fixtures plain_fixtures();

}  // namespace mortise::inline v0::spi
