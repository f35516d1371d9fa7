# `make demo` and `make test` install what they need (Debian packages, as root or by sudo), then do what they say.
# Swift 6.2 or later must be there: https://www.swift.org/install/linux/

SWIFT ?= swift
PREFIX ?= /usr/local
# The Python of the system, for which the package manager has PyNaCl.
PYTHON ?= /usr/bin/python3
DEPENDENCIES = libsodium-dev libssl-dev libutf8proc-dev zlib1g-dev pkg-config python3 python3-nacl parallel

# Types are named by symbols that the linker resolves, not by names that the runtime parses, and then searches every
# conformance in the program for: start-up costs a sixth less.
OPTIMIZED = --configuration release --product vaultfile -Xswiftc -no-toolchain-stdlib-rpath \
    -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
RELEASE = $(OPTIMIZED) --static-swift-stdlib --disable-local-rpath
BINARY = .build/release/vaultfile
SOURCES = Package.swift Sources Tests Fuzz Benchmarks/Package.swift Benchmarks/Benchmarks

# The same without OpenSSL, to be measured beside it.
LIBSODIUM = .build/libsodium
# The same with all libraries in one file, which starts soonest and runs where none of them is installed.
STATIC = .build/static
# The same with checks that the compiler puts in.
THREAD = .build/thread
ADDRESS = .build/address
CLANG ?= clang

.PHONY: all build static demo test check crash faults timing mutants sanitize sanitize-thread sanitize-address fuzz \
    fuzz-coverage fuzz-command bench bench-check resources lint reference vectors man completions install uninstall \
    dependencies clean

build: dependencies
	$(SWIFT) build $(RELEASE)

# Security updates of the libraries reach it only when it is built again. The linker warns of calls that need the C
# library's own files at run time; none of them is made.
static: dependencies
	$(SWIFT) build --scratch-path $(STATIC) $(OPTIMIZED) -Xswiftc -static-executable

demo: build
	Tests/demo.sh $(BINARY)

test: dependencies lint build check reference demo

# The Swift tests, the vectors through every reader among them; of the command as it is handed out, which the optimiser
# has been at.
check: build
	VAULTFILE_BINARY=$(CURDIR)/$(BINARY) VAULTFILE_PYTHON=$(PYTHON) $(SWIFT) test

# The command killed at each of its system calls; takes a while, and strace.
crash: build
	Tests/crash-check.sh $(BINARY)

# Every check of the reading path deleted or inverted in turn: a vector or a test must notice. An hour or more.
mutants: dependencies
	SWIFT="$(SWIFT)" $(PYTHON) Tests/mutation/mutants.py

# Each of the command's system calls made to fail in every way, and places that are full, read-only and the like; takes
# a while, and strace.
faults: build
	$(PYTHON) Tests/faults/run.py $(BINARY)

# Whether the time of a refusal tells its reason; writes Benchmarks/TIMING.md. Nothing else should run meanwhile.
timing: dependencies
	cd Benchmarks && $(SWIFT) build -c release --product VaultTiming
	$(PYTHON) Benchmarks/timing/run.py Benchmarks/.build/release/VaultTiming

# All Swift tests, and the command that they run, under ThreadSanitizer and then under AddressSanitizer, which looks for
# leaks at the end. Each builds everything anew, optimised, for else it takes hours; `make test` has what is checked
# only where it is not. XCTest's runner is left out, for it leaks, and has no tests here. Those tests are left out in
# which the command may write no file or have little address space: the sanitizers need both.
SANITIZED = VAULTFILE_PYTHON=$(PYTHON) $(SWIFT) test --configuration release -Xswiftc -enable-testing --disable-xctest

sanitize: sanitize-thread sanitize-address

sanitize-thread: dependencies
	mkdir -p $(THREAD)
	$(CLANG) -O1 -fPIC -Wall -Wextra -Werror -c -o $(THREAD)/thread.o Tests/Sanitizers/thread.c
	$(SANITIZED) --scratch-path $(THREAD) --sanitize thread -Xlinker $(CURDIR)/$(THREAD)/thread.o \
	    --skip 'SystemTests/limits|SystemTests/withoutMemory|RecoverTests/aFullDisk' \
	    --skip 'StatusTests/full|KeyringSafetyTests/media'

sanitize-address: dependencies
	ASAN_OPTIONS=detect_leaks=1 $(SANITIZED) --scratch-path $(ADDRESS) --sanitize address \
	    --skip 'SystemTests/limits|SystemTests/withoutMemory'

# Whole processes beside other tools: age, gpg and openssl where they are installed. About an hour, 25 GB of
# disk and 17 of memory; says so first. BENCH="--quick", BENCH="--only memory-2GiB" and so on: see Benchmarks/README.md.
bench: build static
	$(SWIFT) build --scratch-path $(LIBSODIUM) --disable-default-traits $(RELEASE)
	$(PYTHON) Benchmarks/process/run.py $(BENCH)

# What hostile containers cost, at each cap of the format, past it, and by size: some minutes, 3 GB of disk and 3 of
# memory.
resources: build
	$(PYTHON) Benchmarks/resources/run.py $(RESOURCES)

# The library in one process: times, and allocations for each chunk, against the thresholds that are checked in.
bench-check: dependencies
	cd Benchmarks && $(SWIFT) package -c release benchmark thresholds check --no-progress --target VaultBenchmarks
	cd Benchmarks && $(SWIFT) package -c release --disable-default-traits --scratch-path .build/libsodium \
	    benchmark thresholds check --no-progress --target VaultBenchmarks

