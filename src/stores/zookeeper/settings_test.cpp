// What an address of ZooKeeper may say.
#include "stores/zookeeper/settings.hpp"

#include <mortise/error.hpp>

#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace std::chrono_literals;

settings read(const std::string& text) {
    return settings::of(base::url::parse(text));
}

TEST(zookeeper_settings, of_a_host_alone_are_the_usual_ones) {
    const settings s = read("zookeeper://zk1");
    EXPECT_EQ(s.servers, "zk1:2181");
    EXPECT_EQ(s.root, "/mortise");
    EXPECT_EQ(s.session, 30s);
    EXPECT_TRUE(s.user.empty());
}

TEST(zookeeper_settings, take_several_hosts_a_path_a_user_and_options) {
    const settings s = read("zookeeper://ann:secret@zk1:2182,zk2,[::1]:2183/apps/locks/?session=1500ms");
    EXPECT_EQ(s.servers, "zk1:2182,zk2:2181,[::1]:2183");
    EXPECT_EQ(s.root, "/apps/locks");
    EXPECT_EQ(s.user, "ann");
    EXPECT_EQ(s.password, "secret");
    EXPECT_EQ(s.session, 1500ms);
}

TEST(zookeeper_settings, for_curator_begin_at_the_root_of_all_nodes) {
    EXPECT_EQ(read("zookeeper://h?protocol=curator").root, "");
    EXPECT_EQ(read("zookeeper://h/apps?protocol=curator").root, "/apps");
    EXPECT_EQ(read("zookeeper://h/apps?protocol=curator").protocol, naming::protocol::curator);
    EXPECT_EQ(read("zookeeper://h").protocol, naming::protocol::own);
}

TEST(zookeeper_settings, that_cannot_be_are_refused_in_one_line_without_the_password) {
    for (const std::string bad : {"zookeeper:",
                                  "zookeeper://",
                                  "zookeeper://h:0",
                                  "zookeeper://h:x",
                                  "zookeeper://:2181",
                                  "zookeeper://h?session=0s",
                                  "zookeeper://h?session=999ms",
                                  "zookeeper://h?session=2h",
                                  "zookeeper://h?session=3601s",
                                  "zookeeper://h?session=",
                                  "zookeeper://h?tls=1",
                                  "zookeeper://h?protocol=kazoo",
                                  "zookeeper://h/a//b",
                                  "zookeeper://h/a/../b",
                                  "zookeeper://h/./b",
                                  "zookeeper://h/zookeeper/x",
                                  "zookeeper://u@h",
                                  "zookeeper://u:sesame@h?nothing=1",
                                  "zookeeper://u:sesame@h?password_file=/dev/null",
                                  "zookeeper://u@h?password_file=/does/not/exist"})
        try {
            static_cast<void>(read(bad));
            ADD_FAILURE() << "accepted " << bad;
        } catch (const error& e) {
            const std::string message = e.what();
            EXPECT_EQ(e.code(), errc::bad_url) << message;
            EXPECT_EQ(message.find('\n'), std::string::npos) << message;
            EXPECT_EQ(message.find("sesame"), std::string::npos) << message;
        }
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
