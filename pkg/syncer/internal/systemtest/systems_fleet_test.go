package systemtest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// The types of multicluster-runtime that a Fleet is added to.
type (
	clusterName string

	multiRunnable interface {
		manager.Runnable
		Engage(ctx context.Context, name clusterName, c cluster.Cluster) error
	}

	multiManager struct{ added []multiRunnable }
)

func (m *multiManager) Add(r multiRunnable) error {
	m.added = append(m.added, r)
	return nil
}

// TestFleet runs two virtual clusters with one host. One of them is disengaged and
// engaged again without an effect on the other.
func TestFleet(t *testing.T) {
	planes := map[clusterName]*controlPlane{"red": tenantPlane, "blue": other(t)}
	for name, p := range planes {
		for _, c := range []client.Client{p.api, hostPlane.api} {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: string(name)}}
			if err := c.Create(t.Context(), ns); err != nil {
				t.Fatal(err)
			}
		}
	}
	host := runCluster(t, t.Context(), hostPlane.config)
	mgr := &multiManager{}
	if err := syncer.SetupMulticluster(mgr, host, func(
		_ clusterName, ctx *synccontext.RegisterContext,
	) (syncer.Syncer, error) {
		return newWidgetSyncer(ctx, syncer.Options{MaxConcurrentReconciles: workers}), nil
	}); err != nil {
		t.Fatal(err)
	}
	fleet := mgr.added[0]
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- fleet.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := fleet.Engage(context.Background(), "late", host); err == nil {
			t.Error("a fleet that has stopped engages")
		}
	})
	engage := func(name clusterName) context.CancelFunc {
		engaged, disengage := context.WithCancel(t.Context())
		if err := fleet.Engage(engaged, name, runCluster(t, engaged, guarded(t, planes[name].config))); err != nil {
			t.Fatal(err)
		}
		return disengage
	}
	image := func(name string) bool {
		return exists(t, hostPlane.api, newWidget(name, "a-x-"+name+"-x-"+name, 0))
	}
	widget := func(name string) *widget { return newWidget(name, "a", 12) }

	disengage := engage("blue")
	engage("red")
	for name, p := range planes {
		if err := p.api.Create(t.Context(), widget(string(name))); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the widget of "+string(name)+" is down", func() bool { return image(string(name)) })
	}

	disengage()
	for name, p := range planes {
		if err := p.api.Delete(t.Context(), widget(string(name))); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "red still works", func() bool { return !image("red") })
	if !image("blue") {
		t.Error("something is deleted for a virtual cluster that is not engaged")
	}
	engage("blue")
	wait.Until(t, "blue has come back", func() bool { return !image("blue") })
	if err := syncer.SetupMulticluster(
		&otherManager{}, host, func(
			clusterName, *synccontext.RegisterContext,
		) (syncer.Syncer, error) {
			return nil, nil
		}); err == nil {
		t.Error("a fleet is added to what takes something else")
	}
}

type otherManager struct{}

func (*otherManager) Add(interface{ Other() }) error { return nil }

// guarded returns a configuration that went through Guard.
func guarded(t *testing.T, c *rest.Config) *rest.Config {
	t.Helper()
	c, _, err := syncer.Guard(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runCluster runs a cluster as a cluster provider does.
func runCluster(t *testing.T, ctx context.Context, c *rest.Config) cluster.Cluster {
	t.Helper()
	out, err := cluster.New(c, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Client.Cache = &client.CacheOptions{Unstructured: true}
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = out.Start(ctx) }()
	if !out.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache of a cluster is not filled")
	}
	return out
}
