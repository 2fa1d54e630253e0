#include "acquisition.hpp"

#include "claim_arguments.hpp"
#include "enclosing_runs.hpp"
#include "failure.hpp"
#include "metrics.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "store_client.hpp"
#include "wait_display.hpp"

#include <optional>
#include <stop_token>

#include <poll.h>
#include <unistd.h>

namespace command {
namespace {

int refused(const request& asked, const std::string& name, const mortise::refusal& no) {
    const exit_code kind = code_of(no.reason);
    const int code = kind == exit_code::busy ? busy_code_of(asked.given) : static_cast<int>(kind);
    return report(asked.settings.json, code, name, no);
}

}  // namespace

acquisition acquire_lock(const request& asked, mortise::claim wanted, const signal_source& signals) {
    std::optional<metrics_page> page;
    if (const auto port = metrics_port_of(asked.given)) page.emplace(*port);
    acquisition got{.locks = client_of(asked.settings, observed_by(page)), .news = std::make_shared<inbox>()};
    require_shared_store(*got.locks);
    if (wanted.options.kept_by == mortise::kept_by::lease) require_detached_claims(*got.locks);
    refuse_self_wait(*got.locks, wanted);
    if (page) page->serve(got.locks, wanted.name);
    if (got.news->get() < 0) throw failure(exit_code::unavailable, "no file descriptors left; raise ulimit -n");
    const std::string name = wanted.name;
    std::stop_source withdraw;
    wanted.options.stop = withdraw.get_token();
    got.locks->start(std::move(wanted), [box = got.news](mortise::attempt answer) { box->answer(std::move(answer)); });
    std::optional<wait_display> display;
    const bool live = is_terminal(STDERR_FILENO) && !asked.settings.json;
    if (live || asked.settings.verbose) display.emplace(got.locks, name, live, ::getpgrp(), asked.settings.json);

    int interrupted = 0;
    inbox::news heard;
    while (!heard.answer) {
        pollfd sources[]{{signals.get(), POLLIN, 0}, {got.news->get(), POLLIN, 0}};
        ::poll(sources, std::size(sources), -1);
        if (sources[1].revents != 0) heard = got.news->take();
        while (const auto signal = signals.read()) {
            interrupted = ended_by(*signal);
            withdraw.request_stop();
        }
    }
    if (display) display->end();
    if (*heard.answer) got.hold = *std::move(*heard.answer);
    if (interrupted != 0) {
        got.hold.release();
        got.hold = {};
        got.code = interrupted;
    } else if (!*heard.answer) {
        got.code = refused(asked, name, heard.answer->refusal());
    } else {
        got.hold.on_lost([box = got.news] { box->lose(); });
    }
    return got;
}

}  // namespace command