# libFuzzer and AddressSanitizer on everything that takes bytes which nobody vouches for: make fuzz TIME=60 TARGET=open.
# Without TARGET each of them for TIME seconds, one after the other; see Fuzz/README.md.
TIME = 60
TARGET = header open seek manifest packing keyfile keyring command recover rotate roundtrip differential inspect \
    keyringfiles pathlist decrypt
FUZZ = .build/fuzz
FUZZ_BUILD = $(SWIFT) build --configuration release --product Fuzzer

fuzz: dependencies
	VAULTFILE_FUZZ=-sanitize=fuzzer $(FUZZ_BUILD) --scratch-path $(FUZZ)/build --sanitize address
	PYTHON=$(PYTHON) Fuzz/run.sh $(FUZZ)/build/release/Fuzzer $(FUZZ) $(TIME) $(TARGET)

# What the inputs found so far reach, by source, and the lines that none of them reaches.
fuzz-coverage: dependencies
	VAULTFILE_FUZZ="-profile-generate -profile-coverage-mapping" $(FUZZ_BUILD) --scratch-path $(FUZZ)/coverage
	$(PYTHON) Fuzz/seeds.py $(FUZZ)/seeds
	SWIFT=$(SWIFT) $(PYTHON) Fuzz/coverage.py $(FUZZ)/coverage/release/Fuzzer $(FUZZ) $(TARGET)

# AFL++ on the finished command, for what only a whole process shows: make fuzz-command TIME=600 VERB=recover.
VERB = decrypt stream verify recover inspect
AFL = /usr/lib/afl/afl-compiler-rt-64.o

fuzz-command: dependencies
	@test -e $(AFL) || { echo "AFL++ is missing: apt-get install afl++" >&2; exit 1; }
	$(SWIFT) build --configuration release --product vaultfile --scratch-path $(FUZZ)/afl --sanitize address \
	    -Xswiftc -sanitize-coverage=edge,trace-pc-guard -Xswiftc -use-ld=lld -Xlinker $(AFL)
	$(PYTHON) Fuzz/seeds.py $(FUZZ)/seeds
	PYTHON=$(PYTHON) Fuzz/afl.sh $(FUZZ)/afl/release/vaultfile $(FUZZ)/command $(TIME) $(VERB)

lint:
	$(SWIFT) format lint --strict --recursive $(SOURCES)

# The Python reference: its known answers, every vector, its own mutations, and random changes with crashes; and that
# `make mutants` finds its checks.
reference:
	$(PYTHON) Spec/reference/known_answers.py
	$(PYTHON) Spec/reference/check_vectors.py
	$(PYTHON) Spec/reference/mutation_check.py
	$(PYTHON) Spec/reference/rotation_check.py
	$(PYTHON) Spec/vectors/generate.py --check
	$(PYTHON) Tests/mutation/mutants.py --check

# Writes the vectors anew; they come out the same unless the generator has changed.
vectors:
	$(PYTHON) Spec/vectors/generate.py

# In a folder of its own: the plugin links the command anew, without the static library.
man: dependencies
	mkdir -p .build/man
	$(SWIFT) package --scratch-path .build/manual plugin --allow-writing-to-directory .build/man generate-manual \
	    --multi-page --date "$$(git log -1 --format=%cs 2>/dev/null || date +%F)" --output-directory .build/man
	cd .build/man && for page in vaultfile.*.*1; do mv "$$page" "$$(echo "$${page%.1}" | tr . -).1"; done
	cd .build/man && for page in *.1; do \
	    sed -i.bak -e '/^\.Sh "SEE ALSO"/,$$d' -e '/^\.Dt /{s/\./-/g;s/^-/./;}' "$$page"; \
	    { printf '\n.Sh "SEE ALSO"\n'; \
	      ls *.1 | grep -vxF "$$page" | sed -e 's/^/.Xr /' -e 's/\.1$$/ 1 ,/' -e '$$s/ ,$$//'; } >>"$$page"; \
	    sed -i.bak -e 's/^$$/.Pp/' \
	        -e 's/^\.Ex -std.*/0 on success; the others are listed in vaultfile(1)./' "$$page"; \
	done && rm -f *.bak

completions: build
	mkdir -p .build/completions
	$(BINARY) --generate-completion-script bash > .build/completions/vaultfile.bash
	$(BINARY) --generate-completion-script zsh > .build/completions/_vaultfile
	$(BINARY) --generate-completion-script fish > .build/completions/vaultfile.fish

all: build man completions

# Copies what `make all` has made, so that root needs no Swift.
install:
	@test -x $(BINARY) -a -d .build/man -a -d .build/completions || { echo "run 'make all' first" >&2; exit 1; }
	install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/vaultfile
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 .build/man/*.1
	install -D -m 644 .build/completions/vaultfile.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/vaultfile
	install -D -m 644 .build/completions/_vaultfile $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_vaultfile
	install -D -m 644 .build/completions/vaultfile.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/vaultfile.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/vaultfile $(DESTDIR)$(PREFIX)/share/man/man1/vaultfile.1 \
	    $(DESTDIR)$(PREFIX)/share/man/man1/vaultfile-*.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/vaultfile \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_vaultfile \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/vaultfile.fish

dependencies:
	@command -v $(SWIFT) >/dev/null || { echo "Swift is missing: https://www.swift.org/install/linux/" >&2; exit 1; }
	@if command -v dpkg >/dev/null && ! dpkg -s $(DEPENDENCIES) >/dev/null 2>&1; then \
	    if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
	    $$as apt-get update -qq && \
	    $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(DEPENDENCIES); \
	fi

clean:
	rm -rf .build
