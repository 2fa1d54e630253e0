# Short names. ./quickstart and ./test need no make.
.PHONY: quickstart test asan tsan storms format tidy ci clean

quickstart:
	@./quickstart

test:
	@./test

asan tsan:
	@.ci/preset $@

# The storms alone, in full length.
storms:
	@./test -N >/dev/null
	@MORTISE_STORM_SCALE=1.0 build/tests/storm_tests

format:
	@.ci/format --fix

tidy:
	@.ci/tidy

ci:
	@bash .ci/run

clean:
	rm -rf build build-*
