// The seller processes of one round, as their parent sees them.
#pragma once

#include "descriptor.hpp"
#include "failure.hpp"
#include "settings.hpp"
#include "stock.hpp"
#include "till.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

class crew {
public:
    crew(std::string lock, const settings& wanted) : lock_(std::move(lock)), wanted_(wanted) {}

    // Kills whoever is still there.
    ~crew();
    crew(const crew&) = delete;

    // Starts the processes and waits until all stand before the doors. Whatever goes wrong with one of them, here and
    // below, is a failure for all: it died, it cannot go on, or nobody did anything for SHOP_PATIENCE seconds.
    void gather(const stock& shelf);

    void open_doors() { doors_.close(); }

    // Looks after them for a moment. False: all have done their work and gone.
    bool look();

    count sold() const { return till_.sold(); }

private:
    void start(const stock& shelf, int doors, int till);
    std::optional<failure> reap();
    failure silence() const;

    std::string lock_;
    settings wanted_;
    descriptor doors_;
    till till_;
    std::vector<pid_t> present_;
    std::chrono::milliseconds silent_{0};
};
