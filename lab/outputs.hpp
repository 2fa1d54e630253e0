// Where pictures and pages are written.
#pragma once

#include <string>
#include <string_view>

namespace lab {

// The place that an option names: a file for what one story gives, a directory for several. Found fit before anything is played, so
// that nobody waits for stories whose pictures are then lost.
class output_place {
public:
    output_place() = default;  // nothing is written

    // Makes the directory. Throws command::failure: usage if several things would go into one file, output if nothing can be
    // written there.
    output_place(std::string_view option, std::string where, std::size_t stories);

    bool wanted() const { return !where_.empty(); }

    // `name` and `ending` are for a directory: "no-lock", ".zh.svg". `suffix` tells apart what one story gives: "x.svg",
    // "x-mended.svg".
    void write(const std::string& name, const std::string& suffix, const std::string& ending,
               const std::string& bytes) const;

private:
    std::string file_of(const std::string& name, const std::string& suffix, const std::string& ending) const;

    std::string where_{};
    bool directory_ = false;
};

}  // namespace lab
