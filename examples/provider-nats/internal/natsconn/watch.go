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

	// advisories are the subjects of the advisories of JetStream about streams: that one was created, changed
	// or deleted, or has another leader. The last token is the name of the stream.
	advisories = "$JS.EVENT.ADVISORY.STREAM."

	// expectation is how long the advisory of a change may take.
	expectation = 5 * time.Second
)

// Events of streams.
const (
	created = "CREATED"
	updated = "UPDATED"
	deleted = "DELETED"
)

// List returns the streams from offset on, as many as NATS puts on a page, in the order of their names, and
// their total number. With a subject, these are only the streams that store a part of it.
func (c *Conn) List(
	ctx context.Context, subject string, offset int,
) (page []*jetstream.StreamInfo, total int, err error) {
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

// A Watcher is notified of changes of streams. Its methods are called one at a time, from a goroutine of
// the connection.
type Watcher interface {
	// Changed notifies that another client has created, changed or deleted the stream, or that it has another
	// leader.
	Changed(stream string)

	// Interrupted notifies that changes may be missed from now on, Resumed that they are not any more.
	Interrupted()
	Resumed()
}

// A watcher is a Watcher with its subscription.
type watcher struct {
	to  Watcher
	sub *nats.Subscription

	mu       sync.Mutex
	expected map[string][]time.Time
}

// Watch passes on changes of streams to the Watcher, until stop is called. It is an error if NATS cannot
// notify: the advisories of another domain, or behind a prefix, stay there.
func (c *Conn) Watch(ctx context.Context, to Watcher) (stop func(), err error) {
	if c.address.Domain != "" || c.address.Prefix != "" {
		return nil, errors.New("JetStream does not notify of changes in another domain, or behind a prefix")
	}

	w := &watcher{to: to, expected: map[string][]time.Time{}}

	c.mu.Lock()
	w.sub, err = c.nc.Subscribe(advisories+"*.*", func(msg *nats.Msg) {
		event := strings.TrimPrefix(msg.Subject, advisories)
		if !w.matches(event, time.Now()) {
			to.Changed(event[strings.LastIndexByte(event, '.')+1:])
		}
	})
	c.watchers[w] = struct{}{}
	c.mu.Unlock()

	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()

		err = c.nc.FlushWithContext(ctx) // later changes are notified, or forbidden
	}

	stop = func() {
		c.mu.Lock()
		delete(c.watchers, w)
		c.mu.Unlock()

		if w.sub != nil {
			_ = w.sub.Unsubscribe() // a closed connection has no subscription
		}
	}

	if err != nil {
		stop()

		return nil, errors.Wrap(err, "cannot subscribe to changes of streams")
	}

	return stop, nil
}

// expect makes watchers ignore, once, a change by this connection: its caller observes the result itself.
// An advisory does not name the client. The result is called with the error of the change; a change that
// was not made is not expected any more, one that may have been made is expected for a while.
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
			w.matches(event, now)
		}
	}
}

func (w *watcher) expect(event string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()

	maps.DeleteFunc(w.expected, func(_ string, times []time.Time) bool {
		return now.Sub(times[len(times)-1]) > expectation
	})
	w.expected[event] = append(w.expected[event], now)
}

// matches reports whether an event was expected, and removes the expectation.
func (w *watcher) matches(event string, now time.Time) bool {
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

// notify notifies all watchers that the connection is lost, or established again.
func (c *Conn) notify(connected bool) {
	for _, w := range c.watching(nil) {
		if connected {
			w.to.Resumed()
		} else {
			w.to.Interrupted()
		}
	}
}

// reportLoss notifies watchers of the changes they miss because of err, of one subscription if it is known:
// all, if the subscription is not permitted, or those that exceeded the buffer.
func (c *Conn) reportLoss(sub *nats.Subscription, err error) {
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

// watching returns the watchers, or the one of a subscription.
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
