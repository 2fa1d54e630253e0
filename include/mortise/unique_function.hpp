// A move-only callable, like std::move_only_function of C++23.
#pragma once

#include <mortise/config.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace mortise::inline v0 {

template <class Signature>
class unique_function;

// A move-only callable. Callables of up to four words are stored inline, larger ones on the heap. A null pointer, or
// an empty function object, makes an empty one. Calling an empty one is undefined behaviour.
template <class R, class... Args>
class unique_function<R(Args...)> {
public:
    unique_function() noexcept = default;
    unique_function(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

    template <class F, class D = std::decay_t<F>>
    requires(!std::is_same_v<D, unique_function> && std::is_invocable_r_v<R, D&, Args...>)
        unique_function(F&& f) {  // NOLINT(google-explicit-constructor): as std::function
        if (is_null<D>(f)) return;
        if constexpr (fits<D>) {
            ::new (static_cast<void*>(room_)) D(std::forward<F>(f));
            verbs_ = &inside<D>;
        } else {
            ::new (static_cast<void*>(room_)) D*(new D(std::forward<F>(f)));
            verbs_ = &outside<D>;
        }
    }

    unique_function(unique_function&& other) noexcept { take(other); }
    unique_function& operator=(unique_function&& other) noexcept {
        if (this != &other) {
            drop();
            take(other);
        }
        return *this;
    }
    unique_function(const unique_function&) = delete;
    unique_function& operator=(const unique_function&) = delete;
    ~unique_function() { drop(); }

    explicit operator bool() const noexcept { return verbs_ != nullptr; }
    friend bool operator==(const unique_function& one, std::nullptr_t) noexcept { return !one; }
    R operator()(Args... args) { return verbs_->call(room_, std::forward<Args>(args)...); }

private:
    struct verbs {
        R (*call)(void*, Args&&...);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };

    static constexpr std::size_t room_size = 4 * sizeof(void*);

    template <class D>
    static bool is_null([[maybe_unused]] const D& callee) {
        if constexpr (std::is_constructible_v<D, std::nullptr_t> && requires { static_cast<bool>(callee == nullptr); })
            return callee == nullptr;
        return false;
    }

    template <class D>
    static constexpr bool fits = sizeof(D) <= room_size &&
                                 alignof(D) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<D>;

    // Like std::invoke_r: any callable; a result is discarded if R is void.
    template <class D>
    static R invoke(D& callee, Args&&... args) {
        if constexpr (std::is_void_v<R>) {
            std::invoke(callee, std::forward<Args>(args)...);
        } else {
            return std::invoke(callee, std::forward<Args>(args)...);
        }
    }

    template <class D>
    static constexpr verbs inside{
        [](void* at, Args&&... args) -> R { return invoke(*static_cast<D*>(at), std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept {
            ::new (to) D(std::move(*static_cast<D*>(from)));
            static_cast<D*>(from)->~D();
        },
        [](void* at) noexcept { static_cast<D*>(at)->~D(); }};

    template <class D>
    static constexpr verbs outside{
        [](void* at, Args&&... args) -> R { return invoke(**static_cast<D**>(at), std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept { ::new (to) D*(*static_cast<D**>(from)); },
        [](void* at) noexcept { delete *static_cast<D**>(at); }};

    void take(unique_function& other) noexcept {
        if (other.verbs_ != nullptr) {
            other.verbs_->move(other.room_, room_);
            verbs_ = std::exchange(other.verbs_, nullptr);
        }
    }
    void drop() noexcept {
        if (verbs_ != nullptr) std::exchange(verbs_, nullptr)->destroy(room_);
    }

    alignas(std::max_align_t) std::byte room_[room_size];
    const verbs* verbs_ = nullptr;
};

}  // namespace mortise::inline v0
