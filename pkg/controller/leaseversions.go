package controller

import (
	"context"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Versioned returns a lock that does what the given one does, and shows a detector the
// versions of its Lease. Locks of other kinds do not tell them, and are returned as they are.
func versioned(lock resourcelock.Interface, d *RestoreDetector) resourcelock.Interface {
	kept, ok := lock.(*resourcelock.LeaseLock)
	if !ok {
		return lock
	}
	shown := *kept
	shown.Client = leasesGetter{kept.Client, &highest{detector: d, of: coordination.SchemeGroupVersion.WithKind("Lease").GroupKind()}}

	return &shown
}

// A leasesGetter is asked for one Lease alone.
type leasesGetter struct {
	coordinationv1.LeasesGetter

	version *highest
}

func (g leasesGetter) Leases(namespace string) coordinationv1.LeaseInterface {
	return leases{g.LeasesGetter.Leases(namespace), g.version}
}

// Leases does with a Lease what a lock does with it.
type leases struct {
	coordinationv1.LeaseInterface

	version *highest
}

func (l leases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordination.Lease, error) {
	return l.ask(func() (*coordination.Lease, error) { return l.LeaseInterface.Get(ctx, name, o) })
}

func (l leases) Create(ctx context.Context, lease *coordination.Lease, o metav1.CreateOptions) (*coordination.Lease, error) {
	return l.ask(func() (*coordination.Lease, error) { return l.LeaseInterface.Create(ctx, lease, o) })
}

func (l leases) Update(ctx context.Context, lease *coordination.Lease, o metav1.UpdateOptions) (*coordination.Lease, error) {
	return l.ask(func() (*coordination.Lease, error) { return l.LeaseInterface.Update(ctx, lease, o) })
}

func (l leases) ask(request func() (*coordination.Lease, error)) (*coordination.Lease, error) {
	answered := l.version.asks()
	lease, err := request()
	if err == nil {
		answered(lease.GetResourceVersion())
	}

	return lease, err
}
