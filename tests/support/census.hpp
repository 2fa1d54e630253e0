// The claims that clients of several processes admit to, asked for by one of them.
//
// The processes share a number. Who asks raises it; each of the others answers by a file of its own.
#pragma once

#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/spi/audit.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace mortise::testing {

using census_number = std::atomic<std::uint32_t>;  // zero at first

namespace detail {

inline std::string census_file(const std::string& beside, pid_t pid) {
    return beside + ".admitted." + std::to_string(pid);
}

template <class T>
void put(std::ostream& out, const T& value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T get(std::istream& in) {
    T value{};
    in.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
}

}  // namespace detail

// Answers for one client while it exists. `beside`: a path that both sides know; the files lie next to it.
class census_answer {
public:
    census_answer(const client& of, const census_number& asked, std::string beside)
        : answers_([&of, &asked, file = detail::census_file(beside, ::getpid())](const std::stop_token& over) {
              for (std::uint32_t last = 0; !over.stop_requested(); std::this_thread::sleep_for(pause)) {
                  const std::uint32_t now = asked;
                  if (now != last) write(file, now, spi::admitted(of));
                  last = now;
              }
          }) {}

private:
    static constexpr std::chrono::milliseconds pause{10};

    static void write(const std::string& file, std::uint32_t number, const std::vector<spi::admitted_claim>& all) {
        {
            std::ofstream out{file + ".new", std::ios::binary};
            detail::put(out, number);
            detail::put(out, all.size());
            for (const auto& one : all) {
                detail::put(out, one.id);
                detail::put(out, one.is);
                detail::put(out, one.name.size());
                out << one.name;
            }
        }
        std::rename((file + ".new").c_str(), file.c_str());  // as a whole, or not yet
    }

    std::jthread answers_;
};

// Asks them all, and waits for each. Throws if one does not answer.
inline std::vector<spi::admitted_claim> take_census(census_number& asked, const std::string& beside,
                                                    const std::vector<pid_t>& processes) {
    const std::uint32_t number = ++asked;
    std::vector<spi::admitted_claim> all;
    for (const pid_t pid : processes) {
        std::ifstream in;
        const bool came = eventually([&] {
            in = std::ifstream{detail::census_file(beside, pid), std::ios::binary};
            return in && detail::get<std::uint32_t>(in) == number;
        });
        if (!came)
            throw std::runtime_error("process " + std::to_string(pid) + " does not say which claims are its own");
        for (auto left = detail::get<std::size_t>(in); left > 0; --left) {
            spi::admitted_claim one;
            one.id = detail::get<claim_id>(in);
            one.is = detail::get<spi::admitted_claim::stage>(in);
            one.name.resize(detail::get<std::size_t>(in));
            in.read(one.name.data(), static_cast<std::streamsize>(one.name.size()));
            all.push_back(std::move(one));
        }
    }
    return all;
}

}  // namespace mortise::testing
