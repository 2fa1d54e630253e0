# Short names. ./quickstart and ./test need no make.
.PHONY: quickstart test scenarios install uninstall mortise-check asan tsan storms failovers models mutants fuzz simulate interop peers compare check-short check-long pictures bench docs reference sizes format tidy syntax ci clean

BUILD = build
PREFIX = /usr/local
OPTIONS =
export DESTDIR

quickstart:
	@./quickstart

test:
	@./test

# The library, the command and their documents. make install PREFIX=/opt/mortise DESTDIR=/tmp/stage
# OPTIONS='-DBUILD_SHARED_LIBS=ON'; all three may be left out. uninstall wants the same.
install:
	@. .ci/lib.sh && need g++ cmake ninja-build && \
		configure_in $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(OPTIONS) && \
		build $(BUILD) mortise_package && cmake --install $(BUILD) --prefix $(PREFIX)

uninstall:
	@packaging/uninstall $(BUILD) $(PREFIX)

# The checker alone, for a store of yours: make mortise-check && build/mortise-check --store redis://127.0.0.1 --minutes 5
mortise-check:
	@. .ci/lib.sh && need g++ cmake ninja-build pkgconf libgtest-dev libgmock-dev libssl-dev libzookeeper-mt-dev \
		libnghttp2-dev libmariadb-dev libpq-dev && configure -DMORTISE_BUILD_TESTS=ON && build build mortise_check

asan tsan:
	@.ci/preset $@

# The storms alone, in full length; those of processes on every store that processes can meet on. Then the audits: what faults
# leave behind in each store.
storms:
	@./test -N >/dev/null
	@failed=0; for program in build/tests/storm_tests build/tests/process_storm_tests \
		build/tests/base_histories build/tests/core_histories build/src/stores/host/store_host_histories \
		'build/tests/command_tests --gtest_filter=*command_storm*:*command_crowd*' \
		'build/tests/conformance_tests --gtest_filter=*audits.*' \
		$(foreach store,host redis etcd zookeeper,\
			'build/src/stores/$(store)/store_$(store)_tests --gtest_filter=$(store)_audit*') \
		'build/src/stores/redlock/store_redlock_tests --gtest_filter=*two_clients*' \
		'build/src/stores/mysql/store_mysql_tests --gtest_filter=mysql_ours*'; do \
		if [ -x $${program%% *} ]; then \
			MORTISE_STORM_SCALE=1.0 MORTISE_STORMS_IN_FULL=1 $$program || failed=1; fi; \
	done; exit $$failed

# Masters of Redis that are killed and frozen in turn, fifty times in each arrangement.
failovers:
	@./test -N >/dev/null
	@MORTISE_STORMS_IN_FULL=1 build/src/stores/redis/store_redis_tests '--gtest_filter=redis_failovers.*'

# What is proved of the protocols, in full: a quarter of an hour, some 12 GB. The tests check small versions.
models:
	@. .ci/lib.sh && need spin gcc libc6-dev
	@models/check full

# A promise broken at a time, and tests that must notice. Some of them: tests/mutants/run NAME...
mutants:
	@tests/mutants/run

# Processes and servers that are killed, stopped and cut off while they lock, and a verdict on each store; and controls that must be
# convicted. Two minutes and a half, or hours.
check-short check-long:
	@./test -N >/dev/null
	@checker/check $(@:check-%=%)

# A million runs of the core on simulated time and network. Another million: make simulate FROM=1000001
FROM = 1
simulate:
	@. .ci/lib.sh && need g++ cmake ninja-build libgtest-dev libgmock-dev libssl-dev && \
		configure -DMORTISE_BUILD_TESTS=ON && build build mortise_simulate
	@build/mortise-simulate --seeds 1000000 --from $(FROM) --jobs $$(nproc)

# Made-up bytes for everything that reads bytes, MINUTES for each target: make fuzz MINUTES=10
MINUTES = 10
fuzz:
	@fuzz/run $(MINUTES)

