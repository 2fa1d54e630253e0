#include <mortise/spi/fixture.hpp>
#include <mortise/spi/store_wrapper.hpp>

namespace mortise::inline v0::spi {

clock::~clock() = default;
notifier::~notifier() = default;
events::~events() = default;
store::~store() = default;

void events::wanted(std::string_view, const claim_id&) {}
void events::reconnected() {}
fixture::~fixture() = default;

void store::will_sleep(bool) noexcept {}

void store::sleep(sleeper& who) {
    int seen = sleeper::awake;
    if (who.is.compare_exchange_strong(seen, sleeper::asleep)) who.is.wait(sleeper::asleep);
}

void store::wake(sleeper& who) noexcept {
    if (who.is.exchange(sleeper::answered) == sleeper::asleep) who.is.notify_one();
}

int store::start_reading(const sleeper&) {
    return -1;
}

bool store::read_ready(const sleeper&) {
    return false;
}

void store::stop_reading(const sleeper&, bool) noexcept {}

std::optional<duration> store::keeps_abandoned(const std::optional<duration>&) const noexcept {
    return std::nullopt;
}

void store::raise_token(const raise_request&, reply<raise_answer> done) {
    done({.is = raise_answer::verdict::unsupported});
}

void store::recall_tokens(const recall_request&, reply<std::optional<token_memory>> done) {
    done(std::nullopt);
}

void store::list_part(std::string_view, reply<listing> done) {
    list(std::move(done));
}

void store::check(reply<std::vector<finding>> done) {
    done({});
}

void store::uptime(reply<std::optional<duration>> done) {
    done(std::nullopt);
}

std::string store::schema() const {
    return {};
}

store_wrapper::store_wrapper(const context& outer, const store_factory& make_inner)
    : outer_(outer), inner_(make_inner(context{outer.clock, *this, outer.host, outer.pid, outer.strict})) {}

store_wrapper::~store_wrapper() = default;

const mortise::promises& store_wrapper::promises() const noexcept {
    return inner_->promises();
}
void store_wrapper::claim(const claim_request& wanted, reply<claim_answer> done) {
    inner_->claim(wanted, std::move(done));
}
void store_wrapper::renew(std::span<const renewal> due, reply<std::vector<renewal_answer>> done) {
    inner_->renew(due, std::move(done));
}
void store_wrapper::release(std::string_view name, const claim_id& id, reply<release_answer> done) {
    inner_->release(name, id, std::move(done));
}
std::optional<duration> store_wrapper::keeps_abandoned(const std::optional<duration>& lease) const noexcept {
    return inner_->keeps_abandoned(lease);
}
void store_wrapper::list(reply<listing> done) {
    inner_->list(std::move(done));
}
void store_wrapper::break_hold(const break_request& which, reply<break_answer> done) {
    inner_->break_hold(which, std::move(done));
}
void store_wrapper::raise_token(const raise_request& which, reply<raise_answer> done) {
    inner_->raise_token(which, std::move(done));
}
void store_wrapper::recall_tokens(const recall_request& which, reply<std::optional<token_memory>> done) {
    inner_->recall_tokens(which, std::move(done));
}
void store_wrapper::check(reply<std::vector<finding>> done) {
    inner_->check(std::move(done));
}
void store_wrapper::uptime(reply<std::optional<duration>> done) {
    inner_->uptime(std::move(done));
}
std::string store_wrapper::schema() const {
    return inner_->schema();
}
void store_wrapper::will_sleep(bool whether) noexcept {
    inner_->will_sleep(whether);
}
void store_wrapper::sleep(sleeper& who) {
    inner_->sleep(who);
}
void store_wrapper::wake(sleeper& who) noexcept {
    inner_->wake(who);
}
int store_wrapper::start_reading(const sleeper& who) {
    return inner_->start_reading(who);
}
bool store_wrapper::read_ready(const sleeper& who) {
    return inner_->read_ready(who);
}
void store_wrapper::stop_reading(const sleeper& who, bool soon) noexcept {
    inner_->stop_reading(who, soon);
}
void store_wrapper::close() noexcept {
    inner_->close();
}
void store_wrapper::granted(std::string_view name, const claim_id& id, const grant& given) {
    outer_.events.granted(name, id, given);
}
void store_wrapper::lost(std::string_view name, const claim_id& id) {
    outer_.events.lost(name, id);
}
void store_wrapper::wanted(std::string_view name, const claim_id& id) {
    outer_.events.wanted(name, id);
}
void store_wrapper::reconnected() {
    outer_.events.reconnected();
}

}  // namespace mortise::inline v0::spi
