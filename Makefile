# Every module of the repository is handled by the same targets. "make" lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# One set of flags for everything that compiles. Another set is another entry in the build cache: devcluster alone has 2,200 packages.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false

# The modules there are; those with code; those that are also linted and run under the race detector. devcluster is a main around other people's servers: it is
# vetted and tested, but to lint or to instrument it would compile those 2,200 packages once more.
MODULES := . $(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod */*/*/go.mod))
CODE    := $(filter-out hack/tools,$(MODULES))
OWN     := $(filter-out devcluster,$(CODE))

# Compilers and linters live for seconds: at Go's 100 %, a part of their processor time goes into collecting garbage. internal/testrun does the same for tests.
LESS_GC := GOGC=$${GOGC:-400}

PROVIDER := examples/provider-nats
POSTGRES := examples/provider-postgres
# Decisions are pure and stand in a package that imports nothing: decide.go, and every file beside it that has a switch over conditions.
DECISIONS := $(shell grep -l 'switch {' $(filter-out %_test.go,$(wildcard $(addsuffix *.go,$(dir $(shell find pkg -path '*/internal/*' -name decide.go))))))
# So many inputs, and not so much time: when time is up while an input is tried, Go calls that a failure.
FUZZTIME ?= 10000x
# And how long one target may take for them, compiling included.
FUZZBOUND ?= 10m
BENCH    ?= .

# Turns the package names of "go build -v" into a line now and then, and passes on everything else.
progress = 2>&1 | awk '/^[^ :\#]+$$/ { if (++n % 100 == 0) { print "  " n " packages compiled"; fflush() }; next } { print; fflush() }'

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: devcluster ## Watch a provider create, correct and delete real streams (ONCE=1: end after the tour)
	@echo "Compiling the provider; the first time takes about two minutes."
	@go -C $(PROVIDER) build -v -o $(CURDIR)/bin/ . $(progress)
	@go -C cmd/kubectl-moorage build -o $(CURDIR)/bin/ .
	@cd $(PROVIDER) && $(CURDIR)/bin/provider-nats dev --tour --kubectl-moorage $(CURDIR)/bin/kubectl-moorage $(if $(ONCE),--once)

.PHONY: demo-postgres
demo-postgres: devcluster ## Watch a provider manage databases, roles and passwords of a real PostgreSQL server (ONCE=1: end after the tour)
	@echo "Compiling the provider; the first time takes about two minutes."
	@go -C $(POSTGRES) build -v -o $(CURDIR)/bin/postgres-demo ./cmd/demo $(progress)
	@bin/postgres-demo $(if $(ONCE),--once)

.PHONY: demo-syncer
demo-syncer: devcluster ## Watch two clusters being kept in step (ONCE=1: end after the tour)
	@echo "Compiling the syncers; the first time takes about two minutes."
	@go -C examples/syncer build -v -o $(CURDIR)/bin/ . $(progress)
	@bin/syncer $(if $(ONCE),--once)

.PHONY: demo-edge
demo-edge: | bin ## Watch a provider on a device with no Kubernetes at all, and what it takes in time and memory (ONCE=1: end after the tour)
	@echo "Compiling the device; the first time takes about two minutes."
	@go -C examples/edge build -v -ldflags '-s -w' -o $(CURDIR)/bin/ . $(progress)
	@bin/edge demo $(if $(ONCE),--once)

.PHONY: demo-service
demo-service: devcluster ## Watch a service being offered across four clusters (ONCE=1: end after the tour)
	@echo "Compiling the provider; the first time takes about two minutes."
	@go -C examples/service-provider build -v -o $(CURDIR)/bin/ . $(progress)
	@bin/service-provider $(if $(ONCE),--once)

