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

// watched returns the resources in the caches of the provider.
func watched() []string {
	return []string{"streams", "keyvalues", "objectstores", "consumers", "providerconfigs", "clusterproviderconfigs"}
}

// A replica is one of several with leader election.
type replica struct {
	ledger *test.Ledger
	health string
	began  time.Time
}

// runReplica runs a replica until the test is over. The lease never expires, however busy this machine is,
// and a replica that ends releases it.
func runReplica(t *testing.T, w *world) replica {
	t.Helper()

	r := replica{
		ledger: &test.Ledger{}, health: net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Free(t))), began: time.Now(),
	}

	runProviderWith(t, func(o *provider.Options) {
		o.PollInterval = badPoll
		o.HealthAddress = r.health
		o.Election.Enabled, o.Election.Namespace = true, w.ns
		o.Election.LeaseDuration, o.Election.RenewDeadline, o.Election.RetryPeriod = 10*time.Minute, 9*time.Minute,
			100*time.Millisecond
	}, r.ledger)

	return r
}

// opened returns how often the replica requested all objects of a resource, by a list or by a watch that
// begins with one, or continues.
func (r replica) opened(resource string) int {
	n := 0

	for _, sent := range r.ledger.All() {
		if sent.Resource == resource && sent.Verb == http.MethodGet && sent.Name == "" {
			n++
		}
	}

	return n
}

// full reports whether its caches are filled: it has requested everything, and has received it.
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

// checkIdle fails if the replica has sent anything since its ledger was empty.
func (r replica) checkIdle(t *testing.T) {
	t.Helper()

	if sent := r.ledger.Objects(); len(sent) > 0 {
		t.Errorf("the standby replica sends %s", test.SummarizeRequests(sent))
	}

	if events := r.ledger.Events(); len(events) > 0 {
		t.Errorf("the standby replica emits %d events", len(events))
	}
}

// keeps fails if the replica has requested all objects of a resource since its ledger was empty. The API
// server ends each watch after five minutes or more, and the replica continues with another one.
func (r replica) keeps(t *testing.T) {
	t.Helper()

	for _, resource := range watched() {
		if n, most := r.opened(resource), int(time.Since(r.began)/(5*time.Minute)); n > most {
			t.Errorf("its caches are filled, and it requests all %s %d times", resource, n)
		}
	}
}

// TestStandby lets one replica work while another is on standby: that one fills its caches, and does
// nothing else. When the first ends, it makes the next change of a user from its caches.
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

		// The leader works: it observes, and creates.
		for name, k := range kinds() {
			call := k.call("INFO", "data")
			before := spy.count(call)
			wait.Until(t, "observations of the "+name, func() bool { return spy.count(call) >= before+3 })
		}

		more := streamKind().make(w, "more")
		w.create(more)
		w.awaitReady(more)

		standby.checkIdle(t)
		standby.keeps(t)

		if now := w.nats.NumClients(); now > connections {
			t.Errorf("the standby replica connects to NATS: there were %d connections, and are %d", connections, now)
		}

		if len(leader.ledger.Objects()) == 0 {
			t.Error("the leader has sent nothing")
		}
	})
	if !waited {
		return
	}

	// The leader has ended.
	for name, k := range kinds() {
		w.patch(all[name], func() { k.edit(all[name]) })
	}

	for name, k := range kinds() {
		w.await(all[name], "is changed", func() bool { return ready(all[name]) && k.edited(w, "data") })
	}

	standby.keeps(t)

	// After a conflict, the object is read once.
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
		t.Errorf("it reads cached objects, after %d conflicts: %+v", conflicts, reads)
	}
}
