# headroom's entry points. Each does its own set-up first: on a fresh Debian 12, `make study` is enough.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup setup-test build check dist dist-test study client-scale self-check contention completion test guides clean

# headroom looks for the access point's programs beside itself, so the build's place is fixed.
export CARGO_TARGET_DIR := $(CURDIR)/target
# rustup's cargo is found where no profile was read.
export PATH := $(PATH):$(HOME)/.cargo/bin

device := x86_64-unknown-linux-gnu
headroom := target/release/headroom

help: ## what can be made
	@echo 'make TARGET'
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

study: build ## what station statistics cost and what each cure is worth, proved and decided, as a report (about 11 minutes)
	$(headroom) run studies/station-stats.toml

client-scale: build ## what each associated client costs, idle and polled (about 2 minutes)
	$(headroom) run studies/client-scale.toml

self-check: build ## measure the lab itself: how far its figures can be trusted
	$(headroom) run studies/self-check.toml

contention: build ## what applications take from Wi-Fi, and what each control gives back (about an hour)
	$(headroom) run studies/app-contention.toml

completion: build ## what waiting for a transmit command costs, and what gives it back (about half an hour)
	$(headroom) run studies/tx-completion.toml

build: setup ## headroom, and the static programs for the access point
	cargo build --locked --release --package headroom
	RUSTFLAGS='-C target-feature=+crt-static' cargo build --locked --profile device --package agent --package guard --package stationd --package txd --target $(device)

check: setup-test ## formatting, lints and the rules of CONTRIBUTING.md
	cargo xtask check

test: check build ## everything that CI checks, real guests included (about 25 minutes from a clean clone)
	HEADROOM_CACHE=$(CURDIR)/target/headroom-cache cargo test --locked --workspace --no-fail-fast

guides: build ## run the commands of README.md and docs/guide, and say which do not end as they should
	scripts/guides

dist: setup ## a Debian package and a tarball for amd64 and arm64, with their sums, in target/dist
	@scripts/setup dist
	cargo xtask dist

dist-test: setup ## the same built twice to the same bytes, and the package installed in a bare Debian 12 (about half an hour)
	@scripts/setup dist
	cargo xtask dist --twice
	scripts/dist-test

setup: ## install what a study needs and this machine lacks (packages.txt)
	@scripts/setup study

setup-test: ## the same for the tests
	@scripts/setup test

clean: ## remove what was built, and the tests' cache; runs and your cache stay
	rm -rf target
