package natsconn

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	// listOperation asks for a page of streams.
	listOperation = "STREAM.LIST"

	// advisories are what JetStream says of streams: that one was created, changed
	// or deleted, and whom its servers follow. The last part is the stream's name.
	advisories = "$JS.EVENT.ADVISORY.STREAM."

	// expectation is how long it may take until what was done is told.
	expectation = 5 * time.Second
)

// What happens to streams.
const (
	created = "CREATED"
	updated = "UPDATED"
	deleted = "DELETED"
)

// List returns the streams from offset on, as many as NATS puts on a page, in the
// order of their names, and how many there are. With a subject, these are only those
// that store some of it.
func (c *Conn) List(ctx context.Context, subject string, offset int) (page []*jetstream.StreamInfo, total int, err error) {
	request := struct {
		Offset  int    `json:"offset"`
		Subject string `json:"subject,omitempty"`
	}{offset, subject}

	var answer struct {
		Total   int                     `json:"total"`
		Streams []*jetstream.StreamInfo `json:"streams"`
	}

	err = c.call(ctx, listOperation, request, &answer)

	return answer.Streams, answer.Total, err
}

// A Watcher is told what happens to streams. Its methods are called one at a time,
// from a goroutine of the connection.
type Watcher interface {
	// Changed tells the name of a stream that somebody else has created, changed or
	// deleted, or that has another leader.
	Changed(stream string)

	// Interrupted tells that something may be missed from now on, Resumed that
	// nothing is any more.
	Interrupted()
	Resumed()
}

// A watcher is told by a subscription.
type watcher struct {
	to  Watcher
	sub *nats.Subscription

	mu       sync.Mutex
	expected map[string][]time.Time
}

// Watch tells w what happens to streams, until stop is called. It is an error if NATS
// cannot tell: what happens behind a domain or a prefix is told there.
func (c *Conn) Watch(ctx context.Context, to Watcher) (stop func(), err error) {
	if c.address.Domain != "" || c.address.Prefix != "" {
		return nil, errors.New("JetStream does not tell what happens in another domain, or behind a prefix")
	}

	w := &watcher{to: to, expected: map[string][]time.Time{}}

	c.mu.Lock()
	w.sub, err = c.nc.Subscribe(advisories+"*.*", func(msg *nats.Msg) {
		event := strings.TrimPrefix(msg.Subject, advisories)
		if !w.comes(event, time.Now()) {
			to.Changed(event[strings.LastIndexByte(event, '.')+1:])
		}
	})
	c.watchers[w] = struct{}{}
	c.mu.Unlock()

	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()

		err = c.nc.FlushWithContext(ctx) // what happens after this is told, or forbidden
	}

	stop = func() {
		c.mu.Lock()
		delete(c.watchers, w)
		c.mu.Unlock()

		if w.sub != nil {
			_ = w.sub.Unsubscribe() // a connection that is closed has ended it
		}
	}

	if err != nil {
		stop()

		return nil, errors.Wrap(err, "cannot ask NATS to tell what happens to streams")
	}

	return stop, nil
}

// expect makes watchers ignore, once, that this connection does something: whoever
// does looks himself. JetStream does not say who did. What did not happen is taken
// back by calling the result with its error; what may have happened is expected for a while.
func (c *Conn) expect(action, stream string) (done func(error)) {
	event, now := action+"."+stream, time.Now()
	watchers := c.watching(nil)

	for _, w := range watchers {
		w.expect(event, now)
	}

	return func(err error) {
		var refusal jetstream.JetStreamError
		if !errors.As(err, &refusal) {
			return
		}

		for _, w := range watchers {
			w.comes(event, now)
		}
	}
}

func (w *watcher) expect(event string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()

	maps.DeleteFunc(w.expected, func(_ string, times []time.Time) bool { return now.Sub(times[len(times)-1]) > expectation })
	w.expected[event] = append(w.expected[event], now)
}

// comes tells whether an event is one that was expected, which it is no longer.
func (w *watcher) comes(event string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	times := slices.DeleteFunc(w.expected[event], func(t time.Time) bool { return now.Sub(t) > expectation })

	expected := len(times) > 0
	if expected {
		times = times[1:]
	}

	if w.expected[event] = times; len(times) == 0 {
		delete(w.expected, event)
	}

	return expected
}

// tell tells all watchers that the connection is lost, or there again.
func (c *Conn) tell(connected bool) {
	for _, w := range c.watching(nil) {
		if connected {
			w.to.Resumed()
		} else {
			w.to.Interrupted()
		}
	}
}

// lose tells watchers what err, of a subscription if it is known, keeps from them:
// all, if they may not be told, or what there was no room for.
func (c *Conn) lose(sub *nats.Subscription, err error) {
	switch {
	case errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), advisories):
		for _, w := range c.watching(nil) {
			w.to.Interrupted()
		}
	case errors.Is(err, nats.ErrSlowConsumer):
		for _, w := range c.watching(sub) {
			w.to.Interrupted()
			w.to.Resumed()
		}
	}
}

// watching returns the watchers, or that of a subscription.
func (c *Conn) watching(sub *nats.Subscription) []*watcher {
	c.mu.Lock()
	defer c.mu.Unlock()

	var out []*watcher

	for w := range c.watchers {
		if sub == nil || w.sub == sub {
			out = append(out, w)
		}
	}

	return out
}
