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
	// patience is how long Watch waits for a stream without a leader.
	patience = 30 * time.Second
	// look is how often it looks for one, and lookTimeout how long one look takes.
	look        = 500 * time.Millisecond
	lookTimeout = 2 * time.Second
	// inactive is after which time the server removes the consumer of a client that
	// is gone.
	inactive = time.Minute
	// batch is how many messages are on their way at most.
	batch = 512
	// silence is how long a new consumer that has messages may send none, the first time,
	// and begins how often one is made before that is left to the heartbeats.
	silence = time.Second
	begins  = 3
)

// Watch tells what there is, and what changes. While the stream has no leader it
// waits for one, for half a minute. It may return store.ErrNotFound if the bucket
// is gone, and store.ErrWrongKind.
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
	// Listening begins before the consumer exists, or a break in between would be
	// overheard.
	w.status = s.bucket.js.Conn().StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if err := w.begin(ctx); err != nil {
		s.bucket.js.Conn().RemoveStatusListener(w.status)

		return nil, err
	}
	go w.run(ctx)

	return w, nil
}

// A watcher is one consumer, from its beginning to the first doubt.
type watcher[T store.Object] struct {
	*store.Ending

	bucket   bucket
	opts     Options
	inactive time.Duration
	sel      store.Selection

	start    store.State
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	first    jetstream.Msg // of them, if it was waited for
	status   chan nats.Status
	in       chan jetstream.Msg
	events   chan store.Event[T]

	// What run knows.
	delivered uint64 // the sequence of the consumer
	seen      uint64 // the sequence of the stream up to which everything was told
	pending   bool   // the consumer said that more is coming
	synced    bool
	idle      uint64 // what was seen when the stream was found to have more
}

// Events returns the channel of events.
func (w *watcher[T]) Events() <-chan store.Event[T] { return w.events }

// doubt ends the watch because it may have missed something.
func (w *watcher[T]) doubt(err error) {
	if !errors.Is(err, store.ErrWatchEnded) {
		err = errors.Errorf("%w: %w", store.ErrWatchEnded, err)
	}
	w.End(err)
}

// begin makes a consumer that speaks. What asks one for its messages is lost if it comes to
// a server that does not know of the consumer yet, and nobody says so: in a cluster that
// happens to new ones. As nothing was told yet, another one takes its place.
func (w *watcher[T]) begin(ctx context.Context) error {
	for n := range begins {
		for len(w.status) > 0 { // of what is over
			<-w.status
		}
		if err := w.consume(ctx); err != nil {
			return err
		}
		if n == begins-1 || w.speaks(ctx, silence<<n) {
			break
		}
		w.messages.Stop()
		w.removed(ctx) // or the server does it, after a while
	}

	return nil
}

// speaks tells whether the consumer sends one of the messages that there are or, where there
// are none, knows that it was asked for them. It also does when nobody waits any more: run
// cleans up then.
func (w *watcher[T]) speaks(ctx context.Context, within time.Duration) bool {
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := make(chan bool, 1)
	go func() {
		asked <- !w.more(waiting) && w.asked(waiting)
		cancel() // there is nothing to wait for, or no time
	}()
	msg, err := w.messages.Next(jetstream.NextContext(waiting)) // which asks for them
	cancel()
	w.first = msg

	return <-asked || err == nil || ctx.Err() != nil
}

// more tells whether there are messages, or waits until it is given up. That the consumer has
// none is not enough to say so: it may be at a replica that is behind.
func (w *watcher[T]) more(ctx context.Context) bool {
	there := w.pending
	if !there && w.start.Revision > 0 {
		behind, err := w.outstanding(ctx)
		there = behind && err == nil // what cannot be found out now is found out by complete
	}
	if there {
		<-ctx.Done()
	}

	return there
}

// asked tells whether the consumer has a request for messages: a moment after it was sent, or
// never.
func (w *watcher[T]) asked(ctx context.Context) bool {
	for {
		info, err := w.consumer.Info(ctx)
		if err == nil && info.NumWaiting > 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(look / 50):
		}
	}
}

// consume makes the consumer, once the stream has a leader.
func (w *watcher[T]) consume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// leader asks until somebody answers for the stream.
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
		case <-time.After(look):
		}
	}
}

func (w *watcher[T]) probe(ctx context.Context) (store.State, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()

	return w.bucket.info(ctx)
}

// run hands out events until the watch ends, and cleans up.
func (w *watcher[T]) run(ctx context.Context) {
	var reader sync.WaitGroup
	reader.Go(w.read)
	stop := context.AfterFunc(ctx, func() { w.End(ctx.Err()) })
	inner, cancel := context.WithCancel(ctx)
	go func() { // what is being asked of the server is given up when the watch ends
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

// read passes on what comes until there is nothing more to come.
func (w *watcher[T]) read() {
	for {
		msg, err := w.first, error(nil)
		if w.first = nil; msg == nil {
			msg, err = w.messages.Next()
		}
		if err != nil {
			w.doubt(err)

			return
		}
		select {
		case w.in <- msg:
		case <-w.Done():
			return
		}
	}
}

// remove takes the consumer away, when the server can be reached again. If that
// takes long, the server has done so itself.
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
		case <-time.After(look):
		}
	}
}

func (w *watcher[T]) removed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
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
			w.doubt(errors.Errorf("the connection is %s", status))
		case msg := <-w.in:
			w.take(ctx, msg)
		case <-ticker.C:
			w.check(ctx)
		}
	}
}

// send hands out an event, unless the watch has ended.
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

// take hands out a message. The sequence of the consumer tells if one is missing.
func (w *watcher[T]) take(ctx context.Context, msg jetstream.Msg) {
	m, err := msg.Metadata()
	if err != nil {
		w.doubt(err)

		return
	}
	if m.Sequence.Consumer != w.delivered+1 {
		w.doubt(errors.Errorf("message %d came after message %d", m.Sequence.Consumer, w.delivered))

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
