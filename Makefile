# headroom's entry points. Each does its own set-up first: on a fresh Debian 12, `make study` is enough.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
# Targets are made one after the other but for those that `together` names.
ifndef TOGETHER
.NOTPARALLEL:
endif
.DEFAULT_GOAL := help
.PHONY: help setup setup-build setup-check packages packages-arm64 packages-test headroom programs planted all-programs arm64 arm64-programs armv7 packages-armv7 board packages-board base first-base build check formatted checked all-targets test-guests test-crates tests-base tested dist dist-test study client-scale self-check contention completion faces packages-faces packages-improve red-team long-proofs test site guides clean

# headroom looks for the access point's programs beside itself, so the build's place is fixed.
export CARGO_TARGET_DIR := $(CURDIR)/target
# cargo is no make, and would warn of the jobs' pipe, which make does not hand on.
cargo := MAKEFLAGS= cargo

# rustup's cargo is found where no profile was read.
export PATH := $(PATH):$(HOME)/.cargo/bin

programs := --package agent --package guard --package stationd --package txd --package wld-model
for_device = RUSTFLAGS='-C target-feature=+crt-static' $(cargo) build --locked --profile device $(programs) --target
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER := aarch64-linux-gnu-gcc
export CC_aarch64_unknown_linux_gnu := aarch64-linux-gnu-gcc
export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER := arm-linux-gnueabihf-gcc
export CC_armv7_unknown_linux_gnueabihf := arm-linux-gnueabihf-gcc
export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_RUNNER := qemu-arm
headroom := target/release/headroom
tests_cache := $(CURDIR)/target/headroom-cache

help: ## what can be made
	@echo 'make TARGET'
	@echo
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

study: build ## what station statistics cost and what each cure is worth, proved and decided, as a report (about 10 minutes from nothing)
	$(headroom) run studies/station-stats.toml

client-scale: build ## what each associated client costs, idle and polled (about 2 minutes)
	$(headroom) run studies/client-scale.toml

self-check: build ## measure the lab itself: how far its figures can be trusted
	$(headroom) run studies/self-check.toml

contention: build ## what applications take from Wi-Fi, and what each control gives back (about an hour)
	$(headroom) run studies/app-contention.toml

completion: build ## what waiting for a transmit command costs, and what gives it back (about half an hour)
	$(headroom) run studies/tx-completion.toml

faces: build packages-faces ## what each of stationd's faces costs, for one consumer and for ten (about 4 minutes)
	$(headroom) run examples/faces/station-faces.toml

build: ## headroom, and the static programs for the access point
	@$(together) headroom packages programs first-base

# What is built and what is fetched keep each other company: two cargos fill both cores where one waits for a last crate.
together := $(MAKE) --no-print-directory --jobs=2 TOGETHER=yes

# What waits for a study gets a headroom without `headroom mcp`, whose crates take half as long again as all others. Where one
# with it is there, it stays.
study client-scale self-check contention completion faces: export HASTE := yes
is_lean := $(if $(wildcard $(headroom)),$(wildcard $(headroom).lean),yes)
features := $(if $(and $(HASTE),$(is_lean)),--no-default-features)

headroom: setup-build
	$(cargo) build --locked --release --package headroom $(features)
	@$(if $(features),touch,rm -f) $(headroom).lean

packages: setup-build
	@scripts/setup study

programs: setup-build
	$(for_device) x86_64-unknown-linux-gnu

planted: ## the access point's programs with a stationd that has plants, for `cargo xtask sensitivity`
	CARGO_TARGET_DIR=target/planted $(for_device) x86_64-unknown-linux-gnu --features stationd/planted

arm64: build packages-arm64 arm64-programs ## what `--arch arm64` needs beside it: QEMU, and the access point's programs for arm64

board: build packages-board arm64-programs ## what examples/board needs: U-Boot, QEMU, tools for images, and the agent for arm64

arm64-programs: packages-arm64
	$(for_device) aarch64-unknown-linux-gnu

armv7: packages-armv7 ## what measures devices with 32-bit ARM over ssh, and its tests under qemu-user
	$(for_device) armv7-unknown-linux-gnueabihf
	RUSTFLAGS='-C target-feature=+crt-static' $(cargo) test --locked --target armv7-unknown-linux-gnueabihf --lib \
		--package model --package linux --package agent --package stationd -- $(addprefix --skip ,$(not_in_qemu))

# qemu-user has no namespaces, no perf events and some families of netlink not at all, and what runs in it is a process of
# qemu's own name and mappings.
not_in_qemu := process_set::tests::a_process_has_ended subject::tests::our_own_process subject::tests::the_subject_and \
	maps::tests::our_own_code netlink::tests::a_list_that netlink::tests::this_kernels perf::sampling::tests::a_rate \
	qdisc::tests::this_kernel sched::tests::another_threads sockets::tests::this_machines tap::tests::an_interface \
	veth::tests::a_pair

# A machine without the archive can still build.
base:
	@$(headroom) image --base --quiet >/dev/null || echo 'make: the image is left to the first run'

first-base: headroom packages
	@$(MAKE) --no-print-directory base

check: setup-check ## formatting, lints and the rules of CONTRIBUTING.md
	$(cargo) xtask check

