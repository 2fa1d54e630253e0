#include "tree/include_graph.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace tree {
namespace {

using graph = std::map<std::string, std::map<std::string, const include_line*>>;

std::string node_of(const std::string& path) {
    return path.substr(0, path.rfind('.'));
}

// The lines that lead from a node back to itself, along the shortest way.
std::optional<std::vector<const include_line*>> way_back(const graph& all, const std::string& start) {
    std::map<std::string, std::pair<std::string, const include_line*>> came_from;
    std::deque<std::string> next{start};
    while (!next.empty()) {
        const std::string at = next.front();
        next.pop_front();
        const auto edges = all.find(at);
        if (edges == all.end()) continue;
        for (const auto& [to, line] : edges->second) {
            if (!came_from.try_emplace(to, at, line).second) continue;
            if (to != start) {
                next.push_back(to);
                continue;
            }
            std::vector<const include_line*> way;
            for (std::string back = start;;) {
                const auto& [from, by] = came_from.at(back);
                way.insert(way.begin(), by);
                if (from == start) return way;
                back = from;
            }
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::string> cycles(const std::string& folder, const std::vector<include_line>& lines) {
    graph all;
    for (const include_line& line : lines) {
        if (!line.file.starts_with(folder + "/") || !line.header.starts_with(folder + "/")) continue;
        if (node_of(line.file) != node_of(line.header))
            all[node_of(line.file)].try_emplace(node_of(line.header), &line);
    }

    std::vector<std::string> found;
    std::set<std::string> told;
    for (const auto& [start, edges] : all) {
        if (told.contains(start)) continue;
        const auto way = way_back(all, start);
        if (!way) continue;
        std::string text = folder + ": a cycle of " + std::to_string(way->size()) + " includes\n";
        for (const include_line* line : *way) {
            told.insert(node_of(line->file));
            text += "  " + line->file + ":" + std::to_string(line->number) + " includes " + line->header + "\n";
        }
        found.push_back(std::move(text));
    }
    return found;
}

}  // namespace tree
