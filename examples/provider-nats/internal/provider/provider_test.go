package provider_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

const lease = "provider-nats.nats.moorage.dev"

// TestInProduction runs the provider as in production, with leader election, probes and metrics, as a user
// with the permissions of its role.
func TestInProduction(t *testing.T) {
	env := start(t)
	o := provider.DefaultOptions()
	o.Election.Enabled, o.Election.Namespace = true, devenv.Namespace
	// a busy machine must not lose the lease
	o.Election.LeaseDuration, o.Election.RenewDeadline = 5*time.Minute, 4*time.Minute
	o.HealthAddress, o.MetricsAddress = fmt.Sprint("127.0.0.1:", port.Free(t)), fmt.Sprint("127.0.0.1:", port.Free(t))
	o.MetricsSecure = false // permissions have a test of their own
	changes := &changes{}
	o.ChangeLog = changes

	run(t, env, o, func() {
		wait.Until(t, "readiness", func() bool { return get(t, "http://"+o.HealthAddress+"/readyz") == "ok" })

		if got := get(t, "http://"+o.HealthAddress+"/healthz"); got != "ok" {
			t.Errorf("/healthz answers %q", got)
		}

		work(t, env, "first")
		renews(t, env)

		for _, want := range []string{
			"moorage_changelog_dropped_total 0",
			`leader_election_master_status{name="` + lease + `"} 1`,
			// A pass is counted at its end, after its result is visible.
			`controller_runtime_reconcile_total{controller="managed/stream.nats.moorage.dev",result="requeue_after"}`,
		} {
			shows(t, o, want)
		}
	})

	if holder := holder(t, env); holder != "" {
		t.Errorf("the lease is still held by %s", holder)
	}

	// The lease exists now: the next one has to update it.
	run(t, env, o, func() {
		work(t, env, "second")
		shows(t, o, "moorage_changelog_dropped_total 0") // of the second provider's record of changes
	})
	changes.check(t)
	checkRequests(t, env)
	checkOthersLeases(t, env)
	checkRestores(t, env, o)
}

// shows waits until the metrics contain a line.
func shows(t *testing.T, o provider.Options, line string) {
	t.Helper()
	wait.Until(t, "metrics with "+line, func() bool {
		return strings.Contains(get(t, "http://"+o.MetricsAddress+"/metrics"), line)
	})
}

// changes is the change log of several providers. The zero value is empty.
type changes struct {
	mu      sync.Mutex
	entries []changelog.Entry
}

func (c *changes) Record(_ context.Context, e changelog.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.entries = append(c.entries, e)

	return nil
}

// check checks that each of two streams was recorded, with the provider that created it.
func (c *changes) check(t *testing.T) {
	t.Helper()

	c.mu.Lock()
	defer c.mu.Unlock()

	if len(c.entries) != 2 {
		t.Errorf("%d changes are recorded, want 2", len(c.entries))
	}

	for _, e := range c.entries {
		if e.Provider != provider.Name || e.ProviderVersion == "" {
			t.Errorf("%s was changed by %q in version %q", e.Name, e.Provider, e.ProviderVersion)
		}
	}
}

func start(t *testing.T) *devenv.Env {
	t.Helper()

	env, err := devenv.Start(t.Context(), devenv.Options{Progress: os.Stderr})
	must(t, err)
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})

	return env
}

// run runs the provider while look is called.
func run(t *testing.T, env *devenv.Env, o provider.Options, look func()) {
	t.Helper()

	p, err := env.RunProvider(context.WithoutCancel(t.Context()), o)
	must(t, err)

	defer func() {
		if err := p.Stop(); err != nil {
			t.Errorf("the provider failed: %v", err)
		}
	}()

	look()
}

// work lets the provider create a stream.
func work(t *testing.T, env *devenv.Env, name string) {
	t.Helper()

	mg := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: devenv.Namespace, Name: name}}
	must(t, env.Client.Create(t.Context(), mg))
	wait.Until(t, "stream "+name, func() bool {
		must(t, env.Client.Get(t.Context(), client.ObjectKeyFromObject(mg), mg))

		return mg.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
	})
}

func current(t *testing.T, env *devenv.Env) *coordinationv1.Lease {
	t.Helper()

	out := &coordinationv1.Lease{}
	must(t, env.Client.Get(t.Context(), client.ObjectKey{Namespace: devenv.Namespace, Name: lease}, out))

	return out
}

func holder(t *testing.T, env *devenv.Env) string {
	t.Helper()

	if id := current(t, env).Spec.HolderIdentity; id != nil {
		return *id
	}

	return ""
}

// renews waits until the leader has renewed its lease.
func renews(t *testing.T, env *devenv.Env) {
	t.Helper()

	before := current(t, env)
	if holder(t, env) == "" {
		t.Error("the lease has no holder, but a provider works")
	}

	wait.Until(t, "a renewed lease", func() bool {
		return current(t, env).Spec.RenewTime.After(before.Spec.RenewTime.Time)
	})
}

// checkRequests checks that no request of the provider was forbidden, and that it has no permission for
// leases that it does not use.
func checkRequests(t *testing.T, env *devenv.Env) {
	t.Helper()

	var used []string

	wait.Until(t, "noted requests", func() bool {
		requests, err := env.Cluster.Requests(provider.Name)
		must(t, err)

		used = verbs(t, requests)

		return len(used) >= 3
	})

	if want := []string{"create", "get", "update"}; !slices.Equal(used, want) {
		t.Errorf("the provider uses the verbs %v of leases, its role allows %v", used, want)
	}
}

func verbs(t *testing.T, requests []devcluster.Request) []string {
	t.Helper()

	var out []string

	for _, r := range requests {
		if r.Code == http.StatusForbidden {
			t.Errorf("forbidden: %+v", r)
		}

		if r.Resource == "leases" && !slices.Contains(out, r.Verb) {
			out = append(out, r.Verb)
		}
	}

	slices.Sort(out)

	return out
}

// checkOthersLeases checks that the provider has no permission for other leases.
func checkOthersLeases(t *testing.T, env *devenv.Env) {
	t.Helper()

	other := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-scheduler"}}
	must(t, env.Client.Create(t.Context(), other))

	cfg, err := env.ProviderConfig(t.Context())
	must(t, err)
	c, err := client.New(cfg, client.Options{Scheme: env.Client.Scheme()})
	must(t, err)

	attempts := map[string]error{
		"get":    c.Get(t.Context(), client.ObjectKeyFromObject(other), &coordinationv1.Lease{}),
		"update": c.Update(t.Context(), other.DeepCopy()),
		"patch":  c.Patch(t.Context(), other.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{}`))),
		"delete": c.Delete(t.Context(), other.DeepCopy()),
		"list":   c.List(t.Context(), &coordinationv1.LeaseList{}),
	}
	for verb, err := range attempts {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s of another's lease: want forbidden, got %v", verb, err)
		}
	}
}

// get returns the body of a successful answer, or "".
func get(t *testing.T, url string) string {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "" // The server does not listen yet.
	}
	defer answer.Body.Close()

	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return ""
	}

	return string(body)
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}
