package natskv

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

const (
	// leaderTimeout is how long Watch waits for a leader of the stream.
	leaderTimeout = 30 * time.Second
	// pollInterval is the interval at which Watch checks for a leader. probeTimeout is the timeout of one check.
	pollInterval = 500 * time.Millisecond
	probeTimeout = 2 * time.Second
	// inactive is the time after which the server deletes the consumer of a client that
	// has disconnected.
	inactive = time.Minute
	// batch is the maximum number of messages in flight.
	batch = 512
	// firstMessageTimeout is how long the first consumer may take to send an existing message. Each further consumer may
	// take twice as long as the one before. consumerAttempts is the maximum number of consumers. For the last one, only
	// missing heartbeats end the watch.
	firstMessageTimeout = time.Second
	consumerAttempts    = 3
)

// Watch sends the existing objects, and then the changes. While the stream has no leader it waits, for at most half a
// minute. It may return store.ErrNotFound if there is no bucket, and store.ErrWrongKind.
func (s *Store[T]) Watch(ctx context.Context, o ...store.WatchOption) (store.Watcher[T], error) {
	w, err := s.watch(ctx, store.WatchSelection(o...))
	if err != nil {
		return nil, err
	}

	return w, nil
}

func (s *Store[T]) watch(ctx context.Context, sel store.Selection) (*watcher[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &watcher[T]{
		bucket: s.bucket, opts: s.opts, inactive: s.inactive, sel: sel,
		Ending: store.NewEnding(), events: make(chan store.Event[T]), in: make(chan jetstream.Msg),
	}
	// Register the listener before the consumer exists, so that no disconnect in between is missed.
	w.status = s.bucket.js.Conn().StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if err := w.begin(ctx); err != nil {
		s.bucket.js.Conn().RemoveStatusListener(w.status)

		return nil, err
	}
	go w.run(ctx)

	return w, nil
}

// A watcher reads the messages of one consumer until it may have missed one.
type watcher[T store.Object] struct {
	*store.Ending

	bucket   bucket
	opts     Options
	inactive time.Duration
	sel      store.Selection

	start    store.State
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	first    jetstream.Msg // the first of them, if begin received it
	status   chan nats.Status
	in       chan jetstream.Msg
	events   chan store.Event[T]

	// Only the goroutine of run uses these fields.
	delivered uint64 // the sequence of the consumer
	seen      uint64 // the sequence of the stream up to which everything was sent
	pending   bool   // the consumer has announced further messages
	synced    bool
	idle      uint64 // 1 + seen when the stream was found to have more
}

// Events returns the channel of events.
func (w *watcher[T]) Events() <-chan store.Event[T] { return w.events }

// fail ends the watch because it may have missed an event.
func (w *watcher[T]) fail(err error) {
	if !errors.Is(err, store.ErrWatchEnded) {
		err = errors.Errorf("%w: %w", store.ErrWatchEnded, err)
	}
	w.End(err)
}

// begin creates a consumer that responds to requests for messages. A new consumer of a cluster may lose such a request
// without an error: the request may reach a server that does not have the consumer yet. No event was sent then, so
// begin replaces the consumer with another one.
func (w *watcher[T]) begin(ctx context.Context) error {
	for n := range consumerAttempts {
		for len(w.status) > 0 { // events of earlier disconnects
			<-w.status
		}
		if err := w.consume(ctx); err != nil {
			return err
		}
		if n == consumerAttempts-1 || w.answers(ctx, firstMessageTimeout<<n) {
			break
		}
		w.messages.Stop()
		w.removed(ctx) // if that fails, the server does it when it is inactive
	}

	return nil
}

// answers returns whether the consumer sends one of the existing messages. If there are none, it returns whether the
// consumer has received the request for messages. It returns true if the context has ended, because run then cleans up.
func (w *watcher[T]) answers(ctx context.Context, within time.Duration) bool {
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := make(chan bool, 1)
	go func() {
		asked <- !w.more(waiting) && w.asked(waiting)
		cancel() // there is no message to wait for, or no time left
	}()
	msg, err := w.messages.Next(jetstream.NextContext(waiting)) // requests them
	cancel()
	w.first = msg

	return <-asked || err == nil || ctx.Err() != nil
}

// more returns false if there are no messages. Otherwise it waits until the context ends, and returns true. It also
// asks the leader, because the replica of a consumer without messages may be stale.
func (w *watcher[T]) more(ctx context.Context) bool {
	there := w.pending
	if !there && w.start.Revision > 0 {
		behind, err := w.outstanding(ctx)
		there = behind && err == nil // after an error, complete checks again
	}
	if there {
		<-ctx.Done()
	}

	return there
}

// asked returns whether the consumer has received the request for messages. It receives the request soon or never.
func (w *watcher[T]) asked(ctx context.Context) bool {
	for {
		info, err := w.consumer.Info(ctx)
		if err == nil && info.NumWaiting > 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pollInterval / 50):
		}
	}
}

