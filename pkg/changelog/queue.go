package changelog

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

const (
	defaultBuffer       = 1024
	defaultSendTimeout  = 10 * time.Second
	defaultDrainTimeout = 10 * time.Second

	// tellEvery is how often at most lost entries are told.
	tellEvery = time.Minute
)

// A Queue stands in front of a sink, so that whoever records something need not
// wait. It holds a number of entries in memory and hands them on one by one. An
// entry is lost, and counted, if there is no room for it, if the sink fails or
// panics, or if it was not handed on when the time to stop was over. None is
// sent twice.
//
// A Queue is a Sink and a Runnable of a manager. It may be used concurrently.
type Queue struct {
	sink         Sink
	log          logging.Logger
	clock        clock.PassiveClock
	sendTimeout  time.Duration
	drainTimeout time.Duration

	entries chan Entry
	dropped atomic.Uint64

	// Recording holds it to read: nothing comes in once stopped is set.
	gate    sync.RWMutex
	started bool
	stopped bool

	told     sync.Mutex
	toldAt   time.Time
	toldLost uint64
}

// A QueueOption changes a queue that is being made.
type QueueOption func(*Queue)

// WithBuffer sets how many entries wait at most, at least one. The default is
// 1024.
func WithBuffer(n int) QueueOption {
	return func(q *Queue) { q.entries = make(chan Entry, max(n, 1)) }
}

// WithSendTimeout sets how long the sink has for one entry. The default is ten
// seconds. A sink that does not heed its context is waited for all the same, and
// what does not fit into the buffer meanwhile is lost.
func WithSendTimeout(d time.Duration) QueueOption {
	return func(q *Queue) { q.sendTimeout = d }
}

// WithDrainTimeout sets how long entries are still handed on when the queue is to
// stop. The default is ten seconds, which is within the thirty of a manager.
func WithDrainTimeout(d time.Duration) QueueOption {
	return func(q *Queue) { q.drainTimeout = d }
}

// WithLogger sets the logger that is told, at most once a minute, how many
// entries were lost. The default tells nobody.
func WithLogger(l logging.Logger) QueueOption {
	return func(q *Queue) { q.log = l }
}

// WithClock sets the clock by which a minute is measured. The default is the real
// one.
func WithClock(c clock.PassiveClock) QueueOption {
	return func(q *Queue) { q.clock = c }
}

// NewQueue returns a queue in front of the sink. Add it to a manager, or call
// Start: until then it only collects.
func NewQueue(s Sink, opts ...QueueOption) *Queue {
	q := &Queue{
		sink:         s,
		log:          logging.NewNopLogger(),
		clock:        clock.RealClock{},
		sendTimeout:  defaultSendTimeout,
		drainTimeout: defaultDrainTimeout,
		entries:      make(chan Entry, defaultBuffer),
	}
	for _, opt := range opts {
		opt(q)
	}

	return q
}

// Record takes the entry, to be handed on later. It neither waits nor fails: its
// error is always nil. The entry's images must not be changed afterwards.
func (q *Queue) Record(_ context.Context, e Entry) error {
	e.Details = maps.Clone(e.Details)

	if !q.taken(e) {
		q.lose(1, nil)
	}

	return nil
}

func (q *Queue) taken(e Entry) bool {
	q.gate.RLock()
	defer q.gate.RUnlock()

	if q.stopped {
		return false
	}

	select {
	case q.entries <- e:
		return true
	default:
		return false
	}
}

// Start hands on entries until ctx ends, and those that were taken by then until
// the time to stop is over. A queue starts once; a second time is an error.
//
// If the sink does not return when its context ends, Start does so nevertheless,
// and leaves the goroutine that called it behind.
func (q *Queue) Start(ctx context.Context) error {
	if err := q.start(); err != nil {
		return err
	}

	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	done := make(chan struct{})

	go func() {
		defer close(done)

		for e := range q.entries {
			q.send(sending, e)
		}
	}()

	<-ctx.Done()
	q.stop()

	timer := time.NewTimer(q.drainTimeout)
	defer timer.Stop()

	select {
	case <-done:
	case <-timer.C:
		stop()
		q.lose(q.discarded(), errors.New("they were not handed on before the end"))
	}

	q.tell(nil, true)

	return nil
}

// NeedLeaderElection tells a manager that the queue runs in every process. It
// therefore also stops after the controllers that record in it.
func (q *Queue) NeedLeaderElection() bool { return false }

// Dropped returns how many entries were lost so far.
func (q *Queue) Dropped() uint64 { return q.dropped.Load() }

// Collector returns the metric moorage_changelog_dropped_total, for whoever
// registers it.
func (q *Queue) Collector() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "moorage_changelog_dropped_total",
		Help: "Entries of the change log that were lost.",
	}, func() float64 { return float64(q.Dropped()) })
}

func (q *Queue) start() error {
	q.gate.Lock()
	defer q.gate.Unlock()

	if q.started {
		return errors.New("cannot start queue of change log entries: it was started before")
	}

	q.started = true

	return nil
}

func (q *Queue) stop() {
	q.gate.Lock()
	defer q.gate.Unlock()

	q.stopped = true
	close(q.entries)
}

// discarded empties the queue and returns how many entries were in it.
func (q *Queue) discarded() (n uint64) {
	for range q.entries {
		n++
	}

	return n
}

func (q *Queue) send(ctx context.Context, e Entry) {
	if ctx.Err() != nil {
		q.lose(1, ctx.Err())

		return
	}

	ctx, cancel := context.WithTimeout(ctx, q.sendTimeout)
	defer cancel()

	clean := SinkFunc(func(ctx context.Context, e Entry) error { return q.sink.Record(ctx, e.redacted()) })
	if err := record(ctx, clean, e); err != nil {
		q.lose(1, err)
	}
}

// lose counts lost entries.
func (q *Queue) lose(n uint64, err error) {
	if n == 0 {
		return
	}

	q.dropped.Add(n)
	q.tell(err, false)
}

// tell logs how many entries were lost since it did so last, unless that was less
// than a minute ago. The last time it does not wait.
func (q *Queue) tell(err error, last bool) {
	q.told.Lock()
	defer q.told.Unlock()

	total, now := q.Dropped(), q.clock.Now()
	if total == q.toldLost || !last && !q.toldAt.IsZero() && now.Sub(q.toldAt) < tellEvery {
		return
	}

	kv := []any{"lost", total - q.toldLost, "lostInTotal", total}
	if err != nil {
		kv = append(kv, "error", redact.Error(err).Error())
	}

	q.toldAt, q.toldLost = now, total
	q.log.Info("Entries of the change log were lost", kv...)
}
