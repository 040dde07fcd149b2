package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ProbeInterval is how often a RestoreProbe asks by default.
const ProbeInterval = time.Minute

// A RestoreProbe shows a [RestoreDetector] the versions of an API server for a process
// that has no [Lease] to renew, which would show them without a request more. It lists one
// object of a kind, its metadata alone: one request at the start and one in each interval,
// however many objects there are, with the permission that a cache of the kind needs, too.
// The version of a list is that of the whole API server, which grows with each write; that
// of an object which is never written, such as a namespace, does not, and would not go
// back either. A restore is missed if more is written after it within an interval than was
// lost by it.
//
// Use NewRestoreProbe, and add it to a manager together with the detector.
type RestoreProbe struct {
	reader   client.Reader
	kind     schema.GroupVersionKind
	options  []client.ListOption
	interval time.Duration
	clock    clock.WithTicker
	lists    *highest
}

// A ProbeOption changes a RestoreProbe.
type ProbeOption func(*RestoreProbe)

// WithProbeInterval sets how often the probe asks. The default is ProbeInterval, also for
// what is not more than zero.
func WithProbeInterval(d time.Duration) ProbeOption {
	return func(p *RestoreProbe) { p.interval = d }
}

// WithProbeNamespace lets the probe ask for objects of one namespace, for a process that may
// not list others. The default is all.
func WithProbeNamespace(namespace string) ProbeOption {
	return func(p *RestoreProbe) { p.options = append(p.options, client.InNamespace(namespace)) }
}

// WithProbeClock sets the clock. The default is the system's.
func WithProbeClock(c clock.WithTicker) ProbeOption {
	return func(p *RestoreProbe) { p.clock = c }
}

// NewRestoreProbe returns a probe that lists objects of a kind. The reader asks the API
// server itself, as [sigs.k8s.io/controller-runtime/pkg/cluster.Cluster.GetAPIReader] does.
func NewRestoreProbe(d *RestoreDetector, reader client.Reader, kind schema.GroupVersionKind, o ...ProbeOption) *RestoreProbe {
	p := &RestoreProbe{
		reader: reader, kind: kind, options: []client.ListOption{client.Limit(1)}, clock: clock.RealClock{},
		lists: &highest{detector: d, of: kind.GroupKind()},
	}
	for _, option := range o {
		option(p)
	}
	if p.interval <= 0 {
		p.interval = ProbeInterval
	}

	return p
}

// Start asks until ctx ends. It returns no error: what was found is the detector's, and
// an API server that does not answer is asked again.
func (p *RestoreProbe) Start(ctx context.Context) error {
	ticker := p.clock.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		p.ask(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// NeedLeaderElection is false: each process has caches of its own.
func (p *RestoreProbe) NeedLeaderElection() bool { return false }

func (p *RestoreProbe) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.interval)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(p.kind.GroupVersion().WithKind(p.kind.Kind + "List"))
	answered := p.lists.asks()
	if err := p.reader.List(ctx, list, p.options...); err == nil {
		answered(list.GetResourceVersion())
	}
}
