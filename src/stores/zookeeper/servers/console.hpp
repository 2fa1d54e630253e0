// What an operator can do to servers of a test.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::zookeeper::servers {

// A session of its own with servers, "host:port,host:port". Throws std::runtime_error where something fails.
class console {
public:
    explicit console(const std::string& servers);
    ~console();

    std::vector<std::string> children(const std::string& path);  // none if there is no such node
    std::string data(const std::string& path);
    std::int64_t owner(const std::string& path);  // the session that the node ends with
    void make_to_read(const std::string& path);   // a node that everybody may read and nobody may change
    void set(const std::string& path, const std::string& data);
    void remove(const std::string& path);

    // Ends a session of somebody else's, as an operator would: takes it over and closes it.
    void end_session(std::int64_t id);

private:
    struct handle;
    const std::string servers_;
    std::unique_ptr<handle> inside_;
};

}  // namespace mortise::inline v0::stores::zookeeper::servers
