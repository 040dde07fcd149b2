package controller_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/moorage-dev/moorage/pkg/controller"
)

// TestLeaseGetExpires: a process that reads that it no longer holds the lease, because it was
// deleted or changed, is no longer the leader until it acquires the lease again.
func TestLeaseGetExpires(t *testing.T) {
	const namespace, name = "default", "leader"
	at := metav1.Now()
	held := func(by string) resourcelock.LeaderElectionRecord {
		return resourcelock.LeaderElectionRecord{
			HolderIdentity: by, LeaseDurationSeconds: 15, AcquireTime: at, RenewTime: at,
		}
	}
	for what, tc := range map[string]struct {
		take func(ctx context.Context, other *controller.Lease, remove func() error) error
		ends bool
		gone bool
	}{
		"by nobody": {func(context.Context, *controller.Lease, func() error) error { return nil }, false, false},
		"deleted": {func(_ context.Context, _ *controller.Lease, remove func() error) error { return remove() },
			true, true},
		"deleted, and taken": {func(ctx context.Context, other *controller.Lease, remove func() error) error {
			if err := remove(); err != nil {
				return err
			}

			return other.Create(ctx, held("other"))
		}, true, false},
		"changed": {func(ctx context.Context, other *controller.Lease, _ func() error) error {
			if _, _, err := other.Get(ctx); err != nil {
				return err
			}

			return other.Update(ctx, held("other"))
		}, true, false},
		"given up by hand": {func(ctx context.Context, other *controller.Lease, _ func() error) error {
			if _, _, err := other.Get(ctx); err != nil {
				return err
			}

			return other.Update(ctx, held(""))
		}, true, false},
	} {
		t.Run(what, func(t *testing.T) {
			leases := fake.NewClientset().CoordinationV1()
			of := func(identity string) *controller.Lease {
				return controller.NewLease(&resourcelock.LeaseLock{
					LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Client: leases,
					LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
				}, time.Hour)
			}
			mine, other := of("me"), of("other")
			if err := mine.Create(t.Context(), held("me")); err != nil {
				t.Fatal(err)
			}
			remove := func() error { return leases.Leases(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}) }
			if err := tc.take(t.Context(), other, remove); err != nil {
				t.Fatal(err)
			}
			if _, _, err := mine.Get(t.Context()); (err != nil) != tc.gone {
				t.Fatal(err)
			}
			if got := mine.Deadline(); got.IsZero() || got.Before(time.Now()) != tc.ends {
				t.Errorf("deadline %s, want one in the past", got)
			}
			take := mine.Update
			if tc.gone {
				take = mine.Create
			}
			if err := take(t.Context(), held("me")); err != nil {
				t.Fatal(err)
			}
			if got := mine.Deadline(); got.Before(time.Now()) {
				t.Errorf("acquired again: deadline %s", got)
			}
		})
	}
}
