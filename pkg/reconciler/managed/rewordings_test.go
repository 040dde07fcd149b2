package managed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAFailureWhoseTextChanges verifies that a failure with a new id in each message is reported a few times an
// hour, and another stage, reason, generation or request at once.
func TestAFailureWhoseTextChanges(t *testing.T) {
	w := newWorld(t)
	n, at, what := 0, "Observe", "operation op-%s failed"
	as := func(err error) error { return err }
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if n++; call == at {
			return as(errors.Errorf(what, strings.Repeat(string(rune('a'+n%26)), 3)+
				strings.Repeat(string(rune('a'+n/26%26)), 2)))
		}

		return nil
	}
	w.create(nil)
	passes := func() (writes, events int) {
		for range 1000 {
			if _, err := w.try(); err == nil {
				t.Fatal("the pass ended well")
			}
			w.clock.SetTime(w.clock.Now().Add(3 * time.Second))
		}
		requests, _, emitted := w.taken()

		return strings.Count(requests, "patch status"), strings.Count(emitted, "Warning/")
	}
	if writes, events := passes(); writes > 7 || events > 7 || writes < 2 {
		t.Errorf("%d writes and %d events in fifty minutes, want a few", writes, events)
	}
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
	what = "quota %s of this generation"
	_, _ = w.try()
	if c := w.condition(commonv1.TypeSynced, "False/ReconcileError"); !strings.Contains(c.Message, "quota") {
		t.Errorf("after the user's change the condition says %q", c.Message)
	}
	passes()
	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconcileRequestedAt: fmt.Sprint(n)})
	})
	what = "the answer to the request, %s"
	_, _ = w.try()
	if c := w.get().GetCondition(commonv1.TypeSynced); !strings.Contains(c.Message, "the answer") {
		t.Errorf("after the user's request the condition says %q", c.Message)
	}
	passes()
	at, what = "Connect", "another stage, %s"
	_, _ = w.try()
	if c := w.get().GetCondition(commonv1.TypeSynced); !strings.Contains(c.Message, "another stage") {
		t.Errorf("after another stage failed the condition says %q", c.Message)
	}
	passes()
	what, as = "another reason, %s", func(err error) error { return external.Terminal("Forbidden", err) }
	_, _ = w.try()
	if c := w.condition(commonv1.TypeSynced, "False/Forbidden"); !strings.Contains(c.Message, "another reason") {
		t.Errorf("after it failed for another reason the condition says %q", c.Message)
	}
}

// brokenNetwork returns the errors of a network that breaks in another way each time.
func brokenNetwork() func() error {
	n := 0

	return func() error {
		n++

		return external.Unavailable(errors.New([]string{
			"unexpected EOF", "read: connection reset by peer", "connect: connection refused",
		}[n%3]))
	}
}

// TestAnOutageIsOneFact verifies that an object has one event about an outage of the external system, whichever call
// fails and whatever the text of the error is, also after a restart. If the revision of the connection is known, the
// message is refreshed once an hour, and otherwise a few times. A change of the user is reported at once.
func TestAnOutageIsOneFact(t *testing.T) {
	for revision, most := range map[string]int{"": 6, "1": 1} {
		t.Run("revision "+revision, func(t *testing.T) {
			w := newWorld(t)
			c := &connected{connection: managed.Connection{Name: "a", Revision: revision}}
			w.wrap(c.wrap)
			w.create(nil)
			w.pass()
			w.taken()
			w.alternate(revision == "")
			passes := func(what string, most int, events string) {
				t.Helper()
				requests, emitted := w.twentyMinutes(t)
				writes := strings.Count(requests, "patch status")
				if emitted != events || writes > most || writes != strings.Count(requests, ",")+min(writes, 1) {
					t.Errorf("%s: requests %q and events %q, want %d writes and %q", what, requests, emitted, most, events)
				}
				w.condition(commonv1.TypeSynced, "False/ExternalSystemUnavailable")
			}
			const warning = "Warning/CannotObserveExternalResource"
			passes("a broken network", most, warning)
			passes("the same outage", most-1, "")
			w.restart()
			passes("after a restart", most, "")
			passes("within an hour", most-1, "")
			passes("within an hour", most-1, "")
			passes("after an hour", most, "")

			w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
			passes("after a change of the user", most, warning)
			w.change(func(v *volume.Volume) {
				meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "now"})
			})
			passes("after a request of the user", most, warning)

			w.cloud.Before = nil
			w.pass()
			w.taken()
			w.clock.SetTime(w.clock.Now().Add(2 * time.Hour))
			w.alternate(revision == "")
			passes("another outage", most, warning)
		})
	}
}

// alternate makes calls fail as on a broken network, each in another way: Observe, or Connect as well.
func (w *world) alternate(connect bool) {
	broken, n, at := brokenNetwork(), 0, []string{"Observe", "Observe"}
	if connect {
		at[0] = "Connect"
	}
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Connect" {
			n++
		}
		if call == at[n%2] {
			return broken()
		}

		return nil
	}
}

// twentyMinutes makes twenty passes, each of which has to fail, and returns the requests and events.
func (w *world) twentyMinutes(t *testing.T) (requests, events string) {
	t.Helper()
	for range 20 {
		if _, err := w.try(); err == nil {
			t.Fatal("the pass ended well")
		}
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	requests, _, events = w.taken()

	return requests, events
}

// TestAnotherRevisionIsAnotherFailure verifies that an object reports at once what fails after its user has changed the
// configuration of the connection, although the reason is the same.
func TestAnotherRevisionIsAnotherFailure(t *testing.T) {
	w := newWorld(t)
	c := &connected{connection: managed.Connection{Name: "a", Revision: "1"}}
	w.wrap(c.wrap)
	w.create(nil)
	text := "no such host"
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" {
			return external.Unavailable(errors.New(text))
		}

		return nil
	}
	for _, step := range []struct{ revision, text, want string }{
		{"1", "no such host", "no such host"},
		{"1", "unexpected EOF", "no such host"},
		{"2", "the port is closed", "the port is closed"},
		{"2", "unexpected EOF", "the port is closed"},
	} {
		c.connection.Revision, text = step.revision, step.text
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		got := w.condition(commonv1.TypeSynced, "False/ExternalSystemUnavailable").Message
		if !strings.Contains(got, step.want) {
			t.Errorf("revision %s, %s: the condition says %q", step.revision, step.text, got)
		}
	}
}

// TestAnOutageOfALimitedConnectionIsOneFact verifies the same for an object that is created during an outage, while the
// gate of the connection makes single calls.
func TestAnOutageOfALimitedConnectionIsOneFact(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithLimits(limit.NewSet(limit.WithClock(w.clock))))
	w.restart()
	w.wrap((&connected{connection: managed.Connection{Name: "a", Revision: "1"}}).wrap)
	w.alternate(false)
	w.create(nil)
	for range 20 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	if requests, calls, _ := w.taken(); requests != "patch status" || strings.Count(calls, "Observe") < 3 {
		t.Errorf("requests %q, want one status; calls %q", requests, calls)
	}
	w.condition(commonv1.TypeSynced, "False/ExternalSystemUnavailable")
}
