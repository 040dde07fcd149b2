package systemtest

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/port"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// watched are what the provider keeps in its caches.
func watched() []string {
	return []string{"streams", "keyvalues", "objectstores", "consumers", "providerconfigs", "clusterproviderconfigs"}
}

// A replica is one of several that take part in an election.
type replica struct {
	ledger *test.Ledger
	health string
	began  time.Time
}

// runReplica runs one until the test is over. Nobody takes the lease from who holds it, however
// busy this machine is, and who ends gives it away.
func runReplica(t *testing.T, w *world) replica {
	t.Helper()

	r := replica{ledger: &test.Ledger{}, health: net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t))), began: time.Now()}

	runProviderWith(t, func(o *provider.Options) {
		o.PollInterval = badPoll
		o.HealthAddress = r.health
		o.Election.Enabled, o.Election.Namespace = true, w.ns
		o.Election.LeaseDuration, o.Election.RenewDeadline, o.Election.RetryPeriod = 10*time.Minute, 9*time.Minute, 100*time.Millisecond
	}, r.ledger)

	return r
}

// opened returns how often the replica asked for all objects of a resource, as a list or by a
// watch that begins with one, or goes on.
func (r replica) opened(resource string) int {
	n := 0

	for _, sent := range r.ledger.All() {
		if sent.Resource == resource && sent.Verb == http.MethodGet && sent.Name == "" {
			n++
		}
	}

	return n
}

// full tells whether its caches are: it has asked for everything, and has got it.
func (r replica) full(w *world) bool {
	if slices.ContainsFunc(watched(), func(resource string) bool { return r.opened(resource) == 0 }) {
		return false
	}

	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+r.health+"/readyz", nil)
	must(w.T, err)

	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false // it does not listen yet
	}

	must(w.T, answer.Body.Close())

	return answer.StatusCode == http.StatusOK
}

// waits fails if the replica has done anything but wait since its ledger was empty.
func (r replica) waits(t *testing.T) {
	t.Helper()

	if sent := r.ledger.Objects(); len(sent) > 0 {
		t.Errorf("it waits, and sends %s", test.SummarizeRequests(sent))
	}

	if told := r.ledger.Events(); len(told) > 0 {
		t.Errorf("it waits, and tells of %d events", len(told))
	}
}

// keeps fails if the replica has asked for all objects of a resource since its ledger was empty.
// The API server ends each watch after five minutes or more, and it goes on by another one.
func (r replica) keeps(t *testing.T) {
	t.Helper()

	for _, resource := range watched() {
		if n, most := r.opened(resource), int(time.Since(r.began)/(5*time.Minute)); n > most {
			t.Errorf("its caches are full, and it asks for all %s %d times", resource, n)
		}
	}
}

// TestStandby lets one replica work while another waits: that one has its caches full, and does
// nothing else. When the first ends, it serves the next change of a user by what it has.
func TestStandby(t *testing.T) {
	w := newWorld(t)
	spy, all := newSpy(w), map[string]resource.Managed{}

	var standby replica

	waited := t.Run("Wait", func(t *testing.T) {
		leader := runReplica(t, w)

		for name, k := range kinds() {
			k.prepare(w)

			all[name] = k.make(w, "data")
			w.create(all[name])
		}

		for _, mg := range all {
			w.awaitReady(mg)
		}

		connections := w.nats.NumClients()
		standby = runReplica(w.T, w)
		wait.Until(t, "the caches are full", func() bool { return standby.full(w) })
		standby.ledger.Reset()

		// The leader works: it looks, and creates.
		for name, k := range kinds() {
			call := k.call("INFO", "data")
			before := spy.count(call)
			wait.Until(t, "looks at the "+name, func() bool { return spy.count(call) >= before+3 })
		}

		more := streamKind().make(w, "more")
		w.create(more)
		w.awaitReady(more)

		standby.waits(t)
		standby.keeps(t)

		if now := w.nats.NumClients(); now > connections {
			t.Errorf("who waits connects to NATS: there were %d connections, and are %d", connections, now)
		}

		if len(leader.ledger.Objects()) == 0 {
			t.Error("nobody has worked")
		}
	})
	if !waited {
		return
	}

	// The leader is gone.
	for name, k := range kinds() {
		w.patch(all[name], func() { k.edit(all[name]) })
	}

	for name, k := range kinds() {
		w.await(all[name], "is changed", func() bool { return ready(all[name]) && k.edited(w, "data") })
	}

	standby.keeps(t)

	// What somebody else has just changed, and a write did not fit, is read once.
	conflicts := 0

	var reads []test.Request

	for _, r := range standby.ledger.Objects() {
		switch {
		case r.Status == http.StatusConflict:
			conflicts++
		case r.Verb == http.MethodGet && slices.Contains(watched(), r.Resource):
			reads = append(reads, r)
		}
	}

	if len(reads) > conflicts {
		t.Errorf("what it has in its caches it asks for, after %d conflicts: %+v", conflicts, reads)
	}
}
