.PHONY: help build check cross test race golden demo bench matrix soak nightly

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## compile eoc into bin/
	go build -o bin/eoc ./cmd/eoc

check: ## the quick part of test: formatting, vet, staticcheck, known vulnerabilities, the rules of this repository
	@test -z "$$(gofmt -l .)" || { echo "not formatted, run gofmt -w:"; gofmt -l .; exit 1; }
	go vet ./...
	go vet -tags eo_failpoints ./runtime/internal/failpoint
	go run honnef.co/go/tools/cmd/staticcheck ./...
	go run ./internal/vulncheck ./...
	go test ./internal/tidy

systems = windows/amd64 darwin/arm64

cross: ## compile eoc and a program for other systems; nothing runs them, so it need not be fast code
	@set -e; for s in $(systems); do echo "compiling for $$s"; \
		GOOS=$${s%/*} GOARCH=$${s#*/} CGO_ENABLED=0 go build -gcflags='all=-N -l' -o /dev/null ./cmd/eoc ./golden/orders; done

# The race detector is for what runs in programs and in eoc on many goroutines. What compiles runs on one, and so do the tools
# of this repository and the model of the protocol; and where tests drive programs as processes, it would make them wait for their own calculations. Of the crash matrix one example is built with it. `make race` has it everywhere.
plain = internal/e2e cmd/eoc codegen dsl planner golden runtime/internal/checkpoint internal/bench internal/build internal/crashtest internal/demo \
	internal/deploy internal/diag internal/faultcheck internal/generate internal/golden internal/judge internal/pages internal/reference internal/skip \
	internal/tidy internal/vulncheck
# What takes long comes first, beside the rest; it would run alone at the end.
long = runtime/internal/kafka runtime/internal/txn runtime/internal/state
empty =
space = $(empty) $(empty)

# Programs are compiled with -trimpath and without cgo. With both for everything, packages of others are compiled once for tests and programs; the race
# detector alone needs cgo. Tests are vetted once, in check, and have nothing for a debugger.
test race: export GOFLAGS += -trimpath
test: export CGO_ENABLED = 0
go_test = go test -vet=off -ldflags=-w
# Many of these tests wait for brokers, so more packages are tested at a time than there are processors.
at_a_time = $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n > 4 ? n : 4)))
race_test = env CGO_ENABLED=1 $(go_test) -race

test: check cross ## everything that must hold before a change is taken
	$(go_test) -tags eo_failpoints ./runtime/internal/failpoint
	$(go_test) -run '^TestFlood' ./runtime/internal/kafka
	go run ./internal/faultcheck \
		$(race_test) -p $(at_a_time) -timeout 60m $(long:%=./%) $$(go list ./... | grep -v -E '/($(subst $(space),|,$(strip $(plain))))(/|$$)') -- \
		$(go_test) -timeout 60m $(plain:%=./%/...)

race: ## all tests with the race detector, and vet for the system that differs most; takes longer than test
	GOOS=windows CGO_ENABLED=0 go vet ./...
	go run ./internal/faultcheck $(race_test) -timeout 2h ./...

golden: ## write the golden files anew, and fail if that has changed any
	go test $$(git grep -l 'internal/golden"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') -update -short
	@test -z "$$(git status --porcelain -- golden '*/testdata/*' runtime/go.mod.txt runtime/go.sum.txt runtime/generated_test.go)" || \
		{ git status --short -- golden '*/testdata/*' runtime/go.mod.txt runtime/go.sum.txt runtime/generated_test.go; exit 1; }

demo: ## kill -9 a pipeline while it runs, and compare its results; needs Go alone
	go run ./internal/demo

bench: ## measure the examples on a real Kafka: throughput, cost and latency, also into bin/bench.json
	@mkdir -p bin
	EO_REQUIRE_KAFKA=1 go test -run '^$$' -bench . -benchtime 1x -timeout 2h ./internal/bench -args -o $(CURDIR)/bin/bench.json

matrix: ## the whole crash matrix on a real Kafka; test runs a selection of it
	EO_MATRIX=1 go test -count 1 -timeout 1h -run 'TestExamplesPass|TestMutants' -v ./internal/crashtest
	go test -count 1 -timeout 1h -run '^TestMillionKeys$$' -v ./runtime/internal/state
	EO_MATRIX=1 EO_REQUIRE_KAFKA=1 go test -count 1 -timeout 1h -run '^TestRepair$$' -v ./runtime/internal/txn
	EO_MATRIX=1 EO_REQUIRE_KAFKA=1 go test -count 1 -timeout 1h -run '^TestIDsExpire$$' -v ./runtime/internal/kafka
	EO_MATRIX=1 EO_REQUIRE_KAFKA=1 go test -count 1 -timeout 6h -v ./internal/e2e

DURATION ?= 10m

soak: ## random faults on a real Kafka for DURATION (10m); SEED=N repeats their schedule; the record goes into bin/soak.md
	@mkdir -p bin
	EO_SOAK=$(DURATION) EO_SEED=$(SEED) EO_SOAK_RECORD=$(CURDIR)/bin/soak.md EO_REQUIRE_KAFKA=1 \
		go test -count 1 -timeout 48h -parallel 4 -run '^TestSoak$$' -v ./internal/e2e

nightly: ## soak for eight hours
	$(MAKE) soak DURATION=8h
