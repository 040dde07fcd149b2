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

	// logInterval is the least time between two logs of dropped entries.
	logInterval = time.Minute
)

// A Queue is a buffer in front of a sink, so that Record does not block. It sends the buffered entries one by one,
// and no entry twice. It drops an entry if the buffer is full, if the sink fails or panics, or if the entry was not
// sent before the drain timeout. It counts the dropped entries.
//
// A Queue is a Sink and a Runnable of a manager. It is safe for concurrent use.
type Queue struct {
	sink         Sink
	log          logging.Logger
	clock        clock.PassiveClock
	sendTimeout  time.Duration
	drainTimeout time.Duration

	entries chan Entry
	dropped atomic.Uint64

	// Record holds the read lock: no entry is added once stopped is set.
	lifecycle sync.RWMutex
	started   bool
	stopped   bool

	logMu         sync.Mutex
	loggedAt      time.Time
	loggedDropped uint64
}

// A QueueOption configures a Queue.
type QueueOption func(*Queue)

// WithBuffer sets the number of entries that the queue holds. The default is 1024, and the minimum is one.
func WithBuffer(n int) QueueOption {
	return func(q *Queue) { q.entries = make(chan Entry, max(n, 1)) }
}

// WithSendTimeout sets the timeout of the sink for one entry. The default is ten seconds. If the sink ignores its
// context, the queue waits for the sink, and meanwhile drops entries that do not fit into the buffer.
func WithSendTimeout(d time.Duration) QueueOption {
	return func(q *Queue) { q.sendTimeout = d }
}

// WithDrainTimeout sets how long the queue sends entries after it was stopped. The default is ten seconds. It should
// be less than the graceful shutdown timeout of the manager, by default thirty seconds.
func WithDrainTimeout(d time.Duration) QueueOption {
	return func(q *Queue) { q.drainTimeout = d }
}

// WithLogger sets the logger for the number of dropped entries, which is logged at most once a minute. By default the
// number is not logged.
func WithLogger(l logging.Logger) QueueOption {
	return func(q *Queue) { q.log = l }
}

// WithClock sets the clock for the interval between logs. The default is the system
// clock.
func WithClock(c clock.PassiveClock) QueueOption {
	return func(q *Queue) { q.clock = c }
}

// NewQueue returns a queue in front of the sink. Add the queue to a manager, or call Start. Before that the queue
// only buffers entries.
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

// Record buffers the entry. It does not block, and its error is always nil. The caller must not change the JSON of
// the entry afterwards.
func (q *Queue) Record(_ context.Context, e Entry) error {
	e.Details = maps.Clone(e.Details)

	if !q.enqueue(e) {
		q.countDropped(1, nil)
	}

	return nil
}

// enqueue buffers the entry, and reports whether there was room for it.
func (q *Queue) enqueue(e Entry) bool {
	q.lifecycle.RLock()
	defer q.lifecycle.RUnlock()

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

// Start sends entries until ctx ends. Then it sends the buffered entries until the drain timeout. A second call
// returns an error.
//
// If the sink does not return when its context ends, Start returns without waiting for the sink. The goroutine that
// calls the sink keeps running.
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
		q.countDropped(q.discard(), errors.New("they were not sent before the drain timeout"))
	}

	q.logDropped(nil, true)

	return nil
}

// NeedLeaderElection returns false: the queue runs in every replica, and stops after the
// controllers that record entries.
func (q *Queue) NeedLeaderElection() bool { return false }

// Dropped returns the number of dropped entries.
func (q *Queue) Dropped() uint64 { return q.dropped.Load() }

// Collector returns the metric moorage_changelog_dropped_total. Register it with the
// registry of the manager.
func (q *Queue) Collector() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "moorage_changelog_dropped_total",
		Help: "Entries of the change log that were lost.",
	}, func() float64 { return float64(q.Dropped()) })
}

// start marks the queue as started.
func (q *Queue) start() error {
	q.lifecycle.Lock()
	defer q.lifecycle.Unlock()

	if q.started {
		return errors.New("cannot start queue of change log entries: it was started before")
	}

	q.started = true

	return nil
}

// stop closes the queue for new entries.
func (q *Queue) stop() {
	q.lifecycle.Lock()
	defer q.lifecycle.Unlock()

	q.stopped = true
	close(q.entries)
}

// discard empties the queue and returns the number of entries that were in it.
func (q *Queue) discard() (n uint64) {
	for range q.entries {
		n++
	}

	return n
}

// send records one entry in the sink.
func (q *Queue) send(ctx context.Context, e Entry) {
	if ctx.Err() != nil {
		q.countDropped(1, ctx.Err())

		return
	}

	ctx, cancel := context.WithTimeout(ctx, q.sendTimeout)
	defer cancel()

	clean := SinkFunc(func(ctx context.Context, e Entry) error { return q.sink.Record(ctx, e.redacted()) })
	if err := recordSafely(ctx, clean, e); err != nil {
		q.countDropped(1, err)
	}
}

// countDropped counts dropped entries.
func (q *Queue) countDropped(n uint64, err error) {
	if n == 0 {
		return
	}

	q.dropped.Add(n)
	q.logDropped(err, false)
}

// logDropped logs the number of entries that were dropped since the last log, unless that
// was less than a minute ago and this is not the last time.
func (q *Queue) logDropped(err error, last bool) {
	q.logMu.Lock()
	defer q.logMu.Unlock()

	total, now := q.Dropped(), q.clock.Now()
	if total == q.loggedDropped || !last && !q.loggedAt.IsZero() && now.Sub(q.loggedAt) < logInterval {
		return
	}

	kv := []any{"lost", total - q.loggedDropped, "lostInTotal", total}
	if err != nil {
		kv = append(kv, "error", redact.Error(err).Error())
	}

	q.loggedAt, q.loggedDropped = now, total
	q.log.Info("Entries of the change log were lost", kv...)
}
