package systemtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats-server/v2/server"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestOutage: while NATS is down, changes of users are kept, and when it is back they are made with the
// same streams.
func TestOutage(t *testing.T) {
	runProvider(t, badPoll)

	dir, port := t.TempDir(), port.Free(t)
	w := newWorld(t, func(o *server.Options) { o.StoreDir, o.Port = dir, port })

	orders, sessions := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}, &v1alpha1.KeyValue{ObjectMeta: w.meta("sessions")}
	doomed, late := &v1alpha1.Stream{ObjectMeta: w.meta("doomed")}, &v1alpha1.Stream{ObjectMeta: w.meta("late")}
	all := []resource.Managed{orders, sessions, doomed}

	for _, mg := range all {
		w.create(mg)
		w.awaitReady(mg)
	}

	for _, subject := range []string{"orders", "$KV.sessions.key", "doomed"} {
		_, err := w.js.Publish(t.Context(), subject, []byte("keep me"))
		must(t, err)
	}

	before := w.snapshot()
	w.read(sessions)
	version := sessions.GetResourceVersion()

	w.nats.Shutdown()
	w.nats.WaitForShutdown() // until then, some passes succeed

	down, passes := time.Now(), logged.count(w.ns, "sessions")

	w.awaitConnected("False/ExternalSystemUnavailable", "cannot reach NATS at "+w.nats.ClientURL())

	// A user deletes one object, changes another and creates a third.
	generation := doomed.GetGeneration()
	w.delete(doomed)
	w.patch(orders, func() { orders.Spec.ForProvider.MaxMsgs = new(int64(9)) })
	w.create(late)
	w.awaitDown(late)
	w.awaitDown(orders)

	w.awaitDown(doomed)

	if doomed.GetGeneration() == generation {
		t.Error("the status may be from before the deletion")
	}

	if !slices.Contains(doomed.GetFinalizers(), managed.FinalizerName) {
		t.Errorf("the finalizer was removed, and the state of the stream is unknown: %v", doomed.GetFinalizers())
	}

	// The user of the bucket waits for nothing: its ProviderConfig reports the outage.
	if w.read(sessions); sessions.GetResourceVersion() != version {
		t.Errorf("the bucket was written: %+v", sessions.Status)
	}

	tries := logged.count(w.ns, "sessions") - passes
	limit := most("False/ExternalSystemUnavailable", time.Since(down))
	if tries > limit {
		t.Errorf("%d failed passes within %s, want at most %d", tries, time.Since(down), limit)
	}

	natstest.Start(t, func(o *server.Options) { o.StoreDir, o.Port, o.Authorization = dir, port, token })
	wait.Until(t, "we are connected again", w.nc.IsConnected)

	w.awaitGone(doomed)
	w.awaitReady(orders)
	w.awaitReady(sessions)
	w.awaitReady(late)

	after := w.snapshot()
	if diff := cmp.Diff([]string{"KV_sessions", "late", "orders"}, w.streams()); diff != "" {
		t.Errorf("streams: -want, +got:\n%s", diff)
	}

	if got := after["orders"].Config.MaxMsgs; got != 9 {
		t.Errorf("the change of the user was not made: maxMsgs is %d", got)
	}

	for _, name := range []string{"orders", "KV_sessions"} {
		if diff := cmp.Diff(before[name], after[name], cmpopts.IgnoreFields(streamState{}, "Config")); diff != "" {
			t.Errorf("%s was replaced: -before, +after:\n%s", name, diff)
		}
	}
}

// awaitDown waits until an object whose user waits, in its current state, deleted or not, reports that NATS
// cannot be reached, and where.
func (w *world) awaitDown(mg resource.Managed) {
	w.Helper()
	w.await(mg, "says that NATS is down", func() bool {
		c := mg.GetCondition(commonv1.TypeSynced)

		return c.Reason == commonv1.ReasonExternalSystemUnavailable && c.ObservedGeneration == mg.GetGeneration() &&
			strings.Contains(c.Message, "cannot reach NATS at "+w.nats.ClientURL())
	})
}
