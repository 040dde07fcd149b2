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

// RestoreProbe passes resource versions of an API server to a [RestoreDetector], in a
// process without a [Lease], which would do so without extra requests. It lists the metadata
// of one object of a kind: one request at the start and one per interval, however many
// objects there are, with the permissions that a cache of the kind needs anyway. The version
// of a list is that of the whole API server, which grows with each write, whereas that of an
// object only changes when the object is written. A restore is missed if more writes follow
// it within an interval than it has reverted.
//
// Use NewRestoreProbe, and add it to a manager together with the detector.
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

// WithProbeInterval sets the interval of the probe. The default is ProbeInterval, also for
// values that are not positive.
func WithProbeInterval(d time.Duration) ProbeOption {
	return func(p *RestoreProbe) { p.interval = d }
}

// WithProbeNamespace restricts the list to a namespace, for a process that may not list
// others. The default is all namespaces.
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
