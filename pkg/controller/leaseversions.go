package controller

import (
	"context"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// observeVersions returns a copy of the lock that passes the versions of its Lease to a
// detector. Locks of other types are returned unchanged.
func observeVersions(lock resourcelock.Interface, d *RestoreDetector) resourcelock.Interface {
	original, ok := lock.(*resourcelock.LeaseLock)
	if !ok {
		return lock
	}
	observed := *original
	observed.Client = leasesGetter{original.Client, &lastVersion{
		detector: d, of: coordination.SchemeGroupVersion.WithKind("Lease").GroupKind(),
	}}

	return &observed
}

// leasesGetter observes the version of a single Lease.
type leasesGetter struct {
	coordinationv1.LeasesGetter

	version *lastVersion
}

func (g leasesGetter) Leases(namespace string) coordinationv1.LeaseInterface {
	return leases{g.LeasesGetter.Leases(namespace), g.version}
}

// leases observes the version in the response of each request.
type leases struct {
	coordinationv1.LeaseInterface

	version *lastVersion
}

func (l leases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordination.Lease, error) {
	return l.observe(func() (*coordination.Lease, error) { return l.LeaseInterface.Get(ctx, name, o) })
}

func (l leases) Create(ctx context.Context, lease *coordination.Lease,
	o metav1.CreateOptions) (*coordination.Lease, error) {
	return l.observe(func() (*coordination.Lease, error) { return l.LeaseInterface.Create(ctx, lease, o) })
}

func (l leases) Update(ctx context.Context, lease *coordination.Lease,
	o metav1.UpdateOptions) (*coordination.Lease, error) {
	return l.observe(func() (*coordination.Lease, error) { return l.LeaseInterface.Update(ctx, lease, o) })
}

func (l leases) observe(request func() (*coordination.Lease, error)) (*coordination.Lease, error) {
	answered := l.version.beforeRequest()
	lease, err := request()
	if err == nil {
		answered(lease.GetResourceVersion())
	}

	return lease, err
}
