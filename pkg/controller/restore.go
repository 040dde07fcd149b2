package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/restores"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// ErrRestored is why a process ends, or stops working with a cluster: its API server
// was restored to an earlier state, and caches hold what that does not know.
var ErrRestored = errors.New("the API server was restored to an earlier state")

// WentBack says whether an API server that has told the version known answers with a
// lower one now, which it does only if its etcd was restored to an earlier state.
//
// Both are versions of the same object, or both of lists of the same resource: the
// version of an object is that of its last write, so that those of two objects say
// nothing about each other. And known is what was known when the request was sent: of two
// requests that are under way at once, the later one may be answered first. An object that
// was deleted and created anew has a higher version than before. Versions that cannot be
// compared say nothing.
func WentBack(known, answered string) bool { return restores.WentBack(known, answered) }

// A RestoreDetector tells, once, that an API server was restored to an earlier state
// while this process runs. Watches then wait for versions of a history that is gone, and
// caches stay as they were until versions have grown beyond them. A [Lease] reports to
// one, and so do a [RestoreProbe], whoever reads from the API server itself, and what is told
// by OnRestored of package clusters, which needs neither a lease nor requests in steady state.
//
// There is one for each client of a cluster, for as long as its caches live: what has
// told of a restore is to be replaced together with them. For the manager's own cluster
// the process is: added to the manager, the detector ends that with an error. The next
// process has seen no version yet, and lists everything anew, so that it does not end for
// the same restore.
//
// Use NewRestoreDetector. It may be used concurrently.
type RestoreDetector struct {
	log     logging.Logger
	counter prometheus.Counter
	found   chan struct{}
	ended   chan struct{} // what is to be done before the end is done

	mu     sync.Mutex
	err    error // what was found, if anything
	ending bool
	before map[*func(context.Context)]bool
}

// How long what is done before the end of the process may take. An API server that has just
// begun may not know all kinds yet.
const beforeEndTimeout = 25 * time.Second

// A RestoreOption changes a RestoreDetector.
type RestoreOption func(*RestoreDetector)

// WithRestoreLogger sets the logger that is told of a restore, as an error. The default
// is none.
func WithRestoreLogger(l logging.Logger) RestoreOption {
	return func(d *RestoreDetector) { d.log = l }
}

// NewRestoreDetector returns a detector that has seen no version. The restores that all
// detectors of the process find are counted by moorage_apiserver_restores_total.
func NewRestoreDetector(o ...RestoreOption) *RestoreDetector {
	d := &RestoreDetector{log: logging.NewNopLogger(), counter: restores.Counter(), found: make(chan struct{}), ended: make(chan struct{}), before: map[*func(context.Context)]bool{}}
	for _, option := range o {
		option(d)
	}

	return d
}

// Seen reports the version that the API server answered for an object of a kind, or for a
// list of it, of which the version known was known when the request was sent. It returns
// what [WentBack] does. The first that went back is logged and counted, and ends the
// process if the detector was added to its manager; later ones are of the same restore.
func (d *RestoreDetector) Seen(of schema.GroupKind, known, answered string) (wentBack bool) {
	if !WentBack(known, answered) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return true
	}
	d.err = errors.Errorf("%w: %s had version %s and is answered with %s; start this process anew if nothing does, so that it lists everything again",
		ErrRestored, of, known, answered)
	d.counter.Inc()
	logging.Error(d.log, ErrRestored, "Caches hold what the API server has forgotten, everything has to be listed anew. "+
		"Look for external resources of objects that are not in the backup: nobody manages them",
		"kind", of.String(), "knownVersion", known, "answeredVersion", answered)
	close(d.found)

	return true
}

// Restored returns an error that is an ErrRestored, once a version went back.
func (d *RestoreDetector) Restored() error {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.err
}

// BeforeEnd has do called once a version went back, before [RestoreDetector.Start] returns:
// what this process knows and the API server has forgotten can be stored until then. All
// that were given are called at the same time. The context ends after 25 seconds, and do has to
// return then; it does not end when the manager is stopped. A process that has lost its
// [Lease] may end before. To forget is not to call it.
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

// Start waits until ctx ends, or a version goes back: then it has done what is to be done
// before the end, and returns an error, which ends the manager that it was added to.
func (d *RestoreDetector) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-d.found:
	}
	err := d.Restored()
	if err != nil {
		d.prepareEnd(context.WithoutCancel(ctx))
	}

	return err
}

// PrepareEnd does what is to be done before the end, or waits until that is done.
func (d *RestoreDetector) prepareEnd(ctx context.Context) {
	d.mu.Lock()
	begun, all := d.ending, slices.Collect(maps.Keys(d.before))
	d.ending = true
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

// NeedLeaderElection is false: who waits for its turn has caches, too.
func (d *RestoreDetector) NeedLeaderElection() bool { return false }

// Highest is the highest version that was answered for one object, or for the lists of
// one resource. The zero value with a detector has seen none.
type highest struct {
	detector *RestoreDetector
	of       schema.GroupKind

	mu      sync.Mutex
	version string
}

// Asks is called before a request is sent, and what it returns with the version in the
// answer.
func (h *highest) asks() (answered func(version string)) {
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
