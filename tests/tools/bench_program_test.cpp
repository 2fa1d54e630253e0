// `mortise bench` as a program: complete, tidy, and clear about what went wrong. How fast is no question of tests.
#include "program.hpp"

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace command {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class bench_program : public command_suite {
protected:
    // What a bench should have tidied away.
    std::vector<std::string> leftovers() const {
        std::vector<std::string> found;
        if (!std::filesystem::exists(store_)) return found;
        for (const auto& each : std::filesystem::directory_iterator(store_))
            if (each.path().filename() != "locks") found.push_back(each.path().filename());
        return found;
    }

    // Of the processes that work for it, one.
    static pid_t worker_of(pid_t program) {
        pid_t found = 0;
        const std::string list = "/proc/" + std::to_string(program) + "/task/" + std::to_string(program) + "/children";
        static_cast<void>(eventually([&] { return static_cast<bool>(std::ifstream{list} >> found); }, 30s));
        return found;
    }
};

using object = std::map<std::string, std::string>;

// A flat object, values as they stand there.
object parsed(const std::string& line) {
    static const std::string value =
        R"re(("(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|null|true|false))re";
    static const std::regex pair{R"re("([a-z_]+)":)re" + value};
    object all;
    std::string rebuilt;
    for (std::sregex_iterator at{line.begin(), line.end(), pair}, end; at != end; ++at) {
        rebuilt += (rebuilt.empty() ? "" : ",") + (*at)[0].str();
        EXPECT_TRUE(all.emplace((*at)[1], (*at)[2]).second) << line;
    }
    EXPECT_EQ("{" + rebuilt + "}", line);
    return all;
}

std::vector<object> parsed_lines(const std::string& text) {
    std::vector<object> all;
    std::istringstream lines{text};
    for (std::string each; std::getline(lines, each);) all.push_back(parsed(each));
    return all;
}

// "uncontended" of "uncontended, 1 thread, 1 name", with its quotes off.
std::string workload_of(const object& one) {
    const std::string whole = one.at("workload").substr(1, one.at("workload").size() - 2);
    return whole.substr(0, whole.find(','));
}

// Which metrics each workload gave, and which of ours came with a baseline.
struct gathered {
    std::map<std::string, std::set<std::string>> metrics{};
    std::map<std::string, std::set<std::string>> compared{};
    std::map<std::string, std::string> skipped{};
};

gathered gather(const std::string& json) {
    gathered all;
    for (const object& one : parsed_lines(json)) {
        const std::string workload = workload_of(one);
        if (one.count("skipped") != 0) {
            all.skipped[workload] = one.at("skipped");
            continue;
        }
        for (const char* key : {"store", "subject", "metric", "value", "unit", "min", "max", "baseline", "ratio"})
            EXPECT_EQ(one.count(key), 1U) << key << " of " << workload;
        EXPECT_THAT(one.at("value"), ::testing::MatchesRegex("[0-9].*")) << workload << " " << one.at("metric");
        EXPECT_EQ(one.at("baseline") == "null", one.at("ratio") == "null");
        all.metrics[workload].insert(one.at("metric"));
        if (one.at("baseline") != "null" && one.at("subject").find("mortise") != std::string::npos)
            all.compared[workload].insert(one.at("metric"));
    }
    return all;
}

const std::set<std::string> of_contests{
    R"("rate")", R"("thread switches")", R"("process switches")", R"("p50")",
    R"("p99")",  R"("longest wait")",    R"("least share")",      R"("most share")"};

// One thread alone is timed over lock() and unlock().
std::set<std::string> figures_of(std::string_view workload) {
    std::set<std::string> all = of_contests;
    if (workload == "uncontended") {
        all.erase(R"("p50")");
        all.insert(R"("pair p50")");
    }
    return all;
}

