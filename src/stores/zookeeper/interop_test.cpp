// Apache Curator and kazoo on the same locks. They need Java and Python, so only `make interop` runs this, and then they must
// be there.
#include "stores/zookeeper/servers/suite.hpp"
#include "support/server_group.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <shared_mutex>

#include <fcntl.h>
#include <unistd.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace servers;

constexpr int acquisitions = 1000;  // of each side

// Where contenders of both languages meet: whoever is inside makes a file, which nobody else may find, and counts.
class meeting_place {
public:
    explicit meeting_place(std::string directory) : directory_(std::move(directory)) { write(0); }

    // False: somebody is inside.
    bool visit() {
        const std::string inside = directory_ + "/inside";
        const int fd = ::open(inside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0) return false;
        ::close(fd);
        write(count() + 1);
        return ::unlink(inside.c_str()) == 0;
    }
    int count() const {
        int n = -1;
        std::ifstream{directory_ + "/count"} >> n;
        return n;
    }

private:
    void write(int n) { std::ofstream{directory_ + "/count"} << n; }
    const std::string directory_;
};

class zookeeper_interop : public on_one_server {
protected:
    void SetUp() override {
        if (std::getenv("MORTISE_INTEROP") == nullptr) GTEST_SKIP() << "make interop runs it";
    }

    // Runs what it is given while it holds the lock.
    using visitor = std::function<void(const std::function<void()>&)>;

    std::string curator_url() const {
        return "zookeeper://" + node().address() + root_ + "?session=10s&protocol=curator";
    }

    void contend_with_curator(const std::string& kind, const visitor& locked) {
        compile_curator();
        contend(curator(kind), locked);
    }

    void compile_curator() const {
        const std::string compile =
            "javac -cp " + jars_ + " -d " + home_.directory() + " " + sources_ + "/CuratorWorker.java";
        ASSERT_EQ(std::system(compile.c_str()), 0) << compile;
    }

    std::vector<std::string> curator(const std::string& kind) const {
        return {"java",
                "-cp",
                home_.directory() + ":" + jars_,
                "CuratorWorker",
                node().address(),
                root_ + "/orders/17",
                kind,
                std::to_string(acquisitions),
                home_.directory()};
    }

    void contend(const std::vector<std::string>& worker, const visitor& locked) {
        meeting_place place{home_.directory()};
        testing::server_process other{home_, worker, home_ / "other.log"};
        ASSERT_TRUE(eventually([&] { return place.count() > 0 || !other.running(); }, plenty)) << "both at once";
        int overlaps = 0;
        for (int i = 0; i < acquisitions; ++i) locked([&] { overlaps += place.visit() ? 0 : 1; });
        EXPECT_TRUE(eventually([&] { return !other.running(); }, std::chrono::minutes{3}));
        EXPECT_EQ(overlaps, 0);
        EXPECT_NE(other.last_words().find("overlaps=0"), std::string::npos) << other.last_words();
        EXPECT_EQ(place.count(), 2 * acquisitions);
    }

    const std::string sources_ = MORTISE_SOURCE_DIR "/src/stores/zookeeper/interop";
    const std::string jars_ = [] {
        std::string all;
        for (const char* jar : {"curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute",
                                "guava", "slf4j-api", "slf4j-nop"})
            all += std::string(all.empty() ? "" : ":") + "/usr/share/java/" + jar + ".jar";
        return all;
    }();
    testing::server_group home_;
};

TEST_F(zookeeper_interop, an_inter_process_mutex_of_curator_and_ours_exclude_each_other) {
    client locks{curator_url()};
    mutex mine{locks, "orders/17"};
    contend_with_curator("mutex", [&](const auto& work) {
        const std::scoped_lock guard{mine};
        work();
    });
}

TEST_F(zookeeper_interop, a_writer_of_curator_and_ours_exclude_each_other) {
    client locks{curator_url()};
    shared_mutex mine{locks, "orders/17"};
    contend_with_curator("write", [&](const auto& work) {
        const std::scoped_lock guard{mine};
        work();
    });
}

// Readers of both sides read together; a writer of either side is alone. A reader leaves a file in "readers" while it reads, a
// writer makes "inside": nobody may see both.
TEST_F(zookeeper_interop, readers_and_writers_of_curator_and_ours_respect_each_other) {
    compile_curator();
    const std::filesystem::path room = home_.directory();
    const auto readers = room / "readers";
    const auto reading = [&] { return std::distance(std::filesystem::directory_iterator{readers}, {}); };
    std::filesystem::create_directory(readers);
    client locks{curator_url()};
    shared_mutex mine{locks, "orders/17"};
    testing::server_process other{home_, curator("both"), home_ / "other.log"};
    int overlaps = 0;
    int together = 0;
    for (int i = 0; i < acquisitions || other.running(); ++i) {
        if (i % 4 == 0) {
            const std::scoped_lock guard{mine};
            if (!std::filesystem::create_directory(room / "inside") || reading() > 0) ++overlaps;
            std::filesystem::remove(room / "inside");
        } else {
            const std::shared_lock guard{mine};
            std::filesystem::create_directory(readers / "ours");
            if (std::filesystem::exists(room / "inside")) ++overlaps;
            if (reading() > 1) ++together;
            std::filesystem::remove(readers / "ours");
        }
    }
    EXPECT_EQ(overlaps, 0);
    EXPECT_NE(other.last_words().find("overlaps=0"), std::string::npos) << other.last_words();
    EXPECT_GT(together, 0) << "readers of both sides at once";
}

// With extra_lock_patterns=["-lock-"] kazoo sees our nodes, and we know its own.
TEST_F(zookeeper_interop, a_lock_of_kazoo_and_ours_exclude_each_other) {
    client locks{curator_url()};
    mutex mine{locks, "orders/17"};
    contend({"/usr/bin/python3", sources_ + "/kazoo_worker.py", node().address(), root_ + "/orders/17",
             std::to_string(acquisitions), home_.directory()},
            [&](const auto& work) {
                const std::scoped_lock guard{mine};
                work();
            });
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
