package crdgate

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Discovered answers for group versions, and counts.
type discovered struct {
	mu    sync.Mutex
	kinds map[string][]string // nil: not found
	err   error
	asked []string

	away      bool // a proxy answers everything
	groupsErr error
}

func (d *discovered) list(_ context.Context, gv string) (*metav1.APIResourceList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, gv)
	if d.err != nil {
		return nil, d.err
	}
	kinds, ok := d.kinds[gv]
	if !ok {
		return nil, kerrors.NewNotFound(schema.GroupResource{}, gv)
	}
	list := &metav1.APIResourceList{GroupVersion: gv}
	for _, k := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: k})
	}

	return list, nil
}

// groups lists the group versions that are there, beside those of every API server.
func (d *discovered) groups(context.Context) (*metav1.APIGroupList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return &metav1.APIGroupList{}, nil // client-go takes a 404 for an empty list
	}
	all := &metav1.APIGroupList{Groups: []metav1.APIGroup{{
		Name: "apps", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "apps/v1"}},
	}}}
	for gv := range d.kinds {
		all.Groups = append(all.Groups, metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: gv}}})
	}

	return all, d.groupsErr
}

func (d *discovered) set(err error, gv string, kinds ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.kinds = err, map[string][]string{gv: kinds}
}

func newServer(d *discovered) *apiServer {
	return &apiServer{
		logger: logging.NewNopLogger(), interval: time.Minute, definitions: newCRDIndex(),
		resources: d.list, groups: d.groups, probeNow: make(chan struct{}, 1),
		discovered: map[schema.GroupVersionKind]discoveryResult{},
	}
}

func TestServedWithoutDefinition(t *testing.T) {
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	metric := schema.GroupVersionKind{Group: "metrics.example.org", Version: "v1", Kind: "Metric"}
	d := &discovered{kinds: map[string][]string{"v1": {"ConfigMap", "Secret"}}}
	s := newServer(d)
	s.track(secret)
	s.track(metric)
	s.track(gvk("Bucket"))
	s.definitions.set(crd("buckets", "Bucket", "u1", "True", "v1"))
	type state struct {
		By    string
		Known bool
	}
	want := func(reason string, kind schema.GroupVersionKind, by string, known bool) {
		t.Helper()
		gotBy, gotKnown := s.served(kind)
		if diff := cmp.Diff(state{by, known}, state{gotBy, gotKnown}); diff != "" {
			t.Errorf("%s, %s: -want, +got:\n%s", kind.Kind, reason, diff)
		}
	}
	probe := func(reason string, fresh bool) {
		t.Helper()
		if got := s.probeAll(t.Context()); got != fresh {
			t.Errorf("%s: probeAll(...) = %t, want %t", reason, got, fresh)
		}
	}

	want("definitions are not complete", secret, "", false)
	s.definitions.setSynced()
	want("discovery was not asked", secret, "", false)
	want("has a definition", gvk("Bucket"), "u1", true)
	probe("first answers", true)
	want("found", secret, byDiscovery, true)
	want("not found", metric, "", true)
	if diff := cmp.Diff(2, len(d.asked)); diff != "" {
		t.Errorf("one question for each group version without definitions: %v", d.asked)
	}
	probe("nothing new", false)
	d.kinds["metrics.example.org/v1"] = []string{"Metric"}
	probe("an aggregated API server came", true)
	want("came", metric, byDiscovery, true)
	d.err = errors.New("unavailable")
	probe("what cannot be asked stays", false)
	want("stays", metric, byDiscovery, true)
	d.err = kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, schema.GroupResource{}, "",
		"404 page not found", 0, true)
	probe("the page of a proxy, for what is listed", false)
	d.away = true
	probe("the page of a proxy, for everything", false)
	d.away, d.groupsErr = false, errors.New("unavailable")
	delete(d.kinds, "metrics.example.org/v1")
	probe("the groups cannot be listed", false)
	want("stays", metric, byDiscovery, true)
	d.err, d.groupsErr = nil, nil
	probe("it went", true)
	want("went", metric, "", true)
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &discovered{err: errors.New("unavailable")}
		s := newServer(d)
		listed := make(chan error, 1)
		go func() { listed <- s.waitUntilListable(t.Context(), gvk("Bucket")) }()
		later(time.Second)
		d.set(nil, "example.org/v1", "Database")
		later(time.Minute)
		if len(d.asked) > 20 {
			t.Errorf("%d questions in a minute", len(d.asked))
		}
		d.set(nil, "example.org/v1", "Database", "Bucket")
		if err := <-listed; err != nil {
			t.Errorf("await(...) = %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() { listed <- s.waitUntilListable(ctx, gvk("Fjord")) }()
		synctest.Wait()
		stop()
		if err := <-listed; !errors.Is(err, context.Canceled) {
			t.Errorf("await(...) = %v, want that it was cancelled", err)
		}
	})
}

// TestSyncLogs: a sync that takes long is logged, because a permission may be missing.
func TestSyncLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(&discovered{})
		logged := &counter{}
		s.logger = logged
		done := make(chan struct{})
		synced := make(chan bool, 1)
		go func() { synced <- s.sync(t.Context(), done) }()
		later(syncWarningAfter + time.Second)
		if logged.n != 1 {
			t.Errorf("logged %d times, want once", logged.n)
		}
		close(done)
		if !<-synced {
			t.Error("sync(...) = false, want true")
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if s.sync(ctx, make(chan struct{})) {
			t.Error("sync(...) = true after the end")
		}
	})
}

type counter struct {
	logging.Logger

	n int
}

func (c *counter) Info(string, ...any) { c.n++ }