TEST_F(bench_program, gives_every_figure_on_host) {
    const outcome got = mortise({"bench", "--quick", "--json"});
    ASSERT_EQ(got.code, 0) << got.err;
    const gathered all = gather(got.out);
    for (const char* each : {"uncontended", "parallel", "contended", "processes"}) {
        EXPECT_EQ(all.metrics.at(each), figures_of(each)) << each;
        EXPECT_THAT(all.compared.at(each), ::testing::Contains(R"("rate")")) << each;
    }
    EXPECT_EQ(all.compared.at("readers").count(R"("rate")"), 1U);
    for (const char* metric : {R"("p50")", R"("p99")"}) EXPECT_EQ(all.compared.at("handoff").count(metric), 1U);
    for (const char* metric : {R"("processor per renewal")", R"("client processors")", R"("client memory per hold")",
                               R"("store memory per hold")", R"("lost")"})
        EXPECT_EQ(all.metrics.at("holding").count(metric), 1U) << metric;
    EXPECT_EQ(all.compared.at("crowd").count(R"("hand-overs")"), 1U);
    EXPECT_EQ(all.skipped.size(), 1U);
    EXPECT_THAT(all.skipped.at("crowd"), HasSubstr("counts no commands"));
    EXPECT_THAT(leftovers(), IsEmpty());
    EXPECT_EQ(got.err, "");
}

TEST_F(bench_program, names_what_memory_cannot_do) {
    const outcome got = mortise({"bench", "--quick", "--json", "--store", "memory:"});
    ASSERT_EQ(got.code, 0) << got.err;
    const gathered all = gather(got.out);
    for (const char* each : {"uncontended", "parallel", "contended"})
        EXPECT_EQ(all.metrics.at(each), figures_of(each)) << each;
    EXPECT_EQ(all.metrics.count("readers"), 1U);
    EXPECT_EQ(all.metrics.count("handoff"), 1U);
    EXPECT_EQ(all.metrics.count("holding"), 1U);
    EXPECT_EQ(all.skipped.size(), 2U);
    EXPECT_THAT(all.skipped.at("processes"), HasSubstr("memory: has no other processes"));
    EXPECT_EQ(all.metrics.count("crowd"), 1U) << "of one process";
    EXPECT_THAT(all.skipped.at("crowd"), HasSubstr("memory: counts no commands"));
}

TEST_F(bench_program, puts_several_stores_in_one_table_and_draws_them) {
    const std::string picture = scratch_ / "waits.svg";
    const outcome got = mortise({"bench", "contended", "--quick", "--compare", "memory:", "host:" + store_, "--svg",
                                 picture, "--seconds", "0.01"});
    ASSERT_EQ(got.code, 0) << got.err;
    const std::vector<std::string> expected{"contended, 16 threads, 1 name", "memory:  std::mutex",
                                            "memory:  mortise::mutex, no hand-over", "host:" + store_ + "  flock(2)",
                                            "host:" + store_ + "  mortise::mutex"};
    for (const std::string& text : expected) EXPECT_THAT(got.out, HasSubstr(text));
    const std::string drawn = content(picture);
    EXPECT_THAT(drawn, ::testing::StartsWith("<svg "));
    EXPECT_THAT(drawn, HasSubstr("memory: std::mutex"));
}

