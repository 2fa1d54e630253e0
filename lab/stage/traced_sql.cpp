#include "lab/stage/traced_sql.hpp"

#include "lab/stage/actor.hpp"

namespace lab {
namespace {

sql_account account_of(const actor& me) {
    sql_account made = me.where().sql.value();
    if (made.user.empty()) made.user = me.name();
    return made;
}

sql_account unheard_account_of(const actor& me) {
    sql_account made = me.where().sql.value();
    made.user = me.name();
    return made;
}

text with_answer(const std::string& statement, const text& answer) {
    return {statement + " → " + answer.en, statement + " → " + answer.zh};
}

}  // namespace

traced_sql::traced_sql(actor& me) : me_(me), spoken_(account_of(me)), unheard_(unheard_account_of(me)) {
    unheard_("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
}

void traced_sql::set_time(raw_sql& on) const {
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(me_.where().time->now()).count();
    const std::string fraction = std::to_string(1'000'000 + now % 1'000'000).substr(1);
    on("SET timestamp = " + std::to_string(now / 1'000'000) + "." + fraction);
}

sql_answer traced_sql::operator()(const std::string& statement) {
    set_time(spoken_);
    const sql_answer answer = spoken_(statement);
    me_.asked(with_answer(statement, to_text(answer)), state());
    return answer;
}

sql_answer traced_sql::waiting(const std::string& statement) {
    set_time(spoken_);
    sql_answer answer;
    me_.may_wait([&] { answer = spoken_(statement); });
    me_.asked(with_answer(statement, to_text(answer)), state());
    return answer;
}

void traced_sql::send(const std::string& statement) {
    set_time(spoken_);
    spoken_.send(statement);
    me_.asked(with_answer(statement, {"waits", "等待"}), {});
}

// "locks = ticket, host-1:thread-7, 10 s": a time is shown by what is left until then.
std::string traced_sql::rows_of(const std::string& table) {
    std::string columns;
    const sql_answer all = unheard_(
        "SELECT IF(data_type = 'datetime', CONCAT('CONCAT(GREATEST(0, TIMESTAMPDIFF(SECOND, NOW(), ', column_name, "
        "')), \\' s\\')'), column_name) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name "
        "= '" +
        table + "' ORDER BY ordinal_position");
    for (const std::string& each : all.rows) columns += (columns.empty() ? "" : ", ") + each;
    std::string lines;
    if (columns.empty()) return lines;
    for (const std::string& row : unheard_("SELECT " + columns + " FROM " + table).rows)
        lines += (lines.empty() ? "" : "; ") + table + " = " + row;
    if (lines.empty()) lines = table + " = " + std::string(no_rows);
    return lines;
}

std::string traced_sql::state() {
    set_time(unheard_);
    std::string all;
    for (const std::string& table : me_.where().keys)
        if (const std::string rows = rows_of(table); !rows.empty()) all += (all.empty() ? "" : "; ") + rows;
    return all;
}

}  // namespace lab
