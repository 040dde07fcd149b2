package systemtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// many is the number of objects in an outage. Together they are due 80 times a second.
const many = 40

// TestOutageOfMany: however many objects there are, NATS is tried once in each interval while it is
// unavailable, and only the ProviderConfig reports that, once. When it is back, all objects go on.
func TestOutageOfMany(t *testing.T) {
	runProvider(t, badPoll)

	w := newWorld(t)
	s := newProxy(t, w.nats.Addr().String())
	w.setServer(s.url())

	var all []*v1alpha1.Stream

	for i := range many {
		mg := &v1alpha1.Stream{ObjectMeta: w.meta(fmt.Sprintf("s%02d", i))}
		w.create(mg)
		all = append(all, mg)
	}

	for _, mg := range all {
		w.awaitReady(mg)
	}

	// An interval is a second at least, and within it a request may wait for five.
	// The client of NATS dials by itself, once in a second.
	cases := []struct {
		name                 string
		state                proxyMode
		words                string
		dialsEach, callsEach time.Duration
	}{
		{name: "Silent", state: silent, words: "NATS did not answer in time", callsEach: 5 * time.Second},
		{name: "Gone", state: gone, words: "cannot reach NATS at " + s.url(), dialsEach: time.Second, callsEach: time.Second},
	}

	for n, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{T: t, ns: w.ns, nats: w.nats, nc: w.nc, js: w.js}
			versions := w.versions(all)
			s.set(tc.state)
			w.awaitConnected("False/ExternalSystemUnavailable", tc.words)

			begin, before := time.Now(), w.calls()
			dials, requests := s.counted()
			wait.Until(t, "a retry, which takes ten seconds at most", func() bool { return w.calls() >= before+2 })

			calls := w.calls() - before
			dialled, requested := s.counted()
			elapsed := time.Since(begin) // later ones are not counted
			most := func(each time.Duration) int {
				if each == 0 {
					return 0
				}

				return 1 + int(elapsed/each)
			}

			t.Logf("within %s: %.0f calls, %d connections, %d requests", elapsed, calls, dialled-dials, requested-requests)

			if int(calls) > 1+most(tc.callsEach) || dialled-dials > 1+most(tc.dialsEach) ||
				requested-requests > 1+most(tc.callsEach) {
				t.Errorf("%.0f calls, %d connections and %d requests within %s, for %d objects", calls, dialled-dials,
					requested-requests, elapsed, many)
			}

			// The change of a user is not delayed by polls.
			changed := all[n]
			w.patch(changed, func() { changed.Spec.ForProvider.MaxMsgs = new(int64(9)) })
			w.await(changed, "says what is wrong", func() bool {
				c := changed.GetCondition(commonv1.TypeSynced)

				return c.Reason == commonv1.ReasonExternalSystemUnavailable && c.ObservedGeneration == changed.GetGeneration() &&
					strings.Contains(c.Message, tc.words)
			})

			delete(versions, changed.GetName())
			w.unwritten(all, versions)

			wait.Until(t, "the ProviderConfig warns", func() bool { return len(w.warnings(w.config())) > n })

			if warnings := w.warnings(w.config()); len(warnings) != n+1 {
				t.Errorf("%d warnings of the ProviderConfig in %d outages: %v", len(warnings), n+1, warnings)
			}

			w.comeBack(s, all, changed)
		})
	}
}

// comeBack ends an outage, and waits until all objects are observed again.
func (w *world) comeBack(s *proxy, all []*v1alpha1.Stream, changed *v1alpha1.Stream) {
	w.Helper()

	spy, begin := newSpy(w), time.Now()
	s.set(open)
	w.awaitReady(changed)
	w.Logf("the user's change was made after %s", time.Since(begin))

	if got := w.info(changed.GetName()).Config.MaxMsgs; got != 9 {
		w.Errorf("the change of the user was not made: maxMsgs is %d", got)
	}

	for _, mg := range all {
		wait.Until(w.T, mg.GetName()+" is observed", func() bool { return spy.count("STREAM.INFO."+mg.GetName()) > 0 })
	}

	w.Logf("all were looked at after %s", time.Since(begin))
	w.awaitConnected("True/Available", "")
}

// config returns the current ProviderConfig.
func (w *world) config() *v1alpha1.ProviderConfig {
	w.Helper()

	pc := w.providerConfig("")
	w.awaitConfig(pc, "is there", func() bool { return true })

	return pc
}

// awaitConnected waits for the condition Connected of the ProviderConfig.
func (w *world) awaitConnected(want, words string) {
	w.Helper()

	pc := w.providerConfig("")
	w.awaitConfig(pc, "says of its connection: "+want, func() bool {
		c := pc.GetCondition(commonv1.TypeConnected)

		return string(c.Status)+"/"+string(c.Reason) == want && strings.Contains(c.Message, words)
	})
}

func (w *world) versions(all []*v1alpha1.Stream) map[string]string {
	w.Helper()

	out := map[string]string{}

	for _, mg := range all {
		w.read(mg)
		out[mg.GetName()] = mg.GetResourceVersion()
	}

	return out
}

// unwritten fails if an object was changed.
func (w *world) unwritten(all []*v1alpha1.Stream, versions map[string]string) {
	w.Helper()

	for _, mg := range all {
		if was, ok := versions[mg.GetName()]; ok && w.read(mg) &&
			(mg.GetResourceVersion() != was || mg.GetCondition(commonv1.TypeReady).Status != metav1.ConditionTrue) {
			w.Errorf("%s was written, although its user waits for nothing: %+v", mg.GetName(),
				mg.GetCondition(commonv1.TypeSynced))
		}
	}
}

// calls returns the number of calls over the connection of the ProviderConfig, by the metrics of the
// provider.
func (w *world) calls() float64 {
	w.Helper()

	families, err := metrics.Registry.Gather()
	must(w.T, err)

	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if family.GetName() == "moorage_connection_calls_total" &&
					label.GetValue() == "ProviderConfig/"+w.ns+"/"+v1alpha1.DefaultProviderConfig {
					return m.GetCounter().GetValue()
				}
			}
		}
	}

	return 0
}