TEST_F(bench_program, compares_stores_in_one_table_with_their_promises) {
    const std::string host = "host:" + store_;
    const line given{"bench", "--quick", "--seconds", "0.01", "--compare", "memory:", host};
    const outcome got = mortise(given);
    ASSERT_EQ(got.code, 0) << got.err;
    for (const std::string& text : {std::string{"16 readers"}, host + " (host) is asked over no network",
                                    "\n" + host + "\n  exclusion: ", std::string{"ends: The process ends"}})
        EXPECT_THAT(got.out, HasSubstr(text));
    line for_programs = given;
    for_programs.emplace_back("--json");
    std::map<std::string, std::set<std::string>> subjects;
    std::map<std::string, std::string> processes;
    for (const object& one : parsed_lines(mortise(for_programs).out)) {
        const std::string workload = workload_of(one);
        if (one.count("skipped") != 0) continue;
        if (workload == "promises") processes[one.at("store")] = one.at("processes");
        if (workload == "comparison") subjects[one.at("store")].insert(one.at("subject"));
    }
    const std::set<std::string> all{
        R"("pair")",           R"("hand-off")",      R"("contended")",       R"("contended, no hand-over")",
        R"("reads, no lock")", R"("reads, shared")", R"("reads, exclusive")"};
    for (const std::string& each : {std::string{"memory:"}, host}) EXPECT_EQ(subjects["\"" + each + "\""], all) << each;
    EXPECT_EQ(processes.at(R"("memory:")"), "false");
    EXPECT_EQ(processes.at("\"" + host + "\""), "true");
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(bench_program, compares_the_others_if_one_store_fails) {
    ASSERT_EQ(::mkdir(store_.c_str(), 0700), 0);
    std::ofstream{store_ + "/locks"} << "not a ledger";
    const outcome got =
        mortise({"bench", "--quick", "--json", "--seconds", "0.01", "--compare", "memory:", "host:" + store_});
    EXPECT_EQ(got.code, 69);
    EXPECT_THAT(got.err, HasSubstr("figures are missing"));
    std::set<std::string> measured;
    std::set<std::string> skipped;
    for (const object& one : parsed_lines(got.out)) {
        if (one.count("skipped") != 0) skipped.insert(one.at("workload"));
        if (one.count("subject") != 0 && one.at("store") == R"("memory:")") measured.insert(one.at("subject"));
    }
    EXPECT_EQ(measured.size(), 7U);
    EXPECT_EQ(skipped.count(R"("comparison, pair")"), 1U);
}

TEST_F(bench_program, refuses_what_it_does_not_know) {
    const std::pair<line, std::string> mistakes[] = {
        {{"bench", "contendet"}, "did you mean contended?"},
        {{"bench", "memory:"}, "there is no workload 'memory:'"},
        {{"bench", "--compare", "memory:"}, "two or more stores"},
        {{"bench", "--compare", "memory:", "redis://ann:CANARY@127.0.0.1/0"}, "password"},
        {{"bench", "--seconds", "0"}, "0.001 to 600"},
        {{"bench", "--seconds", "fast"}, "--seconds"},
    };
    for (const auto& [given, said] : mistakes) {
        const outcome got = mortise(given);
        EXPECT_EQ(got.code, 64) << said;
        EXPECT_THAT(got.err, HasSubstr(said));
        EXPECT_EQ(got.err.find("CANARY"), std::string::npos);
        EXPECT_EQ(got.out, "");
    }
    EXPECT_EQ(mortise({"bench", "--store", "nowhere:"}).code, 78);
    EXPECT_EQ(mortise({"bench", "--quick", "uncontended", "--svg", scratch_ / "no/such/file"}).code, 69);
}

TEST_F(bench_program, says_what_a_worker_met) {
    ASSERT_EQ(::mkdir(store_.c_str(), 0700), 0);
    std::ofstream{store_ + "/locks"} << "not a ledger";
    const outcome got = mortise({"bench", "contended", "--quick"});
    EXPECT_EQ(got.code, 69);
    EXPECT_THAT(got.err, HasSubstr("contended, 16 threads, 1 name: host:" + store_ + " mortise::mutex: process 1 "));
    EXPECT_THAT(got.err, HasSubstr("failed: "));
}

TEST_F(bench_program, names_a_worker_that_died) {
    child program = start({"bench", "contended", "--seconds", "30"});
    const pid_t worker = worker_of(program.pid());
    ASSERT_GT(worker, 0);
    ::kill(worker, SIGKILL);
    EXPECT_EQ(program.wait(60s), 69);
    const std::string said = content(scratch_ / "err");
    EXPECT_THAT(said, HasSubstr("contended, 16 threads, 1 name: "));
    EXPECT_THAT(said, HasSubstr("process 1 (pid " + std::to_string(worker) + ") was killed by signal 9"));
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(bench_program, tidies_up_when_interrupted) {
    child program = start({"bench", "contended", "--seconds", "30"});
    const pid_t worker = worker_of(program.pid());
    ASSERT_GT(worker, 0);
    ::kill(worker, SIGINT);  // as a terminal does
    program.tell(SIGINT);
    EXPECT_EQ(program.wait(60s), 130);
    EXPECT_EQ(::kill(worker, 0), -1);
    EXPECT_THAT(leftovers(), IsEmpty());
}

}  // namespace
}  // namespace command
