package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ProbeInterval is the default interval of a RestoreProbe.
const ProbeInterval = time.Minute

// RestoreProbe passes resource versions of an API server to a [RestoreDetector]. Use it in a process without a
// [Lease]; a Lease passes them without additional requests. Make it with NewRestoreProbe, and add it to a manager
// together with the detector.
//
// The probe lists the metadata of one object of a kind, at the start and once per interval. Each list is one request,
// however many objects there are. It needs the permissions that a cache of the kind needs anyway.
//
// The resourceVersion of a list is the version of the whole API server. It increases with each write, whereas the
// version of an object only changes when the object is written. The probe misses a restore if, within one interval, the
// number of writes after the restore exceeds the number of reverted writes.
type RestoreProbe struct {
	reader   client.Reader
	kind     schema.GroupVersionKind
	options  []client.ListOption
	interval time.Duration
	clock    clock.WithTicker
	lists    *lastVersion
}

// ProbeOption configures a RestoreProbe.
type ProbeOption func(*RestoreProbe)

// WithProbeInterval sets the interval of the probe. The default is ProbeInterval. Values that are not positive mean
// the default.
func WithProbeInterval(d time.Duration) ProbeOption {
	return func(p *RestoreProbe) { p.interval = d }
}

// WithProbeNamespace restricts the list to a namespace, for a process that may not list other namespaces. The default
// is all namespaces.
func WithProbeNamespace(namespace string) ProbeOption {
	return func(p *RestoreProbe) { p.options = append(p.options, client.InNamespace(namespace)) }
}

// WithProbeClock sets the clock. The default is the real clock.
func WithProbeClock(c clock.WithTicker) ProbeOption {
	return func(p *RestoreProbe) { p.clock = c }
}

// NewRestoreProbe returns a probe that lists objects of a kind. The reader must not be
// cached: use [sigs.k8s.io/controller-runtime/pkg/cluster.Cluster.GetAPIReader].
func NewRestoreProbe(d *RestoreDetector, reader client.Reader, kind schema.GroupVersionKind,
	o ...ProbeOption) *RestoreProbe {
	p := &RestoreProbe{
		reader: reader, kind: kind, options: []client.ListOption{client.Limit(1)}, clock: clock.RealClock{},
		lists: &lastVersion{detector: d, of: kind.GroupKind()},
	}
	for _, option := range o {
		option(p)
	}
	if p.interval <= 0 {
		p.interval = ProbeInterval
	}

	return p
}

// Start probes until ctx ends. It returns no error: the detector reports a restore, and a
// failed request is repeated after the interval.
func (p *RestoreProbe) Start(ctx context.Context) error {
	ticker := p.clock.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		p.probe(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// NeedLeaderElection returns false, because each process has its own caches.
func (p *RestoreProbe) NeedLeaderElection() bool { return false }

func (p *RestoreProbe) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.interval)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(p.kind.GroupVersion().WithKind(p.kind.Kind + "List"))
	answered := p.lists.beforeRequest()
	if err := p.reader.List(ctx, list, p.options...); err == nil {
		answered(list.GetResourceVersion())
	}
}
