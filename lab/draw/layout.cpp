// Reads the trace from the front. Not every event makes a row: a belief is shown at the command that gave rise to it, and a point only if
// something happens to the actor there.
#include "lab/draw/layout.hpp"

#include "lab/draw/columns.hpp"
#include "lab/draw/points.hpp"
#include "lab/draw/server_state.hpp"
#include "lab/draw/tokens.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace lab {
namespace {

constexpr std::string_view arrow = " → ";

// What is nearer happens at once: the director lets a millisecond more pass than it says.
constexpr std::chrono::milliseconds a_moment{10};

text ranked(const text& anything, const token_ranks& tokens) {
    return {tokens.ranked(harmless(anything.en)), tokens.ranked(harmless(anything.zh))};
}

std::pair<std::string, std::string> halves(const std::string& line) {
    const std::size_t at = line.rfind(arrow);
    if (at == line.npos) return {line, {}};
    return {line.substr(0, at), line.substr(at + arrow.size())};
}

text sentence_of(kind what) {
    switch (what) {
        case kind::enters:
            return {"begins", "开始"};
        case kind::holds:
            return {"holds the lock", "持有锁"};
        case kind::lets_go:
            return {"lets go", "不再持有"};
        case kind::refused:
            return {"is refused", "被拒绝"};
        case kind::waits:
            return {"waits in line", "排队等待"};
        case kind::lost:
            return {"its lease expires", "租期到期"};
        case kind::sold:
            return {"sells 1 ticket", "卖出 1 张"};
        case kind::failed:
            return {"fails", "出错"};
        case kind::ends:
            return {"ends, and holds it still", "结束时仍持有锁"};
        case kind::crash:
            return {"crashes", "崩溃"};
        case kind::stop:
            return {"is paused", "停顿"};
        case kind::resume:
            return {"goes on", "恢复运行"};
        default:
            return {};
    }
}

class reader {
public:
    explicit reader(const trace& all) : all_(all), tokens_(all), server_(all) {}

    layout read() {
        for (at_ = 0; at_ < all_.size(); ++at_) take(all_[at_]);
        for (bar& each : made_.bars)
            if (each.to == 0) each.to = made_.rows.size();
        tell_changes();
        if (overlap_since_) made_.overlaps.push_back({*overlap_since_, made_.rows.size()});
        return std::move(made_);
    }

private:
    // Of one lane, after what has been read.
    struct present {
        line now = line::none;
        bool still = false;
        bool lets_go = false;  // with its next row
        text point{};
        std::optional<std::size_t> open_bar{};
    };

    void take(const event& next);
    void take_stock(const event& next);
    void take_command(const event& next);
    void take_hold(const event& next);
    void take_refusal(const event& next);
    void take_sale(const event& next);
    void take_turn(const event& next);
    void leave(const event& next, line then);

    std::size_t lane_of(const std::string& actor);
    row& add(const event& next, text what);
    void let_pass(std::chrono::nanoseconds until);
    void open_row(row made);
    bool time_moves_on() const;
    row& beside(const event& next);
    bool last_is_of(std::size_t lane) const { return !made_.rows.empty() && made_.rows.back().lane == lane; }
    bool next_row_is_of(const std::string& actor) const;
    bool repeats(const row& next) const;
    void close_bar(std::size_t lane, std::size_t at);
    void settle();
    void tell_changes();

