#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>

namespace mortise::inline v0::stores::host {

// The same request may well succeed later: a claim that waits asks again.
class temporary_error : public error {
public:
    using error::error;
};

}  // namespace mortise::inline v0::stores::host
