// The shared file of `host:`, damaged: an error, or an answer, and never a crash or a wait without end.
//
// The input is a list of changes to a file that is in use: a part of the file (one byte), an offset in it (two bytes, in words),
// and four bytes that are written there.
#include "fuzz/target.hpp"
#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/temporary_error.hpp"

#include <mortise/error.hpp>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace mortise::fuzzing::host_file {
namespace {

namespace host = stores::host;
using namespace std::chrono_literals;

constexpr spi::time_point now{1000s};

class place {
public:
    place() {
        const std::filesystem::path root = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
        std::string pattern = (root / "mortise-fuzz-XXXXXX").string();
        expect(::mkdtemp(pattern.data()) != nullptr, "no folder for the file");
        path_ = pattern;
        {
            host::ledger made{where()};
            made.acquire_slot(host::process_slots::urgency::now);
            for (int n = 0; n < 12; ++n) {
                host::ledger_access in{made};
                const std::string name = "name" + std::to_string(n % 5);
                host::named_state state{in, name};
                base::effects out;
                state.claim(claim(static_cast<std::uint64_t>(n)), n % 5 == 4 ? 2 : 1, true, {now, 77}, out);
                if (n == 7) state.release(claim(2).id, 7, {now, 77}, out);
                state.finish();
                in.commit();
            }
        }
        for (const auto& each : std::filesystem::directory_iterator(path_))
            if (each.file_size() > host::format::blocks_at) file_ = each.path();
        std::ifstream in{file_, std::ios::binary};
        whole_.assign(std::istreambuf_iterator<char>(in), {});
        expect(whole_.size() > host::format::blocks_at, "the file has no blocks");
    }
    ~place() { std::filesystem::remove_all(path_); }

    static base::kept_claim claim(std::uint64_t n) {
        return {.id = {{n + 1, 99}},
                .session = 7,
                .weight = 1,
                .detached = n % 2 == 0,
                .keeps = n % 5 != 4,  // name4 is shared
                .lease = n % 3 == 0 ? std::optional<spi::duration>(10s) : std::nullopt,
                .from = std::make_shared<const base::whereabouts>(base::whereabouts{"here", 4711}),
                .label = "label"};
    }
    host::store_directory where() const { return {path_.string(), true}; }

    void write(std::string_view changes) const {
        std::string bytes = whole_;
        static constexpr std::array<std::size_t, 8> parts{0,
                                                          24,
                                                          offsetof(host::file_header, journal),
                                                          host::format::ends_at,
                                                          host::format::buckets_at,
                                                          host::format::blocks_at,
                                                          host::format::blocks_at,
                                                          host::format::blocks_at};
        for (; changes.size() >= 7; changes.remove_prefix(7)) {
            std::uint16_t words = 0;
            std::memcpy(&words, changes.data() + 1, sizeof words);
            const std::size_t part = static_cast<unsigned char>(changes.front()) % parts.size();
            // Of the blocks, the first: others are free.
            const std::size_t at = parts[part] + std::size_t{4} * (part >= 5 ? words % 4096 : words);
            if (at + 4 <= bytes.size()) std::memcpy(bytes.data() + at, changes.data() + 3, 4);
        }
        std::ofstream{file_, std::ios::binary | std::ios::trunc}.write(bytes.data(),
                                                                       static_cast<std::streamsize>(bytes.size()));
    }

private:
    std::filesystem::path path_, file_;
    std::string whole_;
};

template <class Call>
void may_fail(Call&& call) {
    try {
        call();
    } catch (const error&) {
    }
}

void use(host::ledger& open, std::uint64_t n) {
    host::ledger_access in{open, 20ms};
    const std::string name = "name" + std::to_string(n % 6);
    host::named_state state{in, name};
    base::effects out;
    const base::instant at{now + std::chrono::seconds(n), 78};
    switch (n % 4) {
        case 0:
            state.claim(place::claim(100 + n), 1, n % 8 == 0, at, out);
            break;
        case 1:
            state.release(place::claim(n % 12).id, 7, at, out);
            break;
        case 2:
            state.renew(place::claim(n % 12).id, 5s, at, out);
            break;
        default:
            for (host::block_number b = state.first_holder(), most = 1000; b != 0 && most > 0;
                 b = state.after(b), --most)
                static_cast<void>(state.describe(b, at.now));
    }
    state.finish();
    if (in.sound()) in.commit();
}

}  // namespace

void run(std::string_view input) {
    static const place files;
    if (input.size() > 700) return;
    files.write(input);
    may_fail([&] {
        host::ledger open{files.where()};
        may_fail([&] { open.acquire_slot(host::process_slots::urgency::now); });
        may_fail([&] { static_cast<void>(host::find_damage(open)); });
        for (std::uint64_t n = 0; n < 16; ++n) may_fail([&] { use(open, n); });
        may_fail([&] {
            host::ledger_access in{open, 20ms};
            in.each([&](host::block_number b) { static_cast<void>(in.name(b).text().size()); });
        });
        may_fail([&] { open.check_in_place(); });
    });
}

}  // namespace mortise::fuzzing::host_file