# Locks that are shared with programs of other languages.
interop:
	@. .ci/lib.sh && need default-jdk-headless libcurator-recipes-java python3-kazoo golang-go golang-etcd-server-dev
	@. .ci/lib.sh && { command -v npm >/dev/null || need nodejs npm; }
	@./test -N >/dev/null
	@npm install --silent --no-audit --no-fund --prefix build/node redlock@5.0.0-beta.2 redis-semaphore@5 ioredis@5
	@failed=0; for store in redis redlock zookeeper etcd; do \
		MORTISE_INTEROP=1 NODE_PATH=build/node/node_modules build/src/stores/$$store/store_$${store}_tests "--gtest_filter=$${store}_interop*" || failed=1; \
	done; exit $$failed

# Four processes of Go's and of Curator's mutex, and ours on the same servers.
peers:
	@. .ci/lib.sh && need default-jdk-headless libcurator-recipes-java golang-go golang-etcd-server-dev libhiredis-dev pkg-config
	@./test -N >/dev/null
	@tests/peers/run

# Every store on a server of its own, on loopback and with 0.5 ms a trip; writes the tables of docs/choosing.md. Five minutes.
compare:
	@./test -N >/dev/null
	@build/tests/compare_stores build/mortise docs/choosing.md '--seconds 0.15'

# The patterns in full: a million mixed operations on a consistent cache, a hundred periods, 50 elections; and the plot of
# docs/sharded_stock.md. Half an hour.
scenarios:
	@./test -N >/dev/null
	@MORTISE_STORM_SCALE=200 MORTISE_STOCK_SVG=docs/sharded_stock.svg build/tests/patterns_tests
	@MORTISE_STORM_SCALE=200 build/tests/command_tests --gtest_filter='elect_*:once_*'
	@LD_PRELOAD=$(CURDIR)/build/tests/libwall_clock_shim.so MORTISE_TEST_WALL=spread=1800 \
		build/tests/patterns_tests --gtest_filter='*credentials*'

# host: beside flock(2), a robust mutex and a futex ping-pong.
bench:
	@. .ci/lib.sh && need g++ cmake ninja-build && configure -DMORTISE_STORE_HOST=ON && build build mortise_program
	@build/mortise bench --store host: --check

# The pages that are made from the code.
docs:
	@./test -N >/dev/null
	@MORTISE_WRITE_DOCS=1 build/tests/tree/guarantees_tests

# The ten largest classes, by their member functions.
sizes:
	@. .ci/lib.sh && need g++ cmake ninja-build libgtest-dev libgmock-dev libssl-dev && \
		configure -DMORTISE_BUILD_TESTS=ON && build build tree_tests
	@build/tests/tree/tree_tests --gtest_filter=structure.the_ten_largest_classes

# The API as web pages, from the public headers.
reference:
	@. .ci/lib.sh && need doxygen
	@mkdir -p build/reference && doxygen docs/reference/Doxyfile && echo build/reference/html/index.html

format:
	@.ci/format --fix

tidy:
	@.ci/tidy

# Each file of the library and the command alone, with clang: that it includes what it uses. Others are compiled many at a time.
syntax:
	@./test -N >/dev/null
	@sh tests/tree/clang_syntax.sh clang++-14 $(CURDIR)/build $(CURDIR)

ci:
	@bash .ci/run

clean:
	rm -rf build build-*

# The pictures of docs/learn.md and of the README, in both languages.
learned = no-lock lock-in-each-process finally-and-a-crash setnx-then-expire work-outlives-lease get-compare-del \
	the-watchdog-of-any-key the-count-outlives-the-lease the-master-dies pause-past-the-lease \
	a-late-delete a-version-without-a-row
pictures:
	@./test -N >/dev/null
	@for lang in en zh; do \
		build/mortise-lab run $(learned) --form naive --lang $$lang --svg docs/lab/ >/dev/null || exit 1; done