# Runs tests and says where the time went: internal/testrun.
bin/testrun: $(wildcard internal/testrun/*.go internal/testrun/*.txt) | bin
	@go build -o $@ ./internal/testrun

.PHONY: test
test: devcluster bin/controller-gen bin/testrun ## What a change can break: every package of every module, then each decision by mutation; minutes
	@bin/testrun test $(CODE)
	@$(MAKE) mutate

.PHONY: busy
busy: bin/testrun ## Run COMMAND beside eight busy loops, which last 85 minutes at most: no test may depend on how fast a machine is (COMMAND="make test")
	@bin/testrun busy 8 85m bash -euo pipefail -c "$${COMMAND:-make test}"

##@ Change

.PHONY: check
check: generate verify vet lint test ## All that must hold before a commit

.PHONY: build
build: ## Compile every module
	@for m in $(CODE); do echo "== build $$m"; go -C $$m build -v ./... $(progress); done

.PHONY: generate
generate: bin/controller-gen ## Make deep copies, CRDs and roles from the types, and what pages take from the code
	@bin/controller-gen object paths=./apis/...
	@bin/controller-gen crd paths=./apis/clusters/... output:crd:artifacts:config=apis/clusters/v1alpha1/package/crds
	@bin/controller-gen crd paths=./apis/openmcp/... output:crd:artifacts:config=apis/openmcp/clusters/v1alpha1/package/crds
	@bin/controller-gen object paths=./internal/docs/recipes/...
	@cd internal/docs/tutorial && $(CURDIR)/bin/controller-gen object crd rbac:roleName=provider-objectstore paths=./... output:crd:dir=package/crds output:rbac:dir=package/rbac
	@for f in port/doc port/port port/range wait/budget wait/doc wait/pace wait/wait; do \
		{ echo "// Code generated by make generate from pkg/test/$$f.go. DO NOT EDIT."; echo; cat pkg/test/$$f.go; } > cmd/moorage/internal/$$f.go; done
	@go test ./internal/docs -run '^(TestGeneratedRegions|TestExplanationsAreGenerated|TestPluginTextsAreGenerated)$$' -update
	@for p in $(PROVIDER) $(POSTGRES); do $(MAKE) -C $$p generate CONTROLLER_GEN=$(CURDIR)/bin/controller-gen; done

# What is compared is before and after, not the tree and git: the tree may hold changes.
generated = find . -path ./bin -prune -o \( -name 'zz_generated.*' -o -path '*/package/crds/*' -o -path '*/package/rbac/*' -o -path '*/deploy/plan/role.yaml' -o -path '*/chart/files/*' -o -path './cmd/moorage/internal/port/*' -o -path './cmd/moorage/internal/wait/*' -o -path './docs/*.md' \) -type f -print0 | sort -z | xargs -0r sha256sum

.PHONY: verify
verify: bin/controller-gen ## Check that generated files, go.mod files, layers, sizes, documentation and links are as they should be
	@before=$$($(generated)); $(MAKE) generate; after=$$($(generated)); \
		diff <(echo "$$before") <(echo "$$after") || { echo "generated files were out of date and have been made again: commit them" >&2; exit 1; }
	@for m in $(MODULES); do echo "== tidy $$m"; go -C $$m mod tidy -diff || { echo "run: make tidy" >&2; exit 1; }; done
	@for p in $(PROVIDER) $(POSTGRES); do go -C cmd/moorage run . diff --check --dir $(CURDIR)/$$p; done
	@go -C cmd/moorage test ./internal/cli -count=1 -run '^TestGoldenProject'
	@go test ./internal/layering ./internal/hygiene ./internal/docs

.PHONY: shape
shape: ## Print how large and how plain the code is, beside the bars (LIST=gate PKG=folder: list the findings of a gate of internal/hygiene; LIST=order: the uses against the reading order)
	@go run ./internal/hygiene/shape $(if $(LIST),-list $(LIST) $(PKG))

.PHONY: tidy
tidy: ## Tidy every go.mod
	@for m in $(MODULES); do go -C $$m mod tidy; done

.PHONY: vet
vet: ## Vet every module
	@for m in $(CODE); do echo "== vet $$m"; $(LESS_GC) go -C $$m vet ./...; done

.PHONY: lint
lint: bin/golangci-lint ## Lint (devcluster: make vet) and check the format
	@bad=$$(gofmt -l $(wildcard apis pkg internal cmd devcluster examples)); [ -z "$$bad" ] || { echo "run gofmt -w on:" $$bad >&2; exit 1; }
	@for m in $(OWN); do echo "== lint $$m"; (cd $$m && $(LESS_GC) $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yaml ./...); done

##@ Look closer

.PHONY: proof
proof: devcluster bin/controller-gen bin/testrun ## What a release rests on: schedules, faults, inputs and projects by the thousand; goes on where it was stopped (PARTS="sim chaos")
	@bin/testrun proof $(PARTS)

.PHONY: unproven
unproven: bin/testrun ## List the parts of the proof that have not passed on this tree, and when each last did
	@bin/testrun unproven

.PHONY: race
race: devcluster bin/testrun ## Test what is concurrent, and whole systems, under the race detector
	@bin/testrun race $(OWN)

.PHONY: cover
cover: devcluster bin/testrun | bin ## Run the tests of make test and print the share of statements covered
	@for m in $(OWN); do p=$(CURDIR)/bin/cover-$$(basename $$(realpath $$m)).out; echo "== cover $$m"; \
		go -C $$m test -vet=off -skip "$$(bin/testrun leftout $$m)" -coverprofile=$$p ./... ; go -C $$m tool cover -func=$$p | tail -n 1; done

.PHONY: bench
bench: devcluster | bin ## Measure what a provider costs, beside a floor, in three rounds; three quarters of an hour on two cores; fills bench/last.json and docs/performance.md (BENCHFLAGS="-objects 1000")
	@go -C bench run . -json $(CURDIR)/bench/last.json -page $(CURDIR)/docs/performance.md $(BENCHFLAGS)

.PHONY: microbench
microbench: devcluster ## Run the benchmarks of single functions (BENCH=regexp)
	@for m in $(OWN); do echo "== microbench $$m"; go -C $$m test -run '^$$' -bench '$(BENCH)' -benchmem ./...; done

# The targets are read from the sources: to ask the tests for them would start the servers that some of them need. What is new is made smaller in so
# many attempts, and not for so long: when time is up a worker is started anew, and most of all time went into that. One that fails does not keep the
# others from their turn, and one that hangs is ended: go test itself sets no bound to it.
.PHONY: fuzz
fuzz: | bin ## Fuzz each target with so many inputs, and say in the end which failed (FUZZTIME=10000x, FUZZBOUND=10m for each)
	@shopt -s inherit_errexit; begin=$$SECONDS; failed=(); : >bin/fuzz.log; \
	targets=$$(for m in $(OWN); do go -C $$m list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r pkg dir; do \
		find "$$dir" -maxdepth 1 -name '*_test.go' -exec sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$$m $$pkg \1|p" {} + ; done; done); \
	while read -r m pkg target; do echo "== fuzz $$pkg $$target"; \
		timeout --kill-after=10s $(FUZZBOUND) go -C $$m test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg </dev/null 2>&1 | \
			tee bin/fuzz.last || { [ $${PIPESTATUS[0]} -ne 124 ] || echo "not done after $(FUZZBOUND)"; failed+=("$$pkg $$target"); }; \
		sed -n 's/.*\(execs\|coverage\): \([0-9]*\).*/\2/p' bin/fuzz.last | tail -n 1 >>bin/fuzz.log; done <<<"$$targets"; \
	echo "targets: $$(wc -l <<<"$$targets")"; \
	echo "inputs: $$(awk '{ n += $$1 } END { print n + 0 }' bin/fuzz.log)"; \
	echo "seconds: $$((SECONDS - begin))"; \
	echo "failed: $${#failed[@]}"; \
	[ $${#failed[@]} -eq 0 ] || { printf 'fuzz: %s failed: see above\n' "$${failed[@]}" >&2; exit 1; }

# How long a line of simulated faults may be, and how many random ones there are.
SIMDEPTH ?= 2
SIMSEEDS ?= 25000

.PHONY: sim
sim: ## Break the reconciler: every fault at every boundary, in pairs, and at random (SIMDEPTH, SIMSEEDS)
	@go test ./internal/sim -count=1 -timeout 1h -v -run '^TestSim$$' -processes -depth $(SIMDEPTH) -short-kinds=false -all-kinds -seeds $(SIMSEEDS) | grep -v '^=== '

.PHONY: sim-options
sim-options: ## The same with every optimization enabled: each fault alone, and a fifth of what is random
	@go test ./internal/sim -count=1 -timeout 1h -v -run '^TestSim$$' -processes -every-option -short-kinds=false -seeds $$(($(SIMSEEDS) / 5)) | \
		sed '/^=== /d; s/^[a-z_]*:/every_option_&/'

.PHONY: sim-plans
sim-plans: ## A plan of each object before the first reconcile of each process, with each fault alone, with and without every option
	@go test ./internal/sim -count=1 -timeout 1h -v -run '^TestPlansWithFaults$$' -long | grep -v '^ *\(===\|---\) '
	@go test ./internal/sim -count=1 -timeout 1h -v -run '^TestPlansWithFaults$$' -long -every-option | \
		sed '/^ *\(===\|---\) /d; s/^[a-z_]*:/every_option_&/'

# With 2 each is tried with a crash, an edit, a deletion and a replace before and after it, too, but not in the longer
# scenarios, in which each wait is a row of boundaries.
DOUBTDEPTH ?= 1
LONG = $(if $(filter 1,$(DOUBTDEPTH)),-long)

.PHONY: sim-doubts
sim-doubts: ## Wrong answers, and writes of which only a part is stored: each such fault alone at every boundary, with and without every option (DOUBTDEPTH)
	@go test ./internal/sim -count=1 -timeout 1h -v -run '^TestSim$$' -processes -doubts -depth $(DOUBTDEPTH) $(LONG) -short-kinds=false -seeds 0 | grep -v '^=== '
	@go test ./internal/sim -count=1 -timeout 1h -v -run '^TestSim$$' -processes -doubts -depth $(DOUBTDEPTH) $(LONG) -every-option -short-kinds=false -seeds 0 | \
		sed '/^=== /d; s/^[a-z_-]*:/every_option_&/'

.PHONY: sim-pairs
sim-pairs: ## The faults of sim-doubts in pairs with crashes, edits, deletions and replaces, with and without every option, and random schedules that make sim does not try
	@$(MAKE) --no-print-directory sim-doubts DOUBTDEPTH=2
	@go test ./internal/sim -count=1 -timeout 1h -v -run '^TestSim$$' -processes -first-seed $$(($(SIMSEEDS) + 1)) -seeds 50000 | \
		sed '/^=== /d; s/^[a-z_-]*:/random_&/'

.PHONY: sim-whole
sim-whole: ## Every pair of the faults of make sim, equivalent ones included; no random ones
	@go test ./internal/sim -count=1 -timeout 3h -v -run '^TestSim$$' -processes -depth 2 -short-kinds=false -unpruned -seeds 0 | grep -v '^=== '

.PHONY: sim-long
sim-long: ## Three faults in all scenarios and in longer ones, then random ones until it is stopped or one fails
	@go test ./internal/sim -count=1 -timeout 0 -v -run '^TestSim$$' -processes -depth 3 -long -short-kinds=false -forever -first-seed $${SEED:-$$(date +%s)} | grep -v '^=== '

.PHONY: sim-check
sim-check: devcluster ## Hold what is simulated to what is real, the API server and the queue, run it with its objects in stores and in NATS
	@go test ./pkg/sim/apiserver -count=1 -timeout 1h -lists 10000
	@go test ./internal/sim -count=1 -run TestQueueMatchesController -queue-lists 10000
	@go test ./internal/sim -count=1 -v -run '^(TestPeers|TestSingleFaults)$$' | grep -v '^=== \|^ *--- '
	@go test ./internal/sim -count=1 -v -run '^TestScenariosOnStores$$' -store-all | grep -v '^=== \|^ *--- PASS'
	@go -C examples/edge test ./internal/files -count=1 -v -timeout 30m -run '^TestSchedulesInNATS$$' -every-fault | grep -v '^=== \|^ *--- PASS'

.PHONY: mutants
mutants: ## Insert known defects into the library, one at a time; the simulator must find each by its schedule
	@go run ./internal/sim/mutants internal/sim/testdata/mutants

.PHONY: mutants-search
mutants-search: ## The same as if no schedule were known: the simulator must find each by a search
	@go run ./internal/sim/mutants -search internal/sim/testdata/mutants

# How much is broken on real servers, and with how many objects.
ROUNDS  ?= 10
OBJECTS ?= 200

.PHONY: chaos
chaos: devcluster ## Kill, suspend and cut off a provider and its servers for minutes, then compare objects with external resources (SEED, ROUNDS, OBJECTS)
	@echo "Compiling the provider; the first time takes about two minutes."
	@go -C $(PROVIDER) build -v -o $(CURDIR)/bin/ . ./internal/chaos/provider-nats-chaos $(progress)
	@bin/provider-nats-chaos --provider bin/provider-nats --seed $${SEED:-$$(date +%s)} --rounds $(ROUNDS) --objects $(OBJECTS)

.PHONY: disaster
disaster: devcluster ## Restore 200 objects of each class into another cluster, put etcd back under a running provider, and the external system under running objects (OBJECTS)
	@go test ./internal/disaster -count=1 -v -timeout 30m -objects $$((4 * $(OBJECTS))) \
		-run '^(TestAnotherClusterWhenTheFirstIsGone|TestAnotherClusterWhileTheFirstIsAlive|TestEtcdIsPutBack|TestTheExternalSystemIsPutBack)$$' | grep -v '^=== '

.PHONY: store
store: devcluster ## Kill servers under controllers over NATS, with 10,000 objects, and measure them beside Kubernetes
	@go -C examples/store-controller test ./internal/systemtest -count=1 -v -timeout 30m -primaries 10000 -changes 500 -rounds 3 -bounds | grep -v '^=== '

.PHONY: syncer
syncer: devcluster ## Two clusters in step: 2,000 objects beside a floor, outages and swaps, and 210 random schedules
	@echo "Compiling the tests; the first time takes about two minutes."
	@go test ./pkg/syncer/... ./pkg/bridge/... -run '^$$' >/dev/null
	@begin=$$SECONDS; \
		go test ./pkg/syncer -count=1 -v -timeout 30m -run '^TestSchedules$$' -schedules 200 | grep -v '^=== \|^ *--- PASS'; \
		go test ./pkg/syncer/internal/systemtest -count=1 -v -timeout 30m -run '^TestSchedulesOnServers$$' -schedules 10 | grep -v '^=== \|^ *--- PASS'; \
		echo "seconds_of_all_schedules: $$((SECONDS - begin))"
	@go test ./pkg/syncer/internal/systemtest -count=1 -v -timeout 30m -objects 2000 -run '^TestManyObjects$$' | grep -v '^=== \|^ *--- PASS'
	@go test ./pkg/syncer/internal/systemtest -count=1 -v -timeout 30m -skip '^(TestSchedulesOnServers|TestManyObjects)$$|^Example' | grep -v '^=== \|^ *--- PASS'
	@go test ./pkg/bridge ./pkg/bridge/internal/systemtest -count=1 -p 1 -v -timeout 30m -within 30s -skip '^Example' | grep -v '^=== \|^ *--- PASS'

# How long clusters are rotated, made and deleted at random.
STORM ?= 60s

.PHONY: clusters
clusters: devcluster ## Many clusters: known defects, 1,000 objects over 50 clusters, 10,000 that come and go, a minute of rotations under the race detector
	@echo "Compiling the tests; the first time takes minutes."
	@go test ./pkg/clusters/... ./pkg/serviceprovider/... -run '^$$' >/dev/null
	@go test ./pkg/clusters/... -count=1 -p 1 -v -timeout 30m -skip '^(TestMemoryIsFlat|TestCacheAtRandom|TestRotationsAtRandom)$$|^Example' | grep -v '^=== \|no tests to run\|no test files'
	@go test ./pkg/serviceprovider/... -count=1 -p 1 -v -timeout 30m -run '^Test(W[0-9]|Upstream|Invalid|Bad|Role|Tokens|Refused)' | grep -v '^=== \|no tests to run\|no test files'
	@go test ./pkg/clusters ./pkg/clusters/connect -count=1 -p 1 -v -timeout 30m -run '^TestMemoryIsFlat$$' -many 10000 | grep -v '^=== '
	@go test ./pkg/serviceprovider/clusteraccess -count=1 -v -timeout 30m -run '^TestMemoryIsFlat$$' | grep -v '^=== '
	@go test ./pkg/serviceprovider/internal/systemtest -count=1 -v -timeout 30m -run '^TestMany$$' -objects 1000 -clusters 50 | grep -v '^=== '
	@CGO_ENABLED=1 go test -race ./pkg/clusters -count=1 -v -timeout 30m -run '^TestCacheAtRandom$$' -storm $(STORM) | grep -v '^=== '
	@CGO_ENABLED=1 go test -race ./pkg/clusters/connect -count=1 -v -timeout 30m -run '^TestRotationsAtRandom$$' -storm $(STORM) | grep -v '^=== '
	@CGO_ENABLED=1 go test -race ./pkg/serviceprovider/internal/systemtest -count=1 -v -timeout 30m -run '^TestStormOfRotations$$' -storm $(STORM) | grep -v '^=== '

# What an author has compiled before, the library and the tools, is compiled by a first
# run; his own project is a new one in the second.
.PHONY: first-hour
first-hour: devcluster ## From nothing to a Ready object of a new kind: in six commands and a minute at most; and the whole page in fifteen minutes
	@echo "Compiling what an author compiles once; the first time takes minutes."
	@go -C cmd/moorage test ./internal/cli -count=1 -timeout 60m -run '^(TestFirstHour|TestPage)$$'
	@go -C cmd/moorage test ./internal/cli -count=1 -v -timeout 30m -run '^(TestFirstHour|TestPage)$$' -bounds | grep -v '^=== '

# The browser is that of Debian, and axe-core that of the npm registry. Neither is a requirement of a module.
AXE := 4.10.3

.PHONY: page
page: | bin ## The status page in Chromium: the first paint of 20,000 objects, accessibility, structure, changes while it is open
	@{ command -v chromium && command -v chromedriver; } >/dev/null || apt-get install -y -q chromium chromium-driver >/dev/null || \
		{ echo "page: there is no Chromium, and it cannot be installed: run as root: apt-get install chromium chromium-driver" >&2; exit 1; }
	@[ -e bin/axe-core-$(AXE)/axe.min.js ] || { mkdir -p bin/axe-core-$(AXE) && cd bin/axe-core-$(AXE) && npm pack --silent axe-core@$(AXE) >/dev/null && \
		tar -xzf axe-core-$(AXE).tgz --strip-components=1 package/axe.min.js; } || \
		{ echo "page: axe-core cannot be installed: put axe.min.js of axe-core $(AXE) into bin/axe-core-$(AXE)" >&2; exit 1; }
	@go test ./pkg/statuspage -count=1 -v -timeout 15m -run '^TestBrowser$$' -axe $(CURDIR)/bin/axe-core-$(AXE)/axe.min.js | grep -v '^=== '

.PHONY: mutate
mutate: ## Change every decision in every way; the tests must notice each
	@for d in $(DECISIONS); do echo "== mutate $$d"; go run ./internal/mutate $$d; done

.PHONY: mutate-shell
mutate-shell: bin/mutate-shell ## Change 300 places of the code around the decisions, drawn by a seed; the tests must notice 95 % of them (SEED)
	@bin/mutate-shell -seed $${SEED:-$$(date +%s)} -skip "$$(bin/testrun leftout .)"

.PHONY: mutate-shell-all
mutate-shell-all: bin/mutate-shell ## The same for every seed: every change that there is, draw by draw; an hour or two, and a run that was stopped continues
	@bin/mutate-shell -all -skip "$$(bin/testrun leftout .)"

.PHONY: bin/mutate-shell
bin/mutate-shell: devcluster bin/testrun | bin
	@go build -o $@ ./internal/mutate/shell

.PHONY: devcluster
devcluster: ## Build the API server for tests and demo (minutes the first time, cached)
	@echo "Looking for devcluster; compiling what looks for it takes a minute the first time."
	@$(LESS_GC) go build -v -o bin/devcluster-build ./pkg/devcluster/build $(progress)
	@$(LESS_GC) bin/devcluster-build

# Tools, built from the versions that hack/tools/go.mod pins.

bin:
	@mkdir -p bin

bin/controller-gen: hack/tools/go.mod hack/tools/go.sum
	@echo "Compiling controller-gen."
	@go -C hack/tools build -v -o $(CURDIR)/$@ sigs.k8s.io/controller-tools/cmd/controller-gen $(progress)

bin/golangci-lint: hack/tools/go.mod hack/tools/go.sum
	@echo "Compiling golangci-lint; this takes minutes, once."
	@$(LESS_GC) go -C hack/tools build -v -ldflags '-s -w' -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint $(progress)
