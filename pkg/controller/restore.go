package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/internal/restores"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// ErrRestored means that the API server of a cluster was restored to an earlier state, so that caches may have
// objects that the API server does not have. The process then ends, or stops using the cluster.
var ErrRestored = errors.New("the API server was restored to an earlier state")

// WentBack reports whether the resourceVersion in a response is lower than a known resourceVersion. In that case the
// etcd of the API server was restored to an earlier state. WentBack returns false for versions that cannot be
// compared.
//
// Both resourceVersions must be of the same object, or of lists of the same resource. The version of an object is the
// version of its last write, so the versions of different objects cannot be compared. An object that was deleted and
// recreated has a higher version than before.
//
// The known version must have been known when the request was sent, because the responses to concurrent requests may
// arrive in any order.
func WentBack(known, answered string) bool { return freshness.IsOlder(answered, known) }

// RestoreDetector detects that an API server was restored to an earlier state while this process runs. After a restore,
// watches wait for versions that no longer exist, and caches stay stale until new writes have exceeded these versions.
//
// The detector gets resource versions from a [Lease], from a [RestoreProbe], or from code that reads from the API
// server. It may also get them from OnRestored of package clusters, which needs neither a lease nor requests in
// steady state.
//
// Use one detector for each client of a cluster. After a restore, replace it together with the caches of the client.
// For the manager's own cluster that means a restart of the process: the detector, added to the manager, ends the
// manager with an error. The next process lists everything and knows no versions, so it does not end because of the
// same restore.
//
// A RestoreDetector must be created by NewRestoreDetector, and may be used concurrently.
type RestoreDetector struct {
	log     logging.Logger
	counter prometheus.Counter
	found   chan struct{}
	ended   chan struct{} // closed when the functions of BeforeEnd have returned

	mu       sync.Mutex
	err      error // nil until a restore is detected
	stopping bool
	before   map[*func(context.Context)]bool
}

// beforeEndTimeout is how long the functions of BeforeEnd may take. An API server that has
// just started may not serve all kinds yet.
const beforeEndTimeout = 25 * time.Second

// RestoreOption configures a RestoreDetector.
type RestoreOption func(*RestoreDetector)

// WithRestoreLogger sets the logger, which logs a restore as an error. By default a restore is not logged.
func WithRestoreLogger(l logging.Logger) RestoreOption {
	return func(d *RestoreDetector) { d.log = l }
}

// NewRestoreDetector returns a detector that knows no version. The metric
// moorage_apiserver_restores_total counts the restores that all detectors of the process
// detect.
func NewRestoreDetector(o ...RestoreOption) *RestoreDetector {
	d := &RestoreDetector{
		log: logging.NewNopLogger(), counter: restores.Counter(), found: make(chan struct{}),
		ended: make(chan struct{}), before: map[*func(context.Context)]bool{},
	}
	for _, option := range o {
		option(d)
	}

	return d
}

// Seen compares the resourceVersion in a response with the version that was known when the request was sent. Both
// belong to one object of the kind, or to lists of the kind. Seen returns the result of [WentBack].
//
// The first lower version is logged and counted, and ends the process if the detector was added to its manager. Later
// lower versions count as the same restore.
func (d *RestoreDetector) Seen(of schema.GroupKind, known, answered string) (wentBack bool) {
	if !WentBack(known, answered) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return true
	}
	d.err = errors.Errorf("%w: %s had version %s and is answered with %s; "+
		"start this process anew if nothing does, so that it lists everything again",
		ErrRestored, of, known, answered)
	d.counter.Inc()
	logging.Error(d.log, ErrRestored, "Caches hold what the API server has forgotten, "+
		"everything has to be listed anew. "+
		"Look for external resources of objects that are not in the backup: no object manages them",
		"kind", of.String(), "knownVersion", known, "answeredVersion", answered)
	close(d.found)

	return true
}

// Restored returns an error that wraps ErrRestored if a restore was detected, and nil otherwise.
func (d *RestoreDetector) Restored() error {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.err
}

// BeforeEnd registers a function that is called after a restore was detected, before [RestoreDetector.Start] returns.
// The function can store state that the API server has lost. The returned function forget removes the registration.
//
// All registered functions are called concurrently. Their context ends after 25 seconds, and they must return then. A
// stop of the manager does not end the context. If the process has lost its [Lease], it may end before the functions
// return.
func (d *RestoreDetector) BeforeEnd(do func(context.Context)) (forget func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before[&do] = true

	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.before, &do)
	}
}

// Start waits until ctx ends or a restore is detected. After a restore it calls the functions of BeforeEnd and
// returns an error. The error ends the manager to which the detector was added.
func (d *RestoreDetector) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-d.found:
	}
	err := d.Restored()
	if err != nil {
		d.runBeforeEnd(context.WithoutCancel(ctx))
	}

	return err
}

// runBeforeEnd calls the functions of BeforeEnd, or waits until another call has done so.
func (d *RestoreDetector) runBeforeEnd(ctx context.Context) {
	d.mu.Lock()
	begun, all := d.stopping, slices.Collect(maps.Keys(d.before))
	d.stopping = true
	d.mu.Unlock()
	if begun {
		<-d.ended

		return
	}
	defer close(d.ended)
	ctx, cancel := context.WithTimeout(ctx, beforeEndTimeout)
	defer cancel()
	var calls sync.WaitGroup
	for _, do := range all {
		calls.Go(func() { (*do)(ctx) })
	}
	calls.Wait()
}

// NeedLeaderElection returns false, because a process that waits for the lease also has caches.
func (d *RestoreDetector) NeedLeaderElection() bool { return false }

// lastVersion has the highest resourceVersion in the responses for one object, or for the lists of one resource. The
// zero value with a detector has none.
type lastVersion struct {
	detector *RestoreDetector
	of       schema.GroupKind

	mu      sync.Mutex
	version string
}

// beforeRequest must be called before a request is sent. The function that it returns must
// be called with the version in the response.
func (h *lastVersion) beforeRequest() (answered func(version string)) {
	h.mu.Lock()
	known := h.version
	h.mu.Unlock()

	return func(version string) {
		h.detector.Seen(h.of, known, version)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.version == "" || WentBack(version, h.version) { // higher than what is known
			h.version = version
		}
	}
}
