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

PROVIDER := examples/provider-nats
DECISION := pkg/reconciler/managed/internal/lifecycle/decide.go
FUZZTIME ?= 30s
BENCH    ?= .

# Turns the package names of "go build -v" into a line now and then, and passes on everything else.
progress = 2>&1 | awk '/^[^ :\#]+$$/ { if (++n % 100 == 0) { print "  " n " packages compiled"; fflush() }; next } { print; fflush() }'

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: devcluster ## Watch a provider create, correct and delete real streams (ONCE=1: end after the tour)
	@echo "Compiling the provider; the first time takes about two minutes."
	@go -C $(PROVIDER) build -v -o $(CURDIR)/bin/ . $(progress)
	@cd $(PROVIDER) && $(CURDIR)/bin/provider-nats dev --tour $(if $(ONCE),--once)

.PHONY: test
test: devcluster ## Test every module, then the tests of the decision by mutation
	@for m in $(CODE); do echo "== test $$m"; go -C $$m test ./...; done
	@$(MAKE) mutate

##@ Change

.PHONY: check
check: generate verify vet lint test ## All that must hold before a commit

.PHONY: build
build: ## Compile every module
	@for m in $(CODE); do echo "== build $$m"; go -C $$m build -v ./... $(progress); done

.PHONY: generate
generate: bin/controller-gen ## Make deep copies, CRDs and roles from the types
	@bin/controller-gen object paths=./apis/...
	@cd $(PROVIDER) && $(CURDIR)/bin/controller-gen object paths=./apis/...
	@cd $(PROVIDER) && $(CURDIR)/bin/controller-gen crd paths=./apis/... output:crd:artifacts:config=package/crds
	@cd $(PROVIDER) && $(CURDIR)/bin/controller-gen rbac:roleName=provider-nats paths=./... output:rbac:artifacts:config=package/rbac

# What is compared is before and after, not the tree and git: the tree may hold changes.
generated = find . -path ./bin -prune -o \( -name 'zz_generated.*' -o -path '*/package/crds/*' -o -path '*/package/rbac/*' \) -type f -print0 | sort -z | xargs -0r sha256sum

.PHONY: verify
verify: bin/controller-gen ## Check that generated files, go.mod files, layers, sizes, documentation and links are as they should be
	@before=$$($(generated)); $(MAKE) generate; after=$$($(generated)); \
		diff <(echo "$$before") <(echo "$$after") || { echo "generated files were out of date and have been made again: commit them" >&2; exit 1; }
	@for m in $(MODULES); do echo "== tidy $$m"; go -C $$m mod tidy -diff || { echo "run: make tidy" >&2; exit 1; }; done
	@go test ./internal/layering ./internal/hygiene

.PHONY: tidy
tidy: ## Tidy every go.mod
	@for m in $(MODULES); do go -C $$m mod tidy; done

.PHONY: vet
vet: ## Vet every module
	@for m in $(CODE); do echo "== vet $$m"; go -C $$m vet ./...; done

.PHONY: lint
lint: bin/golangci-lint ## Lint (devcluster: vet only) and check the format
	@bad=$$(gofmt -l $(wildcard apis pkg internal cmd devcluster examples)); [ -z "$$bad" ] || { echo "run gofmt -w on:" $$bad >&2; exit 1; }
	@for m in $(OWN); do echo "== lint $$m"; (cd $$m && $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yaml ./...); done
	@for m in $(filter-out $(OWN),$(CODE)); do echo "== vet $$m"; go -C $$m vet ./...; done

##@ Look closer

.PHONY: race
race: devcluster ## Test under the race detector (without devcluster)
	@for m in $(OWN); do echo "== race $$m"; CGO_ENABLED=1 go -C $$m test -race ./...; done

.PHONY: cover
cover: devcluster | bin ## Test and print the share of statements covered
	@for m in $(OWN); do p=$(CURDIR)/bin/cover-$$(basename $$(realpath $$m)).out; echo "== cover $$m"; \
		go -C $$m test -coverprofile=$$p ./... ; go -C $$m tool cover -func=$$p | tail -n 1; done

.PHONY: bench
bench: devcluster ## Run the benchmarks (BENCH=regexp)
	@for m in $(OWN); do echo "== bench $$m"; go -C $$m test -run '^$$' -bench '$(BENCH)' -benchmem ./...; done

.PHONY: fuzz
fuzz: ## Fuzz each target for a while (FUZZTIME=30s)
	@for m in $(OWN); do go -C $$m test -list '^Fuzz' ./... | awk '/^Fuzz/ { f[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, f[i]; n = 0 }' | \
		while read -r pkg target; do echo "== fuzz $$pkg $$target"; go -C $$m test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg </dev/null; done; done

.PHONY: mutate
mutate: ## Change the decision in every way; the tests must notice each
	@go run ./internal/mutate $(DECISION)

.PHONY: devcluster
devcluster: ## Build the API server for tests and demo (minutes the first time, cached)
	@echo "Looking for devcluster; compiling what looks for it takes a minute the first time."
	@go build -v -o bin/devcluster-build ./pkg/devcluster/build $(progress)
	@bin/devcluster-build

# Tools, built from the versions that hack/tools/go.mod pins.

bin:
	@mkdir -p bin

bin/controller-gen: hack/tools/go.mod hack/tools/go.sum
	@echo "Compiling controller-gen."
	@go -C hack/tools build -v -o $(CURDIR)/$@ sigs.k8s.io/controller-tools/cmd/controller-gen $(progress)

bin/golangci-lint: hack/tools/go.mod hack/tools/go.sum
	@echo "Compiling golangci-lint; this takes minutes, once."
	@go -C hack/tools build -v -ldflags '-s -w' -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint $(progress)