test: tested ## everything that CI checks, real guests included (about half an hour from a clean clone on two cores)
	@$(together) test-guests test-crates

# A library without examples in its documentation says `doctest = false`: rustdoc takes seconds to find none.
# Guests fill both cores and have their own time, so they come last; the tests of the crates wait for sockets and clocks
# most of theirs. They say what they found when they are through, so that the two do not mix. Three tests at a time have guests;
# of the others most wait, so three more threads have both cores busy.
test-guests:
	$(linted) HEADROOM_CACHE=$(tests_cache) MAKEFLAGS= nice -n 10 cargo test --locked --workspace --test integration --no-fail-fast \
		-- --test-threads=6

test-crates:
	@$(linted) HEADROOM_CACHE=$(tests_cache) $(cargo) test --locked --workspace --exclude tests --no-fail-fast \
		>$(CARGO_TARGET_DIR)/test-crates.txt 2>&1 && code=0 || code=$$?; cat $(CARGO_TARGET_DIR)/test-crates.txt; exit $$code

tested: ## what the tests drive: headroom as they are built, and the programs for the access point
	@$(together) checked all-programs tests-base

# The tests' Debian is fetched once there is a headroom to do it, while the access point's programs are still built.
tests-base: all-targets packages-test
	@$(MAKE) --no-print-directory base headroom=$(CARGO_TARGET_DIR)/debug/headroom HEADROOM_CACHE=$(tests_cache)

# The tests have no figure of arm64's, so its programs are linked the quick way: half a minute.
all-programs: packages-test programs
	scripts/setup crosses || exit 0; CARGO_PROFILE_DEVICE_LTO=off CARGO_PROFILE_DEVICE_CODEGEN_UNITS=16 \
		$(for_device) aarch64-unknown-linux-gnu

# The linter compiles what it looks at. So the tests, and the headroom that they drive, are built by it, once: clippy by
# itself would take as long again.
linter = $(shell clippy-driver --version >/dev/null 2>&1 && command -v clippy-driver)
linted = $(addprefix RUSTC_WORKSPACE_WRAPPER=,$(linter)) CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings

all-targets: formatted
	@[[ -n "$(linter)" ]] || echo 'make: no lints, because this toolchain has no clippy-driver'
	$(linted) $(cargo) build --locked --workspace --all-targets

formatted: setup-check
	@cargo fmt --version >/dev/null 2>&1 || { echo 'make: no look at the formatting, because this toolchain has no rustfmt'; exit 0; }; \
		$(cargo) fmt --all -- --check

# `cargo xtask check` would build what it and the site depend on once more, with the features that they alone want.
checked: all-targets
	CARGO_MANIFEST_DIR=$(CURDIR)/xtask $(CARGO_TARGET_DIR)/debug/xtask check --rules
	CARGO_MANIFEST_DIR=$(CURDIR)/xtask/site $(CARGO_TARGET_DIR)/debug/site

red-team: tested ## every cheat and every honest change against the tasks of stationd and hostapd (about an hour and a half)
	@scripts/setup improve
	HEADROOM_RED_TEAM=all HEADROOM_CACHE=$(tests_cache) $(linted) MAKEFLAGS= cargo test --locked --workspace --test integration -- red_team:: --nocapture

# What `make test` shows once, or in small: power cuts, searches among builds, perturbed states, nodes that are lost, 500
# stations. Any of the variables may be set otherwise.
long-proofs: export HEADROOM_LONG ?= 1
long-proofs: export HEADROOM_POWER_CUTS ?= 50
long-proofs: export HEADROOM_BISECT ?= 64/20
long-proofs: export HEADROOM_LOST_NODES ?= 100
long-proofs: tested ## what `make test` repeats less often or has in small, at its whole length (some hours)
	HEADROOM_CACHE=$(tests_cache) $(linted) MAKEFLAGS= cargo test --locked --workspace --test integration -- --nocapture \
		board:: bisect:: perturbed:: shards::a_cluster stationd_values::

packages-improve: setup-build ## what `headroom improve` needs
	@scripts/setup improve

site: setup-check ## the documentation as a site, with every link checked
	$(cargo) xtask site

guides: build ## run the commands of README.md and docs/guide, and say which do not end as they should
	scripts/guides

dist: setup-check ## a Debian package and a tarball for amd64 and arm64, with their sums, in target/dist
	@scripts/setup dist
	MAKEFLAGS= scripts/dist

dist-test: setup-check packages ## the same built twice to the same bytes, and the package installed in a bare Debian 12 (about half an hour)
	@scripts/setup dist
	MAKEFLAGS= scripts/dist --twice
	scripts/dist-test

setup: setup-build packages ## install what a study needs and this machine lacks (packages.txt)

setup-build:
	@scripts/setup build

setup-check:
	@scripts/setup check

packages-faces: setup-build
	@scripts/setup faces

packages-arm64:
	@scripts/setup arm64

packages-board:
	@scripts/setup board

packages-armv7:
	@scripts/setup armv7

packages-test: setup-check
	@scripts/setup test

clean: ## remove what was built, and the tests' cache; runs and your cache stay
	rm -rf target
