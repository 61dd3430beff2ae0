# A thin front for CMake and the test runner: `make help`.
PREFIX ?= /usr/local
BUILD  := build
ifeq ($(MIDDEN_NO_SETUP),)
SETUP  := tools/setup.sh
else
SETUP  := true
endif

.DEFAULT_GOAL := all
.PHONY: all help setup demo test test-quick test-portability test-programs torture soak check-walks sanitizers golden bench bench-looks bench-python fuzz web web-speed web-audit format lint install clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing (Debian packages)
	@$(SETUP) build

all: ## build build/midden and build/libmidden.so
	@$(SETUP) build
	@cmake --preset release -DMIDDEN_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) --target midden libmidden

demo: all ## build, record a sample program and show its report
	@tools/demo.sh

sanitizers:
	@cmake --preset asan >/dev/null
	@cmake --build $(BUILD)/asan
	@cmake --preset tsan >/dev/null
	@cmake --build $(BUILD)/tsan

test: ## install what is missing, build, run all tests; ends with `N passed, N failed`
	@$(SETUP) build test
	@cmake --preset release -DMIDDEN_TESTS=ON -DMIDDEN_WERROR=ON >/dev/null
	@cmake --build $(BUILD)
	@$(MAKE) --no-print-directory sanitizers
	@tests/run.py

test-quick: ## unit and rule tests only, without sanitizers
	@cmake --preset release -DMIDDEN_TESTS=ON -DMIDDEN_WERROR=ON >/dev/null
	@cmake --build $(BUILD)
	@tests/run.py unit rules

test-portability: ## other Debian releases, arm64 and amd64, gcc and clang, musl (1 to 3 hours; QUICK=1: 5 to 20 minutes)
	@$(SETUP) build test portability $(if $(QUICK),,machine)
	@cmake --preset release -DMIDDEN_TESTS=ON -DMIDDEN_WERROR=ON >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@tools/portability.py $(if $(QUICK),--quick)

golden: ## write the expected outputs in tests/golden anew
	@cmake --preset release -DMIDDEN_TESTS=ON >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@MIDDEN_TEST_RENEW=1 /usr/bin/python3 -m pytest -q -c tests/pytest.ini tests/e2e/golden
	@git status --short tests/golden

test-programs: ## real programs and their own tests, natively and under midden (PROGRAMS="redis git ...")
	@$(SETUP) build test programs
	@cmake --preset release -DMIDDEN_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@tests/programs/run.py $(PROGRAMS)

torture: ## random programs against their own accounts, for MINUTES (30), from SEED
	@$(SETUP) build test
	@cmake --preset release -DMIDDEN_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@tests/torture/run.py --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED)) $(if $(ROUNDS),--rounds $(ROUNDS))

check-walks: ## every walk done twice on real programs, for MINUTES (10)
	@$(SETUP) build test
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) --target midden
	@tools/check_walks.py --minutes $(or $(MINUTES),10)

soak: ## two services in sampling mode for MINUTES (30): is midden's memory flat, what does it cost
	@$(SETUP) build bench
	@cmake --preset release -DMIDDEN_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@tests/soak/run.py --minutes $(or $(MINUTES),30)

bench: ## compare with native, a forward-only library and other profilers (QUICK=1: 2 minutes)
	@$(SETUP) build bench
	@cmake --preset release -DMIDDEN_TESTS=ON >/dev/null
	@cmake --build $(BUILD) --target midden libmidden collector_bench large_profile
	@bench/run.py $(if $(QUICK),--quick)

bench-looks: ## how long looks at lost blocks and resident pages take, and keep the program from running
	@$(SETUP) build
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@bench/looks.py

bench-python: ## what recording Python costs beside memray, in a release of Debian that has it (as root)
	@$(SETUP) build bench
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@bench/python_peers.py

fuzz: ## run each fuzzer for a minute (SECONDS_EACH=…)
	@$(SETUP) build test
	@cmake --preset fuzz >/dev/null
	@cmake --build $(BUILD)/fuzz
	@tools/fuzz.sh $(BUILD)/fuzz $(or $(SECONDS_EACH),60)

web: ## bundle the viewer's page anew (npm): web/dist/page.html
	@cd web && npm ci --no-audit --no-fund --silent && npm run --silent check && npm run --silent build

web-speed: ## how long everything in the viewer takes with 200,000 stacks (Chromium, npm)
	@tools/viewer_speed.py --build $(BUILD)

web-audit: ## are there known weaknesses in what the page is built with? (npm, and a registry that answers)
	@tools/web_audit.py

format: ## format all C files
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint: ## clang-tidy on all product code
	@cmake --preset release >/dev/null
	@tools/lint.sh $(BUILD)

install: ## install below PREFIX (/usr/local)
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DMIDDEN_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) --target midden libmidden
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove build/
	@rm -rf $(BUILD)
