// What all drawings say around a story.
#pragma once

#include "lab/draw/layout.hpp"
#include "lab/performance.hpp"
#include "lab/stage/text.hpp"

#include <string>
#include <vector>

namespace lab::words {

inline text of_form(form which) {
    return which == form::naive ? text{"naive form", "朴素写法"} : text{"mended form", "修正后的写法"};
}
inline text token(std::size_t rank) {
    const std::string number = std::to_string(rank);
    return rank == 0 ? text{"no token", "没有令牌"} : text{"token " + number, "令牌 " + number};
}

// "SET lock 1 → OK", "crashes", "10 s pass".
std::string done(const row& it, language in);

// The same with who did it: "A: SET lock 1 → OK", "B crashes".
std::string said(const layout& drawn, const row& it, language in);

// The same in lines, with `before` in front; what is too long is shortened so that the answer can be read.
std::vector<std::string> lines_of(const row& it, const std::string& before, language in, std::size_t columns);

// Who did it, as the beginning of a sentence: "A: ", "B ".
std::string subject_of(const layout& drawn, const row& it, language in);

inline const text time{"time", "时间"};
inline const text server{"server", "服务器"};
inline const text mistake{"Mistake", "错误"};
inline const text happens{"What happens", "经过"};
inline const text mend{"Mend", "修正"};

// The legend.
inline const text held{"holds the lock, as it believes", "自认为持有锁"};
inline const text overlapping{"two hold it at once", "两个同时持有"};
inline const text expired{"its lease has expired, it goes on", "租期已过，仍在继续"};
inline const text waiting{"waits in line", "排队等待"};
inline const text still{"is paused", "停顿"};
inline const text resumes{"goes on", "恢复运行"};
inline const text lost{"its lease expires", "租期到期"};
inline const text crash{"crashes", "崩溃"};

}  // namespace lab::words
