package clusteraccess

import (
	"context"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// touches lets the AccessRequest be another version, so that the next pass reads the Secret.
func (b *board) touches() {
	b.Helper()
	ar := b.r.newAccessRequest(b.r.registered[0], b.request)
	if err := b.api.Patch(b.Context(), ar, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"seen":"yes"}}}`))); err != nil {
		b.Fatal(err)
	}
}

// rotates lets the Secret lead elsewhere.
func (b *board) rotates(host string) {
	b.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.r.registered[0].namespace(b.request), Name: "granted",
	}}
	if err := b.api.Get(b.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		b.Fatal(err)
	}
	secret.Data[keyKubeconfig] = kubeconfig(b.T, host)
	if err := b.api.Update(b.Context(), secret); err != nil {
		b.Fatal(err)
	}
}

func (b *board) leadsTo(host string) {
	b.Helper()
	got, err := b.r.Access(b.Context(), b.request, serviceprovider.ClusterWorkload)
	if err != nil || got.Cluster.APIServerEndpoint() != host {
		b.Errorf("want access to %s, got %+v, %v", host, got, err)
	}
}

// TestOvertaken: what a pass has read of a Secret does not take the place of what was read
// later, nor keep that from being used.
func TestOvertaken(t *testing.T) {
	b := newBoard(t)
	b.admitted()
	key := client.ObjectKeyFromObject(b.r.newAccessRequest(b.r.registered[0], b.request))
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	b.touches()
	var later sync.WaitGroup
	b.once(func() error { // of the pass
		b.rotates("https://west.example")
		begins := make(chan struct{})
		later.Go(func() {
			close(begins)
			b.r.recheckGrant(t.Context(), q, key)
		})
		<-begins

		return nil
	})
	if ready, err := b.asks(); !ready || err != nil {
		t.Fatalf("want access, got %t, %v", ready, err)
	}
	later.Wait()
	b.leadsTo("https://west.example")
	if q.Len() != 1 {
		t.Error("want the object woken")
	}
	if len(b.r.secretLocks) != 0 {
		t.Errorf("%d turns are left", len(b.r.secretLocks))
	}
}

// TestTurnsEnd: waiting for the lock ends with the context of the pass.
func TestTurnsEnd(t *testing.T) {
	b := newBoard(t)
	key := clusters.Key{Name: "a"}
	over, err := b.r.lockSecret(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.r.lockSecret(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("want %v, got %v", context.Canceled, err)
	}
	b.r.recheckGrant(ctx, nil, key)
	over()
	again, err := b.r.lockSecret(ctx, key)
	if err != nil {
		t.Fatalf("want a turn, since nobody has one, got %v", err)
	}
	again()
}

// TestDoubtThatCannotBeResolved: while a Secret cannot be read that may be another one, the
// object goes on with the access it has, and the doubt stays.
func TestDoubtThatCannotBeResolved(t *testing.T) {
	b := newBoard(t)
	b.admitted()
	key := client.ObjectKeyFromObject(b.r.newAccessRequest(b.r.registered[0], b.request))
	b.rotates("https://west.example")
	b.r.markStale(key)
	b.once(func() error { return errOutage })
	if ready, err := b.asks(); !ready || err != nil {
		t.Fatalf("want the access there is, got %t, %v", ready, err)
	}
	b.leadsTo("https://east.example")
	if ready, err := b.asks(); !ready || err != nil {
		t.Fatalf("want access, got %t, %v", ready, err)
	}
	b.leadsTo("https://west.example")
	b.r.markStale(key)
	b.touches()
	b.once(func() error { return errOutage })
	if _, err := b.asks(); !errors.Is(err, errOutage) {
		t.Errorf("want %v, since the request may ask for something else by now, got %v", errOutage, err)
	}
}