// consume waits for a leader of the stream and creates the consumer.
func (w *watcher[T]) consume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()

	info, err := w.leader(ctx)
	if err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, w.opts.Timeout)
	defer cancel()
	w.consumer, err = w.bucket.js.CreateConsumer(ctx, w.bucket.stream(), jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		FilterSubject:     w.bucket.subject(">"),
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: w.inactive,
	})
	if err != nil {
		return errors.Wrapf(err, "cannot watch bucket %s", w.bucket.name)
	}
	w.start, w.pending = info, w.consumer.CachedInfo().NumPending > 0
	w.messages, err = w.consumer.Messages(
		jetstream.PullMaxMessages(batch), jetstream.PullExpiry(30*time.Second),
		jetstream.PullHeartbeat(w.opts.Heartbeat),
		jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		w.remove()

		return errors.Wrapf(err, "cannot watch bucket %s", w.bucket.name)
	}

	return nil
}

// leader waits until the stream has a leader.
func (w *watcher[T]) leader(ctx context.Context) (store.State, error) {
	for {
		info, err := w.probe(ctx)
		if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrWrongKind) ||
			w.bucket.js.Conn().IsClosed() {
			return info, err
		}
		select {
		case <-ctx.Done():
			return info, err
		case <-time.After(pollInterval):
		}
	}
}

func (w *watcher[T]) probe(ctx context.Context) (store.State, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()

	return w.bucket.info(ctx)
}

// run sends events until the watch ends, and cleans up.
func (w *watcher[T]) run(ctx context.Context) {
	var reader sync.WaitGroup
	reader.Go(w.read)
	stop := context.AfterFunc(ctx, func() { w.End(ctx.Err()) })
	inner, cancel := context.WithCancel(ctx)
	go func() { // requests to the server are cancelled when the watch ends
		<-w.Done()
		cancel()
	}()

	w.loop(inner)

	stop()
	w.End(nil)
	close(w.events)
	w.messages.Stop()
	reader.Wait()
	w.bucket.js.Conn().RemoveStatusListener(w.status)
	w.remove()
}

// read passes messages to run until there are no more.
func (w *watcher[T]) read() {
	for {
		msg, err := w.first, error(nil)
		if w.first = nil; msg == nil {
			msg, err = w.messages.Next()
		}
		if err != nil {
			w.fail(err)

			return
		}
		select {
		case w.in <- msg:
		case <-w.Done():
			return
		}
	}
}

// remove deletes the consumer as soon as the server can be reached. After the inactivity threshold the server has
// deleted the consumer itself.
func (w *watcher[T]) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), w.inactive)
	defer cancel()

	for conn := w.bucket.js.Conn(); !conn.IsClosed(); {
		if conn.IsConnected() && w.removed(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollInterval):
		}
	}
}

func (w *watcher[T]) removed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()

	err := w.bucket.js.DeleteConsumer(ctx, w.bucket.stream(), w.consumer.CachedInfo().Name)

	return err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}

func (w *watcher[T]) loop(ctx context.Context) {
	ticker := time.NewTicker(w.opts.Probe)
	defer ticker.Stop()
	w.complete(ctx)
	for {
		select {
		case <-w.Done():
			return
		case status := <-w.status:
			w.fail(errors.Errorf("the connection is %s", status))
		case msg := <-w.in:
			w.take(ctx, msg)
		case <-ticker.C:
			w.check(ctx)
		}
	}
}

// send sends an event, unless the watch has ended.
func (w *watcher[T]) send(e store.Event[T]) {
	select {
	case <-w.Done():
		return
	default:
	}
	select {
	case <-w.Done():
	case w.events <- e:
	}
}

// take sends the event of a message. A gap in the sequences of the consumer means that a message is missing.
func (w *watcher[T]) take(ctx context.Context, msg jetstream.Msg) {
	m, err := msg.Metadata()
	if err != nil {
		w.fail(err)

		return
	}
	if m.Sequence.Consumer != w.delivered+1 {
		w.fail(errors.Errorf("message %d came after message %d", m.Sequence.Consumer, w.delivered))

		return
	}
	w.delivered = m.Sequence.Consumer
	e := store.Event[T]{
		Op: operation(msg.Headers()), Key: msg.Subject()[len(w.bucket.subject("")):],
		Revision: m.Sequence.Stream,
	}
	if e.Op == store.Put {
		e.Object, e.Err = store.Decode[T](e.Key, e.Revision, msg.Data())
	}
	if w.sel.Has(e.Key) {
		w.send(e)
	}
	w.seen, w.pending = m.Sequence.Stream, m.NumPending > 0
	w.complete(ctx)
}