    const trace& all_;
    const token_ranks tokens_;
    server_state server_;
    std::size_t at_ = 0;
    layout made_{};
    std::vector<present> lanes_{};
    std::chrono::nanoseconds last_moment_{};
    std::size_t holders_ = 0;
    std::optional<std::size_t> overlap_since_{};
    std::optional<std::int64_t> stock_{};
    std::int64_t sold_ = 0;
};

std::size_t reader::lane_of(const std::string& actor) {
    if (actor.empty()) return nobody;
    const std::string name = harmless(actor);
    const auto found = std::find(made_.lanes.begin(), made_.lanes.end(), name);
    if (found != made_.lanes.end()) return static_cast<std::size_t>(found - made_.lanes.begin());
    made_.lanes.push_back(name);
    lanes_.push_back({.now = line::idle});
    return lanes_.size() - 1;
}

void reader::close_bar(std::size_t lane, std::size_t at) {
    if (auto& open = lanes_[lane].open_bar) {
        made_.bars[*open].to = at;
        open.reset();
    }
}

void reader::open_row(row made) {
    for (const present& each : lanes_) made.cells.push_back({.above = each.now, .still_above = each.still});
    made_.rows.push_back(std::move(made));
}

// A row between two that lie apart in time.
void reader::let_pass(std::chrono::nanoseconds until) {
    const auto span = until - last_moment_;
    last_moment_ = std::max(last_moment_, until);
    if (span < a_moment) return;
    open_row({.kind = kind::pass, .what = {elapsed(span) + " pass", elapsed(span) + " 后"}, .time = until});
    settle();
}

row& reader::add(const event& next, text what) {
    const std::size_t lane = lane_of(next.actor);
    let_pass(next.time);
    open_row({.kind = next.kind,
              .lane = lane,
              .what = std::move(what),
              .in_full = harmless(next.what.en),
              .time = next.time,
              .until = next.time});
    if (lane != nobody && std::exchange(lanes_[lane].lets_go, false)) {
        lanes_[lane].now = line::idle;
        close_bar(lane, made_.rows.size() - 1);
    }
    return made_.rows.back();
}

// Whether the trace knows how much time passes; otherwise the story's words have to do.
bool reader::time_moves_on() const {
    return all_.back().time - all_[at_].time >= a_moment;
}

// The row that an event belongs to: the last one, if its actor made it.
row& reader::beside(const event& next) {
    const std::size_t lane = lane_of(next.actor);
    if (last_is_of(lane)) return made_.rows.back();
    return add(next, sentence_of(next.kind));
}

bool reader::next_row_is_of(const std::string& actor) const {
    constexpr std::string_view no_rows = "epxosG", always_rows = "cfkKSRN";
    for (std::size_t i = at_ + 1; i < all_.size(); ++i) {
        const char is = static_cast<char>(all_[i].kind);
        if (no_rows.find(is) == no_rows.npos) return all_[i].actor == actor && always_rows.find(is) != always_rows.npos;
    }
    return false;
}

bool reader::repeats(const row& next) const {
    if (made_.rows.empty() || lanes_[next.lane].lets_go) return false;
    const row& last = made_.rows.back();
    return last.kind == kind::command && last.lane == next.lane && last.what.en == next.what.en &&
           last.answer.en == next.answer.en && !last.takes;
}

void reader::take_command(const event& next) {
    const std::size_t lane = lane_of(next.actor);
    const text said = ranked(next.what, tokens_);
    const auto [en, answer_en] = halves(said.en);
    const auto [zh, answer_zh] = halves(said.zh);
    const std::vector<text> state = server_.after(next, tokens_);
    const bool waits_on = lanes_[lane].now == line::waiting && answer_en == "waits in line";
    if (waits_on) return;
    if (repeats({.lane = lane, .what = {en, zh}, .answer = {answer_en, answer_zh}})) {
        ++made_.rows.back().times;
        made_.rows.back().until = last_moment_ = next.time;
        made_.rows.back().state = state;
        return;
    }
    row& added = add(next, {en, zh});
    added.answer = {answer_en, answer_zh};
    added.state = state;
}

void reader::take_hold(const event& next) {
    const std::size_t lane = lane_of(next.actor);
    row& here = beside(next);
    close_bar(lane, made_.rows.size() - 1);
    here.takes = true;
    here.token = tokens_.rank(next.number);
    if (next.number != 0) here.in_full = "token " + std::to_string(next.number);
    lanes_[lane].lets_go = false;
    lanes_[lane].open_bar = made_.bars.size();
    made_.bars.push_back({lane, made_.rows.size() - 1, 0, next.number, here.token});
}

// It relies on the lock no longer, from a row of its own on.
void reader::leave(const event& next, line then) {
    const std::size_t lane = lane_of(next.actor);
    text what = sentence_of(next.kind);
    if (const text& point = lanes_[lane].point; next.kind == kind::crash && !point.empty())
        what = {what.en + ": " + point.en, what.zh + "：" + point.zh};
    add(next, what);
    close_bar(lane, made_.rows.size() - 1);
    lanes_[lane].now = then;
}

// Stopped, or going on.
void reader::take_turn(const event& next) {
    present& mine = lanes_[lane_of(next.actor)];
    text what = sentence_of(next.kind);
    if (next.kind == kind::stop && !mine.point.empty())
        what = {what.en + ": " + mine.point.en, what.zh + "：" + mine.point.zh};
    add(next, what);
    mine.still = next.kind == kind::stop;
}

void reader::take_stock(const event& next) {
    if (!stock_) {
        stock_ = next.number;
        return;
    }
    if (sold_ == 0 && *stock_ == next.number) return;
    const std::string change = std::to_string(*stock_) + " → " + std::to_string(next.number);
    const std::string sold = std::to_string(sold_);
    row& added = add(next, {"stock " + change + ", sold " + sold, "库存 " + change + "，卖出 " + sold});
    const std::int64_t lost = sold_ - (*stock_ - next.number);
    if (lost == 0) return;
    added.bad = true;
    added.notes.push_back({std::to_string(lost) + " sold, not subtracted", std::to_string(lost) + " 张卖出却没有扣减"});
}

void reader::take_refusal(const event& next) {
    row& here = beside(next);
    const bool free = std::none_of(lanes_.begin(), lanes_.end(), [](const present& each) { return each.open_bar; });
    here.bad = here.bad || free;
    if (here.times > 1) return;
    if (here.kind != kind::refused) here.notes.push_back(sentence_of(kind::refused));
    if (!next.what.empty()) here.notes.push_back(ranked(next.what, tokens_));
    if (free) here.notes.push_back({"but nobody holds it", "可是没有人持有"});
}

void reader::take_sale(const event& next) {
    row& here = beside(next);
    ++sold_;
    if (here.kind != kind::sold) here.notes.push_back(sentence_of(kind::sold));
}

void reader::take(const event& next) {
    const std::size_t lane = lane_of(next.actor);
    if (next.kind != kind::command) server_.after(next, tokens_);
    switch (next.kind) {
        case kind::enters:
        case kind::clocked:
        case kind::asks:
        case kind::answered:
        case kind::granted:
            break;
        case kind::point:
            lanes_[lane].point = point_named(harmless(next.what.en));
            break;
        case kind::command:
            take_command(next);
            break;
        case kind::holds:
            take_hold(next);
            break;
        case kind::lets_go:
            if (next_row_is_of(next.actor))
                lanes_[lane].lets_go = true;
            else
                leave(next, line::idle);
            break;
        case kind::lost:
            leave(next, line::expired);
            break;
        case kind::crash:
            leave(next, line::none);
            break;
        case kind::ends:
            if (lanes_[lane].open_bar && !lanes_[lane].lets_go) leave(next, line::none);
            lanes_[lane].now = line::none;
            break;
        case kind::refused:
            take_refusal(next);
            break;
        case kind::waits:
            if (lanes_[lane].now != line::waiting) beside(next);
            lanes_[lane].now = line::waiting;
            break;
        case kind::sold:
            take_sale(next);
            break;
        case kind::stop:
        case kind::resume:
            take_turn(next);
            break;
        case kind::stock:
            take_stock(next);
            break;
        case kind::pass:
            if (!time_moves_on()) add(next, ranked(next.what, tokens_));
            break;
        case kind::failed:
        case kind::worked:
        case kind::tell:
            add(next, next.what.empty() ? sentence_of(next.kind) : ranked(next.what, tokens_));
            break;
    }
    settle();
}

// What the lanes look like after the last row, as far as has been read.
void reader::settle() {
    if (made_.rows.empty()) return;
    row& last = made_.rows.back();
    last.cells.resize(lanes_.size());
    std::vector<std::size_t> holding;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].open_bar) holding.push_back(i);
    const bool two = holding.size() > 1;
    for (const std::size_t i : holding) lanes_[i].now = two ? line::overlapping : line::held;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        last.cells[i].below = lanes_[i].now;
        last.cells[i].still_below = lanes_[i].still;
    }
    if (two && holding.size() > holders_) {
        const bool pair = holding.size() == 2;
        const std::string count = std::to_string(holding.size());
        last.bad = true;
        last.notes.push_back({(pair ? "two" : count) + " hold it at once", (pair ? "两" : count + " ") + "个同时持有"});
    }
    holders_ = holding.size();
    if (two && !overlap_since_) {
        overlap_since_ = made_.rows.size() - 1;
    } else if (!two && overlap_since_) {
        made_.overlaps.push_back({*overlap_since_, made_.rows.size() - 1});
        overlap_since_.reset();
    }
}

void reader::tell_changes() {
    std::string known;
    for (row& each : made_.rows) {
        std::string state;
        for (const text& line_of_it : each.state) state += line_of_it.en + "\n";
        each.state_is_new = !state.empty() && state != known;
        if (!state.empty()) known = state;
    }
}

}  // namespace

layout layout_of(const trace& all) {
    return reader(all).read();
}

std::string elapsed(std::chrono::nanoseconds since_the_beginning) {
    const double seconds = std::chrono::duration<double>(since_the_beginning).count();
    const auto tenths = std::llround(seconds * (seconds < 1 ? 100 : 10)) * (seconds < 1 ? 1 : 10);  // hundredths
    const auto hours = tenths / 360'000;
    const auto rest = tenths % 360'000;
    std::string digits = std::to_string(rest / 100);
    if (rest % 100 != 0) digits += "." + std::to_string(rest % 100 + 100).substr(1);
    if (digits.find('.') != digits.npos && digits.back() == '0') digits.pop_back();
    if (hours == 0) return digits + " s";
    return std::to_string(hours) + " h" + (rest == 0 ? "" : " " + digits + " s");
}

}  // namespace lab
