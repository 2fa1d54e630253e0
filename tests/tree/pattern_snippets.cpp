// Runs what the pages of the patterns show. A snippet that throws ends it.
#include <mortise/client.hpp>

#include <string>

// As docs/snippets_prelude.hpp has them.
extern mortise::client& locks;
void sell_one();
void log(const std::string&);

void docs_consistent_cache_md_1();
void docs_once_per_period_md_1();
void docs_sharded_stock_md_1();
void docs_single_flight_md_1();
void docs_striped_mutex_md_1();
void docs_striped_mutex_md_2();
void docs_token_keeper_md_1();

namespace {

int done = 0;

mortise::client& client_of_all() {
    static mortise::client one{"memory:"};
    return one;
}

}  // namespace

mortise::client& locks = client_of_all();

void sell_one() {
    ++done;
}
void log(const std::string&) {
    ++done;
}

int main() {
    docs_consistent_cache_md_1();
    docs_single_flight_md_1();
    docs_striped_mutex_md_1();
    docs_striped_mutex_md_2();
    docs_sharded_stock_md_1();    // sells
    docs_token_keeper_md_1();     // logs
    docs_once_per_period_md_1();  // logs
    return done == 3 ? 0 : 1;
}
