// libFuzzer's way into the target MORTISE_FUZZ_TARGET.
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mortise::fuzzing::MORTISE_FUZZ_TARGET {
void run(std::string_view input);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    mortise::fuzzing::MORTISE_FUZZ_TARGET::run({reinterpret_cast<const char*>(bytes), size});
    return 0;
}
