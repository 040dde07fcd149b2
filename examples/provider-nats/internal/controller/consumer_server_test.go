package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestPause sets, changes and removes a pause in the spec.
func TestPause(t *testing.T) {
	w, mg := newWorld(t), consumer()
	c := w.client(controller.ConsumerKind(), mg)
	must(t, c.Create(t.Context(), mg))

	for _, until := range []time.Time{
		time.Now().Add(time.Hour), time.Now().Add(2 * time.Hour), time.Now().Add(-time.Hour),
	} {
		mg.Spec.ForProvider.PauseUntil = &v1alpha1.Time{Time: metav1.NewTime(until.Truncate(time.Second))}

		if got := w.observe(c, mg); got.ResourceUpToDate {
			t.Errorf("until %s: %+v, want it not up to date", until, got)
		}

		must(t, c.Update(t.Context(), mg))

		if got := w.observe(c, mg); !got.ResourceUpToDate || mg.Status.AtProvider.Paused != until.After(time.Now()) {
			t.Errorf("until %s: paused is %t, %+v", until, mg.Status.AtProvider.Paused, got)
		}
	}
}

// TestFiltersOverlap checks the classification of the answers of the real server.
func TestFiltersOverlap(t *testing.T) {
	cases := map[string]struct {
		reason       string
		theirs, ours []string
	}{
		"All":  {"each wants everything", nil, nil},
		"Part": {"one wants a part of what the other wants", []string{"jobs.a.>"}, []string{"jobs.*.x"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			mg := consumer(func(c *v1alpha1.Consumer) {
				c.Spec.ForProvider.Stream, c.Spec.ForProvider.FilterSubjects = new("jobs"), tc.ours
			})
			_, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{
				Name: "jobs", Subjects: []string{"jobs.>"}, Retention: jetstream.WorkQueuePolicy,
			})
			must(t, err)
			_, err = w.js.CreateConsumer(t.Context(), "jobs", jetstream.ConsumerConfig{
				Durable: "theirs", FilterSubjects: tc.theirs,
			})
			must(t, err)

			err = w.client(controller.ConsumerKind(), mg).Create(t.Context(), mg)
			if reason, _ := external.TerminalReason(err); reason != "FiltersOverlap" {
				t.Errorf("\n%s\nCreate(...): want the reason FiltersOverlap, got %q: %v", tc.reason, reason, err)
			}
		})
	}
}

// TestDeliverSubject: the deliver subject of a consumer is changed as soon as it has no subscriber.
func TestDeliverSubject(t *testing.T) {
	w, mg := newWorld(t), consumer(func(c *v1alpha1.Consumer) {
		c.Spec.ForProvider.Push = &v1alpha1.Push{DeliverSubject: "first"}
	})
	c := w.client(controller.ConsumerKind(), mg)
	must(t, c.Create(t.Context(), mg))

	listener, err := w.js.Conn().Subscribe("first", func(*nats.Msg) {})
	must(t, err)
	must(t, w.js.Conn().FlushTimeout(wait.Patience()))

	mg.Spec.ForProvider.Push.DeliverSubject = "second"
	w.observe(c, mg)

	err = c.Update(t.Context(), mg)
	if _, terminal := external.TerminalReason(err); terminal ||
		!strings.Contains(text(err), "while it has no subscriber") {
		t.Errorf("Update(...) while it has a subscriber: %v", err)
	}

	must(t, listener.Unsubscribe())
	must(t, w.js.Conn().FlushTimeout(wait.Patience()))
	must(t, c.Update(t.Context(), mg))

	if got := w.observe(c, mg); !got.ResourceUpToDate || got.Owner != managed.OwnerOurs {
		t.Errorf("after Update: %+v", got)
	}
}
