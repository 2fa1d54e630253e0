// The stock: one number in a file, which every process of the shop may read and write. It could as well be a row of a
// database. Nothing in it keeps two sellers apart; that is the lock's work.
#pragma once

#include "descriptor.hpp"
#include "settings.hpp"

class stock {
public:
    // A new file, in TMPDIR or /tmp. Its name is taken away at once, so that nothing stays behind, however the shop ends;
    // the seller processes inherit the descriptor.
    static stock of(count tickets);

    explicit stock(descriptor file) : file_(std::move(file)) {}

    count read() const;
    void write(count tickets) const;

    int number() const { return file_.number(); }

private:
    descriptor file_;
};
