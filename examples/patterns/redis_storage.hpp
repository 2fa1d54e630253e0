// A fenced_storage on Redis: what an adapter to a cache of your own looks like. Each key is a hash with the seal (s), who wrote
// last (w), the bytes (b) and when (t, by the server's clock); two short scripts compare and change it in one step.
#pragma once

#include <mortise/patterns/fenced_storage.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

class redis_storage final : public mortise::fenced_storage {
public:
    redis_storage(std::string host, std::uint16_t port, std::string prefix);
    ~redis_storage() override;

    std::optional<entry> read(std::string_view key) override;
    [[nodiscard]] bool seal(std::string_view key, mortise::token mine) override;
    [[nodiscard]] bool write(std::string_view key, mortise::token mine, std::string_view bytes,
                             std::chrono::nanoseconds keep) override;

private:
    class connection;
    using words = std::vector<std::string>;

    std::vector<words> ask(std::initializer_list<words> commands);
    bool evaluate(std::string_view script, std::string_view key, std::initializer_list<std::string> arguments);
    std::unique_ptr<connection> borrow();

    const std::string host_;
    const std::uint16_t port_;
    const std::string prefix_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<connection>> idle_;
};
