package layering

// The layers, from top to bottom. A package may import from the layers below its own. Packages of one layer do not
// import each other. A row may be in the table before its package exists. A package without a row is an error.
//
// A unit may be several packages ("pkg/resource/..."). Packages of one unit may import each other. The longest pattern
// that matches a package determines its unit: "pkg/clusters/connect/..." is not part of "pkg/clusters/...". The
// character * stands for one path element: each example is a unit of its own.
var table = []layer{
	{"tools", "the repository's own tests and tools; no package imports them", []unit{
		{path: "internal/apisurface/...", why: "the API that providers were written for, checked", sealed: true},
		{
			path:   "internal/docs/...",
			why:    "generates and checks parts of the pages of docs, and has the tutorial",
			sealed: true,
		},
		{path: "internal/hygiene/...", why: "tests about the repository", sealed: true},
		{path: "internal/layering/...", why: "this table and its test", sealed: true},
		{path: "internal/disaster/...", why: "the drill of a restore, on real API servers", sealed: true},
		{path: "internal/systemtest/...", why: "tests of the library against a real API server", sealed: true},
		{path: "internal/trials/...", why: "tests of the expectations of operators, with public packages", sealed: true},
		{path: "internal/testrun/...", why: "runs the tests, and the proof of a release", sealed: true},
		{
			path:   "internal/release/...",
			why:    "prepares go.mod files for a version, and tests that others can require it",
			sealed: true,
		},
		{
			path: "internal/mutate/...",
			why:  "mutates decisions, and what surrounds them, and runs their tests", sealed: true,
		},
		{path: "internal/kstatustest/...", why: "own module: tests of conditions with the real kstatus", sealed: true},
	}},
	{"5", "programs: they may use everything public", []unit{
		{path: "cmd/*/...", why: "the command-line tool", outside: true, sealed: true},
		{path: "examples/*/...", why: "one provider each", outside: true, sealed: true},
		{path: "bench/...", why: "what a provider costs, beside a floor", outside: true, sealed: true},
	}},
	{"4.9", "what tests of the library share; only tests import it", []unit{
		{path: "internal/volume/...", why: "a kind and a cloud in memory that assigns its names"},
		{path: "internal/leak/...", why: "looks for goroutines that tests have left"},
		{path: "internal/pagetest/...", why: "runs the kubectl commands of a page"},
		{path: "internal/testworld/...", why: "an API server as a test sees it"},
	}},
	{"4.6", "what checks the things built on reconcilers", []unit{
		{path: "pkg/conformance/...", why: "the suite for implementations of our interfaces"},
	}},
	{"4.5", "what is built on reconcilers", []unit{
		{path: "pkg/reconciler", why: "the seed's import path: aliases of managed"},
		{path: "pkg/plan/...", why: "the command of a provider that shows what it would do"},
		{path: "pkg/statuspage/...", why: "the page of a provider for its operators"},
		{path: "pkg/xp/...", why: "the names of crossplane-runtime, and an adapter of its clients"},
		{path: "pkg/sim/...", why: "what authors of adapters use of the simulator"},
		{path: "pkg/clusters/remote/...", why: "another cluster as the external system of managed resources"},
		{path: "pkg/plugin/...", why: "the main of programs that were plugins of virtual clusters, over a Runner"},
		{path: "pkg/bridge/...", why: "a syncer or a cluster as an external system"},
	}},
	{"4.3", "what runs reconcilers in virtual time", []unit{
		{path: "internal/sim/...", why: "steps the real reconciler through faults and schedules"},
	}},
	{"4", "reconcilers", []unit{
		{path: "pkg/reconciler/managed/...", why: "the managed reconciler and the contract of its clients"},
		{
			path: "pkg/reconciler/managed/internal/lifecycle/...",
			why:  "the decision: values in, a value out", alone: true,
		},
		{path: "pkg/providerconfig/...", why: "keeps a ProviderConfig while it is in use, and counts its users"},
		{path: "pkg/serviceprovider/...", why: "APIReconciler and ConfigReconciler"},
		{path: "pkg/serviceprovider/internal/lifecycle/...", why: "the decision: values in, a value out", alone: true},
		{path: "pkg/syncer/...", why: "one kind kept in step between two clusters"},
		{path: "pkg/syncer/internal/lifecycle/...", why: "the decision: values in, a value out", alone: true},
		{path: "pkg/storecontroller/...", why: "controllers over primaries outside etcd"},
		{path: "pkg/clusters/connect/...", why: "makes connections to clusters"},
	}},
	{"3.9", "what reconcilers are made of", []unit{
		{path: "pkg/reconciler/managed/internal/telemetry/...", why: "metrics and spans of a pass"},
		{path: "pkg/reconciler/managed/internal/attempt/...", why: "the record of a creation, in annotations"},
		{path: "pkg/reconciler/managed/internal/dryrun/...", why: "a client that answers writes and sends none"},
		{path: "pkg/reconciler/managed/internal/objectjson/...", why: "the JSON and the patches of managed resources"},
	}},
	{"3.5", "what reconcilers and stores are tested with", []unit{
		{path: "pkg/sim/apiserver/...", why: "an API server in memory"},
	}},
	{"3", "external systems, without observation", []unit{
		{path: "internal/sim/bucket/...", why: "the kinds of simulated objects"},
		{path: "pkg/external/...", why: "error classes, shared limits, breaker"},
		{path: "pkg/store/kube/...", why: "stores as a Kubernetes client and cluster"},
		{path: "pkg/store/natskv/...", why: "own module: the store over NATS"},
	}},
	{"2", "objects and where they are", []unit{
		{path: "pkg/resource/...", why: "interfaces of managed resources, their predicates and fakes"},
		{path: "pkg/controller/...", why: "options and queue"},
		{path: "pkg/reference/...", why: "resolves references and selectors, and tracks which object waits for which"},
		{path: "pkg/credentials/...", why: "where credentials come from"},
		{path: "pkg/crdgate/...", why: "runs a controller while its CRD is served"},
		{path: "pkg/clusters/...", why: "one Cluster value over the connection cache"},
		{path: "pkg/store/...", why: "the store's interface, its memory form and its suite"},
		{path: "internal/connsecret/...", why: "which details a connection Secret can hold, and whether it could be written"},
		{path: "pkg/changelog/...", why: "reports changes of external systems to sinks"},
		{path: "pkg/translate/...", why: "objects from one shape to another"},
	}},
	{"1", "single concepts", []unit{
		{path: "pkg/meta/...", why: "annotations, finalizers, owner references"},
		{path: "pkg/conditions/...", why: "conditions of a status"},
		{path: "pkg/connection/...", why: "the one cache of connections"},
		{path: "pkg/test/...", why: "the mock client"},
		{path: "pkg/test/ready/...", why: "waits until an object is Ready, and reports why it is not"},
		{path: "pkg/test/server/...", why: "runs a real server for tests"},
		{path: "pkg/devcluster/...", why: "finds, builds and starts devcluster"},
		{path: "internal/restores/...", why: "counts restores of an API server, and reports them"},
		{path: "internal/gone/...", why: "which answers say that an object does not exist"},
		{path: "internal/apicore/...", why: "the write path of an API server, for objects in memory"},
		{path: "pkg/hook/...", why: "interfaces of hooks, as plugins of virtual clusters implement them"},
		{path: "pkg/clienthelper/...", why: "functions that plugins of virtual clusters use"},
		{path: "pkg/log/...", why: "formatted lines, as plugins of virtual clusters write them"},
		{path: "pkg/difference/...", why: "which fields of an external resource are not as desired"},
	}},
	{"0", "words", []unit{
		{path: "pkg/errors/...", why: "wrapping and joining"},
		{path: "pkg/logging/...", why: "the logger's interface"},
		{path: "pkg/event/...", why: "the recorder's interface"},
		{path: "pkg/ratelimiter/...", why: "how fast to try again"},
		{path: "internal/mergepatch/...", why: "JSON merge patches: made, applied, and combined", alone: true},
		{path: "internal/merge/...", why: "merges a list that several writers share", alone: true},
		{path: "internal/fields/...", why: "the owners of the fields of an object"},
		{path: "internal/unwrap/...", why: "the capabilities of a client that wraps another one"},
		{path: "internal/panics/...", why: "errors of the panics of code that a caller does not own"},
		{path: "internal/freshness/...", why: "stale reads, and the silent requeue after one"},
		{path: "internal/records/...", why: "the memory of a process, by object"},
		{path: "internal/objectstate/...", why: "what the managed reconciler remembers of an object, in plain values"},
		{path: "pkg/test/wait/...", why: "the one budget of a test, which all its waits share", alone: true},
		{path: "pkg/test/port/...", why: "free ports", alone: true},
		{path: "examples/tour/...", why: "the form of the demos: claim, evidence, time", alone: true},
		{path: "internal/redact/...", why: "removes secrets from texts for people, and bounds the texts"},
		{path: "apis/...", why: "types that are stored"},
	}},
	{"apart", "a module that must not know the library: it is installed by its version, as it is", []unit{
		{path: "devcluster/...", why: "kube-apiserver and etcd in one binary", sealed: true},
	}},
}

// testsMayImport are packages that a test of any layer may import, because they are tools for tests.
var testsMayImport = []string{"pkg/test", "pkg/test/wait", "pkg/test/port", "pkg/resource/fake", "pkg/devcluster",
	"pkg/sim/apiserver", "pkg/conformance", "internal/leak", "internal/pagetest", "internal/testworld",
	"internal/volume", "internal/volume/stories"}

// A layer is one line of the table.
type layer struct {
	name  string
	what  string
	units []unit
}

// A unit is one package, or several packages that belong together.
type unit struct {
	path    string // below the module path; "/..." at the end takes in everything below, * is one element
	why     string // its purpose
	sealed  bool   // no package imports it, from no layer
	alone   bool   // imports nothing but the standard library; a unit taken out of another one stays open to that one
	outside bool   // may import public packages only, as another repository could
}
