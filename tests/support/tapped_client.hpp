// A client whose store a test can speak to behind its back.
#pragma once

#include <mortise/client.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <future>
#include <memory>
#include <string>

namespace mortise::testing {

class tapped_client {
public:
    explicit tapped_client(const spi::store_factory& inner)
        : locks_(spi::make_client([this, inner](const spi::context& outer) {
              auto made = std::make_unique<spi::store_wrapper>(outer, inner);
              store_ = made.get();
              return made;
          })) {}

    client& locks() { return locks_; }
    spi::store& store() { return *store_; }

    // Takes it from its holder, as an operator would. False: nobody held it with that token.
    bool break_hold(const std::string& name, token held_with) {
        const auto said = std::make_shared<std::promise<bool>>();
        store_->break_hold({name, held_with.counter()},
                           [said](spi::break_answer did) { said->set_value(did == spi::break_answer::broken); });
        auto answer = said->get_future();
        return answer.wait_for(std::chrono::seconds{20}) == std::future_status::ready && answer.get();
    }

private:
    spi::store* store_ = nullptr;
    client locks_;
};

}  // namespace mortise::testing
