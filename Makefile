# make        the release binary: all libraries linked in, only libc shared
# make help   every other target
#
# CC, CFLAGS, LDFLAGS, BUILD (where objects go), PREFIX, DESTDIR and the switches that `make help`
# shows may be given on the command line. Each switch builds in a directory of its own.

ifeq ($(origin CC),default)
CC = gcc
endif

# All cores, unless -j says otherwise. (What is made after `clean` must wait for it.)
ifeq ($(MAKELEVEL)$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/vendor_completions.d

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef -Werror
CFLAGS ?= $(DEFAULT_CFLAGS)
LDFLAGS ?=

# What each switch changes

DEFAULT_CFLAGS = -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
# libarchive's own come behind it; the codecs are among them.
LIBS = -l:libsqlite3.a -l:libbson-static-1.0.a -l:libarchive.a -l:libnettle.a -l:libacl.a \
	-l:liblzma.a -l:liblz4.a -l:libbz2.a -l:libzstd.a -l:libz.a -l:libfuse3.a -l:libutf8proc.a -lm -pthread
BSON_FLAGS = -DBSON_STATIC
variant = release

ifdef SHARED
variant = shared
LIBS = -lsqlite3 -lbson-1.0 -larchive -llzma -llz4 -lbz2 -lzstd -lz -lfuse3 -lutf8proc -pthread
BSON_FLAGS =
endif

ifdef STATIC
variant = static
LINK_MODE = -static
# Owners are then looked up in /etc/passwd and /etc/group alone.
override CPPFLAGS += -DSTATIC_LIBC
endif

ifdef SANITIZE
ifeq ($(SANITIZE),thread)
variant = thread
SANITIZERS = -fsanitize=thread
else
variant = sanitize
# Tests start the program ten thousand times, and half of a start would be registering global variables
# and loading libraries. Overflows of global variables are seen by the fuzzers' build.
SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=all --param asan-globals=0 \
	-static-libasan -static-libubsan
endif
# gcc takes its own instrumentation for uses of what was not set.
DEFAULT_CFLAGS = -O1 -g1 -fno-omit-frame-pointer -Wno-maybe-uninitialized -fno-pie
LINK_MODE = -no-pie
endif

BSON_INCLUDE ?= /usr/include/libbson-1.0
BUILD ?= build/$(variant)
SHARDBOX = $(BUILD)/shardbox

ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Ilib -Icmd -Itests/unit \
	-isystem $(BSON_INCLUDE) $(BSON_FLAGS) $(CPPFLAGS) \
	$(WARNINGS) $(CFLAGS) $(SANITIZERS) -pthread
# Threads that liblzma starts come from a reserve (lib/core/thread.h).
LINK = $(CC) $(ALL_CFLAGS) $(LINK_MODE) -Wl,--wrap=pthread_create $(LDFLAGS)

# $(call run,WORD,COMMAND): one short line for each step; V=1 shows the commands themselves.
run = $(if $(V),$(2),@echo '  $(1)	$@'; $(2))

# The program

LIBRARY_SOURCES := $(sort $(shell find lib -name "*.c"))
COMMAND_SOURCES := $(sort $(shell find cmd -name "*.c"))
UNIT_SOURCES := $(sort $(shell find tests/unit -name "*.c"))
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/*_fuzz.c))
BENCH_SOURCES := $(sort $(wildcard tests/bench/*.c))

LIBRARY_OBJECTS = $(LIBRARY_SOURCES:%.c=$(BUILD)/%.o)
COMMAND_OBJECTS = $(COMMAND_SOURCES:%.c=$(BUILD)/%.o)
LIBRARY = $(BUILD)/library.a
UNIT_TESTS = $(UNIT_SOURCES:%.c=$(BUILD)/%)
FUZZERS = $(FUZZ_SOURCES:%.c=$(BUILD)/%)
BENCH_TOOLS = $(BENCH_SOURCES:%.c=$(BUILD)/%)

## make                      the release binary, build/release/shardbox; SHARED=1, V=1 (shows commands)
all: $(SHARDBOX)

$(SHARDBOX): $(COMMAND_OBJECTS) $(LIBRARY_OBJECTS)
	$(call run,LINK,$(LINK) -o $@ $^ $(LIBS))

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call run,CC,$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<)

$(BUILD)/cmd/complete.o: $(wildcard completions/*)

# Changes when the commands above do, so that objects of different flags are never mixed.
flags := $(LINK) $(LIBS)
ifneq ($(flags),$(file <$(BUILD)/flags))
$(BUILD)/flags: FORCE
endif
$(BUILD)/flags:
	@mkdir -p $(@D)
	@echo '$(flags)' >$@

-include $(patsubst %.c,$(BUILD)/%.d,$(LIBRARY_SOURCES) $(COMMAND_SOURCES) $(UNIT_SOURCES) \
	$(FUZZ_SOURCES) $(BENCH_SOURCES))

## make static               libc linked in too, for a machine with an older one
static:
	$(MAKE) STATIC=1 all

# Tests

# What takes longest comes first, so that nothing is left that runs alone at the end.
LONG_TESTS = $(addprefix tests/bats/,hostile_numbers.bats feed-parts.bats mount.bats faults.bats docs.bats)
ALL_TESTS = $(LONG_TESTS) $(UNIT_TESTS) $(filter-out $(LONG_TESTS),$(wildcard tests/bats/*.bats))

# What has threads: unit tests by name, tests of bats files by their tag.
THREADED_UNITS = $(addprefix $(BUILD)/tests/unit/,core/context core/pipeline core/throttle \
	store/tree/target archive/mover/mover archive/parity/parity store/archive/sink \
	store/cache/cache_values store/out/filter task/transfer/transfer)

ifeq ($(SANITIZE),thread)
export TAG = threads
# Half of the bats files each day.
TEST_FILES = $(THREADED_UNITS) $(shell grep -lE '^# bats (file|test)_tags=.*\bthreads\b' tests/bats/*.bats | \
	awk -v every=$(or $(EVERY),0) -v day=$$(date +%j) 'every || NR % 2 == day % 2')
else
TEST_FILES = $(ALL_TESTS)
endif
TESTS = $(or $(FILES),$(TEST_FILES))

# Tests that count calls, memory or time run the release build, by way of helper.bash, and so do the
# libraries that are loaded in front of it.
RELEASE = $(abspath build/release)
export SHARDBOX
export EVERY
export RELEASE_SHARDBOX = $(RELEASE)/shardbox
export FAULT_SHIM = $(RELEASE)/tests/faults/shim.so
export SLOW_SHIM = $(RELEASE)/tests/faults/slow.so
export MAKE_ARCHIVE = $(RELEASE)/tests/bench/make_archive
SHIMS = $(FAULT_SHIM) $(SLOW_SHIM)

## make test                 each test once: under the address and undefined behaviour sanitizers every other
##                           day, else in the release build; EVERY=1: all that can be; FILES="..." for some of them
## make test SANITIZE=thread what has threads, under the thread sanitizer; half of it each day, or EVERY=1
test: SANITIZE ?= 1
test: test-dependencies
	$(MAKE) SANITIZE= test-tools
	$(MAKE) SANITIZE=$(SANITIZE) test-built

test-tools: $(SHARDBOX) $(SHIMS) $(BUILD)/tests/bench/make_archive

test-built: $(SHARDBOX) $(filter $(UNIT_TESTS),$(TESTS))
	@tests/tools/run-tests $(BUILD)/test-log $(TESTS)

# The linker takes out of it what a program calls, which is less than all.
$(LIBRARY): $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(call run,AR,$(AR) rcs $@ $^)

$(UNIT_TESTS): %: %.o $(LIBRARY)
	$(call run,LINK,$(LINK) -o $@ $^ $(LIBS))

$(FAULT_SHIM): $(addprefix tests/faults/,fault.h pause.h record.h)
$(SHIMS): $(RELEASE)/%.so: %.c
	@mkdir -p $(@D)
	$(call run,LINK,$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O1 -g -fPIC -shared -o $@ $<)

# Every allocation of the program and of SQLite can be made to fail below the address sanitizer.
wrap_allocations = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
oom-built: $(BUILD)/tests/faults/wrap.o $(COMMAND_OBJECTS) $(LIBRARY_OBJECTS)
	$(call run,LINK,$(LINK) $(wrap_allocations) -o $(BUILD)/shardbox $^ $(LIBS))

test-dependencies:
	scripts/deps build test

## make test-peers           against tar, zip, cpio, Python, and Barecat where PyPI is in reach
PEER_TOOLS = $(BUILD)/tests/unit/store/samples/samples $(BUILD)/tests/unit/core/rs/rs
test-peers: $(SHARDBOX) $(FAULT_SHIM) $(PEER_TOOLS)
	SAMPLE_NAMES=$(abspath $(BUILD))/tests/unit/store/samples/samples \
		RS_PIECES=$(abspath $(BUILD))/tests/unit/core/rs/rs tests/peers/run $(FILES)

## make test-cluster         parts in ranks of a real SLURM and Open MPI, which it starts on this machine
test-cluster: $(SHARDBOX) $(FAULT_SHIM)
	tests/cluster/run $(FILES)

## make test-packages        installs, uses and removes what deb and tarball make, on a bare Debian; needs root
test-packages: deb tarball
	scripts/deps test test-packages
	DEB=$$(echo $(CURDIR)/build/packages/*.deb) TARBALL=$$(echo $(CURDIR)/build/packages/*.tar.gz) \
		BARE=$(CURDIR)/build/packages/bare tests/tools/run-tests build/packages/test-log tests/packages/packages.bats

## make test-faults          calls and allocations fail one by one; kills; power failures; flipped bits; DAY=N:
##                           a sample of two minutes, another one each day
ifdef DAY
test-faults: test-tools
	$(MAKE) SANITIZE=1 all
	OOM_SHARDBOX=build/sanitize/shardbox tests/faults/all -d $(DAY)
else
# Files are moved in batches of a few bytes, so that there is more than one; few are restored from memory.
test-faults: $(FAULT_SHIM)
	$(MAKE) BUILD=build/faults CPPFLAGS='$(CPPFLAGS) -DSB_MOVER_BYTES=12000 -DSB_RESTORE_WHOLE=1000' all
	$(MAKE) SANITIZE=1 BUILD=build/oom oom-built
	SHARDBOX=build/faults/shardbox OOM_SHARDBOX=build/oom/shardbox tests/faults/all
endif

FUZZ_SECONDS ?= 60
## make fuzz                 libFuzzer, FUZZ_SECONDS=60 for each target
fuzz:
	scripts/deps build fuzz
	$(MAKE) CC=clang BUILD=build/fuzz SANITIZERS='-fsanitize=address,undefined,fuzzer-no-link \
		-fno-sanitize-recover=all' CFLAGS='-O1 -g' fuzz-built

fuzz-built: $(SHARDBOX) $(FUZZERS)
	tests/fuzz/run $(FUZZ_SECONDS) $(FUZZERS)

$(FUZZERS): %: %.o $(LIBRARY)
	$(call run,LINK,$(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS))

## make lint                 clang's warnings, clang-format, clang-tidy, cppcheck, shellcheck, mandoc, the plan of the
##                           house; DEEP=I/N: the Ith of N parts also by the whole of clang's analyzer (1/1: all)
lint: all
	scripts/deps build lint
	WARNINGS='$(WARNINGS)' scripts/lint $(DEEP)

## make bench                the figures of README.md and docs/measured.md
bench: all $(BENCH_TOOLS) $(SLOW_SHIM)
	scripts/deps build bench
	tests/bench/run $(SHARDBOX)

## make bench-scale          the figures of docs/scale.md: archives of up to BENCH_SCALE_MAX=21000000 files
bench-scale: all $(BENCH_TOOLS)
	scripts/deps build bench
	tests/bench/scale $(SHARDBOX) >$(BUILD)/scale.results
	tests/bench/scale-report tables $(BUILD)/scale.results

$(BENCH_TOOLS): %: %.o $(LIBRARY)
	$(call run,LINK,$(LINK) -o $@ $^ $(LIBS))

# Use

## make demo                 packs, lists, reads, verifies and unpacks a real tree
demo:
	scripts/deps build
	@$(MAKE) --no-print-directory all
	@scripts/demo $(SHARDBOX)

## make picture              draws docs/archive.svg anew
picture: all
	scripts/picture $(SHARDBOX) >docs/archive.svg

## make pages                runs the examples of README.md and docs/, and puts what they print there
pages: all
	for page in README.md docs/*.md; do \
		tests/tools/run-page $(SHARDBOX) $$page >build/page && cat build/page >$$page || exit; \
	done

## make deps                 installs what building needs (Debian)
deps:
	scripts/deps build

## make install              DESTDIR, PREFIX=/usr/local; and make uninstall
install: all
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(MANDIR)/man1 $(MANDIR)/man5 $(MANDIR)/man7 \
		$(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS))
	install -m 755 $(SHARDBOX) $(DESTDIR)$(BINDIR)/shardbox
	$(SHARDBOX) --list | while read -r name _; do \
		ln -sf shardbox $(DESTDIR)$(BINDIR)/shardbox-$$name && \
		ln -sf shardbox $(DESTDIR)$(BASH_COMPLETIONS)/shardbox-$$name && \
		ln -sf shardbox.fish $(DESTDIR)$(FISH_COMPLETIONS)/shardbox-$$name.fish || exit; \
	done
	install -m 644 $(wildcard man/*.1) $(DESTDIR)$(MANDIR)/man1
	install -m 644 $(wildcard man/*.5) $(DESTDIR)$(MANDIR)/man5
	install -m 644 $(wildcard man/*.7) $(DESTDIR)$(MANDIR)/man7
	install -m 644 completions/shardbox.bash $(DESTDIR)$(BASH_COMPLETIONS)/shardbox
	install -m 644 completions/_shardbox $(DESTDIR)$(ZSH_COMPLETIONS)/_shardbox
	install -m 644 completions/shardbox.fish $(DESTDIR)$(FISH_COMPLETIONS)/shardbox.fish

uninstall: all
	$(SHARDBOX) --list | while read -r name _; do \
		rm -f $(DESTDIR)$(BINDIR)/shardbox-$$name $(DESTDIR)$(BASH_COMPLETIONS)/shardbox-$$name \
			$(DESTDIR)$(FISH_COMPLETIONS)/shardbox-$$name.fish; \
	done
	rm -f $(DESTDIR)$(BINDIR)/shardbox $(DESTDIR)$(BASH_COMPLETIONS)/shardbox \
		$(DESTDIR)$(ZSH_COMPLETIONS)/_shardbox $(DESTDIR)$(FISH_COMPLETIONS)/shardbox.fish \
		$(patsubst man/%,$(DESTDIR)$(MANDIR)/man1/%,$(wildcard man/*.1)) \
		$(patsubst man/%,$(DESTDIR)$(MANDIR)/man5/%,$(wildcard man/*.5)) \
		$(patsubst man/%,$(DESTDIR)$(MANDIR)/man7/%,$(wildcard man/*.7))

## make deb                  a package for Debian, of the shared libraries, in build/packages
deb:
	scripts/deps build package
	$(MAKE) SHARED=1 all
	scripts/package/deb build/shared/shardbox build/packages

## make tarball              the static binary with all that belongs to it, to unpack below a home
tarball:
	scripts/deps build
	$(MAKE) static
	scripts/package/tarball build/static/shardbox build/packages

## make clean                removes build/
clean:
	rm -rf build

help:
	@sed -n 's/^## //p' Makefile

FORCE:

.PHONY: all static test test-built test-unit test-bats test-dependencies test-peers test-cluster \
	test-faults test-packages fuzz fuzz-built oom-built lint bench bench-scale demo picture pages deps deb tarball install uninstall \
	clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:
