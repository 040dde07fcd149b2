package connect

import (
	"context"
	stderrors "errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestClusterRestoredFromBackup restores etcd of a cluster to an older state while caches
// of it run, whose watches wait for versions that are gone. The connection and its cache
// are replaced once, with an event, and later writes arrive. They also arrive in a cache
// that is not replaced, because it lists again.
func TestClusterRestoredFromBackup(t *testing.T) {
	own, err := devcluster.Start(t.Context(), devcluster.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Stop() })
	config, err := own.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	data, backup := filepath.Join(own.Dir, "etcd"), filepath.Join(t.TempDir(), "etcd")
	writeConfigMap(t, admin, "old")
	whileDown(t, own, func() error { return os.CopyFS(backup, os.DirFS(data)) })

	ns, events := namespace(t), &lostEvents{Recorder: event.NewNopRecorder()}
	connections := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
	t.Cleanup(connections.Close)
	start(t, connections, WithRecorder(events))
	c := newCluster(ns, "east")
	kubeconfig, err := clusters.New("east").WithRESTConfig(config).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	create(t, &corev1.Secret{ObjectMeta: c.ObjectMeta, Data: map[string][]byte{"kubeconfig": kubeconfig}}, c)
	waitForReason(t, c, commonv1.ReasonConnectionAvailable)
	f := &informerUser{connections: connections, key: client.ObjectKeyFromObject(c)}
	wait.Until(t, "the connection can be had", func() bool {
		_, _, err := connections.Get(t.Context(), f.key)

		return err == nil
	})
	f.run(t)
	alone := startCache(t, config)
	for n := range 300 { // more than an API server writes when it starts
		writeConfigMap(t, admin, fmt.Sprint("new-", n))
	}
	wait.Until(t, "the caches are up to date", func() bool {
		return f.value() == "new-299" &&
			cachedValue(alone) == "new-299"
	})

	whileDown(t, own, func() error { return stderrors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup))) })
	wait.Until(t, "the caches have what was restored", func() bool {
		return f.value() == "old" &&
			cachedValue(alone) == "old"
	})
	writeConfigMap(t, admin, "after")
	wait.Until(t, "the caches have what was written after the restore", func() bool {
		return f.value() == "after" &&
			cachedValue(alone) == "after"
	})
	wait.Until(t, "there is an event", func() bool { return events.count.Load() > 0 })
	if n := events.count.Load(); n != 1 {
		t.Errorf("%d events, want one", n)
	}
	if n := f.caches.Load(); n != 2 {
		t.Errorf("%d caches were made, want one more", n)
	}
	if waitForReason(t, c, commonv1.ReasonConnectionAvailable); c.Status.Error != "" {
		t.Errorf("status: %+v", c.Status)
	}
}

// lostEvents counts the events with the reason ConnectionLost.
type lostEvents struct {
	event.Recorder

	count atomic.Int64
}

// Event counts an event.
func (w *lostEvents) Event(_ runtime.Object, e event.Event) {
	if e.Reason == ReasonConnectionLost {
		w.count.Add(1)
	}
}

// An informerUser runs a cache on each connection to a cluster, as long as that lasts.
type informerUser struct {
	connections *clusters.Cache[*clusters.Cluster]
	key         client.ObjectKey
	caches      atomic.Int64
	current     atomic.Pointer[cache.Cache]
}

// run runs the caches until the test ends.
func (f *informerUser) run(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-done
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			lease, err := f.connections.Acquire(ctx, f.key)
			if ctx.Err() != nil {
				lease.Release()

				return
			}
			if err != nil {
				t.Errorf("cannot connect: %v", err)

				return
			}
			f.caches.Add(1)
			seen := lease.Client.Cluster().GetCache()
			f.current.Store(&seen)
			running, end := context.WithCancel(lease.Context)
			context.AfterFunc(ctx, end)
			if err := seen.Start(running); err != nil {
				t.Errorf("the cache ends with %v", err)
			}
			end()
			if cause := context.Cause(lease.Context); cause != nil && !errors.As(cause, &clusters.Restore{}) {
				t.Errorf("the lease has ended because of %v", cause)
			}
			lease.Release()
		}
	}()
}

// value returns the value in the current cache.
func (f *informerUser) value() string {
	seen := f.current.Load()
	if seen == nil {
		return ""
	}

	return cachedValue(*seen)
}

// startCache returns a cache of a configuration whose restores are detected and not acted
// on.
func startCache(t *testing.T, config *rest.Config) cache.Cache {
	t.Helper()
	config = rest.CopyConfig(config)
	clusters.OnRestored(config, func(clusters.Restore) {})
	alone, err := cluster.New(config, func(o *cluster.Options) { o.Scheme = scheme })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- alone.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return alone.GetCache()
}

var configMapKey = client.ObjectKey{Namespace: "default", Name: "kept"}

// cachedValue returns the value in a cache, "" while it does not run.
func cachedValue(seen cache.Cache) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // one that has ended does not answer
	defer cancel()
	found := &corev1.ConfigMap{}
	if err := seen.Get(ctx, configMapKey, found); err != nil {
		return ""
	}

	return found.Data["value"]
}

// writeConfigMap creates or updates the ConfigMap.
func writeConfigMap(t *testing.T, c client.Client, value string) {
	t.Helper()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: configMapKey.Namespace, Name: configMapKey.Name},
		Data:       map[string]string{"value": value},
	}
	err := c.Create(t.Context(), object)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = c.Update(t.Context(), object)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// whileDown calls a function while the API server is stopped.
func whileDown(t *testing.T, c *devcluster.Cluster, what func() error) {
	t.Helper()
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := what(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}
