# Two commands are all that is needed: `make demo` and `make test`. Each sets up what it lacks.

# The race detector needs cgo, except on macOS. An environment that turns cgo off (small images do)
# must not turn the tests off.
ifneq ($(shell uname -s),Darwin)
test test-all nightly servers: export CGO_ENABLED = 1
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-all nightly servers histories fuzz simulate spec lint bench bench-far bench-stores scaling failover peers-safety results path fmt ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## run the quickstart; needs nothing but Go
	go run ./examples/quickstart

test: ## run the tests that take no minutes, under the race detector, on real servers
	@scripts/setup-redis.sh
	@scripts/setup-postgres.sh
	@scripts/setup-etcd.sh
	-@scripts/setup-zookeeper.sh
	@scripts/setup-cc.sh
	@scripts/setup-prometheus.sh
	@scripts/test.sh fast

test-all: ## run all others: histories, mutants, the fault matrix, topologies, Java, containers, other servers
	@scripts/setup-redis.sh
	@scripts/setup-postgres.sh
	@scripts/setup-etcd.sh
	-@scripts/setup-zookeeper.sh
	@scripts/setup-spin.sh
	@scripts/setup-cc.sh
	@scripts/setup-prometheus.sh
	@scripts/test.sh slow

nightly: ## run what takes hours: the longest histories, and the tests of make test over and over
	@scripts/setup-redis.sh
	@scripts/setup-postgres.sh
	@scripts/setup-etcd.sh
	-@scripts/setup-zookeeper.sh
	@scripts/setup-spin.sh
	@scripts/setup-cc.sh
	@scripts/setup-prometheus.sh
	@scripts/setup-java.sh
	@scripts/nightly.sh

ACQUISITIONS ?= 1000000
FAULTS ?= 5000

histories: ## run a history on every kind of site, of ACQUISITIONS (a million) and FAULTS in all, and write the table of docs/histories.md; hours
	@scripts/setup-redis.sh
	@scripts/setup-postgres.sh
	@scripts/setup-etcd.sh
	-@scripts/setup-zookeeper.sh
	@scripts/setup-cc.sh
	@scripts/setup-java.sh
	cd integration && go run ./history/cmd/report -acquisitions $(ACQUISITIONS) -faults $(FAULTS) -page ../docs/histories.md

INPUTS ?= 1000000

fuzz: ## let Go's fuzzer give INPUTS (a million) to each fuzz test, and write the table of docs/evidence.md
	@scripts/setup-redis.sh
	go run ./scripts/fuzz -inputs $(INPUTS) -page docs/evidence.md

servers: ## run the suites on every server, version and platform that is available, or those that match ONLY, for the table of docs/servers.md
	@scripts/setup-redis.sh
	@scripts/setup-postgres.sh
	@scripts/setup-cc.sh
	go run ./scripts/servers -page docs/servers.md -only '$(ONLY)'

SCHEDULES ?= 1000000

simulate: ## run SCHEDULES random schedules (a million) of whole clients, of one KIND or all; needs nothing but Go
	HOLDFAST_SCHEDULES=$(SCHEDULES) HOLDFAST_KIND=$(KIND) go test -count=1 -v -timeout 0 -run '^TestSchedules$$' ./internal/testkit/simulation

spec: ## visit every state of the models in spec, at their large bounds, and write the table of docs/spec.md; minutes
	@scripts/setup-spin.sh
	go test -count=1 -v -timeout 30m ./spec -run '^TestLongSearchOfModels$$' -spec.large -spec.page ../docs/spec.md

lint: ## check format, vet, staticcheck, our own budgets and our own words
	@scripts/setup-cc.sh
	@scripts/lint.sh

bench: ## measure ours and the peers, at 0.3 ms and on loopback, in one run of some 20 minutes; tables, raw figures and plots go to bench/results
	@scripts/setup-redis.sh
	-@scripts/setup-etcd.sh
	cd bench && go run . -out results

bench-far: ## the same at 2, 20 and 80 ms, of what waits for round trips; goes to bench/results/far
	@scripts/setup-redis.sh
	-@scripts/setup-etcd.sh
	cd bench && go run . -far -out results/far

bench-stores: ## measure the locks on Redis, PostgreSQL, etcd and ZooKeeper, each beside its peers, in one run of a quarter of an hour; goes to bench/results/stores
	@scripts/setup-redis.sh
	@scripts/setup-postgres.sh
	@scripts/setup-etcd.sh
	-@scripts/setup-zookeeper.sh
	cd bench && go run ./stores -out results/stores

scaling: ## measure how cost grows, for bench/SCALING.md; curves go to bench/results
	@scripts/setup-redis.sh
	cd bench && go run . -scaling -out results

failover: ## what the loss of a primary costs ours and bsm/redislock, for integration/README.md
	@scripts/setup-redis.sh
	cd bench && go run ./failover

peers-safety: ## attack ours and the peers in the same ways, and print who overlapped; within half an hour, into bench/results and docs/peers-safety.md
	@scripts/setup-redis.sh
	@scripts/setup-postgres.sh
	@scripts/setup-etcd.sh
	-@scripts/setup-zookeeper.sh
	-@scripts/setup-cc.sh
	-@scripts/setup-java.sh
	cd bench && go run ./safety -out results -page ../docs/peers-safety.md

results: ## make bench and make scaling, one after the other; bench-far, bench-stores and peers-safety write their own
	@$(MAKE) bench
	@$(MAKE) scaling

path: ## count the functions and files that a free lock runs through
	@scripts/path.sh

fmt: ## format all Go files
	gofmt -w .

ci: ## what continuous integration runs: lint, quickstart, make test, make test-all
	@.ci/run
