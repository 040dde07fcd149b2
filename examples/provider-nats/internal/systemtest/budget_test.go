package systemtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"k8s.io/client-go/rest"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

const (
	// objects is how many a budget is counted over.
	objects = 5

	// looks is how often each is looked at while nothing may be sent.
	looks = 20

	// room is how many bytes of streams NATS has room for.
	room = 64 << 20
)

// A budget holds the provider to what it may send for objects of one kind.
type budget struct {
	*world
	kind

	name   string
	ledger *test.Ledger
	spy    *spy
}

func TestRequestBudget(t *testing.T) {
	ledger, whole := &test.Ledger{}, &test.Ledger{}
	runProvider(t, 100*time.Millisecond, func(cfg *rest.Config) {
		cfg.Wrap(ledger.Wrap)
		cfg.Wrap(whole.Wrap)
	})
	// It asks once which cluster it is in, before there are objects.
	eventually(t, "the provider begins", func() bool { return len(whole.Objects()) > 0 })

	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			before := len(secretReads(whole))
			w := newWorld(t, func(o *server.Options) { o.JetStreamMaxStore = room })
			b := &budget{world: w, kind: k, name: strings.ToLower(name), ledger: ledger, spy: newSpy(w)}

			b.create()
			b.rest()
			b.change()
			b.pause()
			b.fail()
			b.remove()

			reads := len(secretReads(whole)) - before
			b.figure("secret reads of all objects", reads)

			if reads != 1 {
				t.Errorf("%d Secret reads for one connection", reads)
			}
		})
	}
}

// create: two requests, the finalizer with the name and the status.
func (b *budget) create() {
	b.ledger.Reset()
	b.each(func(mg resource.Managed) { b.world.create(mg) })
	b.each(func(mg resource.Managed) { b.awaitReady(mg) })
	b.check("create to ready", 2, 1)
}

// rest: nothing, although counters in the status move.
func (b *budget) rest() {
	n := 0
	b.settle(looks, func() {
		n++
		b.each(func(mg resource.Managed) {
			must(b.T, b.nc.Publish(b.subject(mg.GetName(), n), []byte("busy")))
		})
	})
	b.check("steady", 0, 0)
	b.each(func(mg resource.Managed) {
		if got := b.info(b.stream(mg.GetName())).State.LastSeq; got < looks {
			b.Errorf("%d messages in %s: its counters hardly moved", got, mg.GetName())
		}
	})
}

// change: one request, whoever changes something.
func (b *budget) change() {
	b.each(func(mg resource.Managed) { b.patch(mg, func() { b.edit(mg) }) })
	b.each(func(mg resource.Managed) {
		b.await(mg, "is updated", func() bool { return ready(mg) && b.seen(b.info(b.stream(mg.GetName())).Config) })
	})
	b.check("update by the user", 1, 1)

	b.each(func(mg resource.Managed) {
		cfg := b.info(b.stream(mg.GetName())).Config
		b.drift(&cfg)
		_, err := b.js.UpdateStream(b.Context(), cfg)
		must(b.T, err)
	})
	b.each(func(mg resource.Managed) {
		eventually(b.T, "drift corrected", func() bool { return b.seen(b.info(b.stream(mg.GetName())).Config) })
	})
	b.check("drift", 1, 1)
}

// pause: nothing after the pass that says so, however often it is looked at.
func (b *budget) pause() {
	b.each(func(mg resource.Managed) { b.annotate(mg, meta.AnnotationKeyReconciliationPaused, "true") })
	b.each(func(mg resource.Managed) {
		b.await(mg, "is paused", func() bool {
			return mg.GetCondition(commonv1.TypeSynced).Reason == commonv1.ReasonReconcilePaused
		})
	})
	eventually(b.T, "events of the pause", func() bool { return len(b.ledger.Events()) >= objects })
	b.ledger.Reset()

	for n := range 3 {
		b.each(func(mg resource.Managed) {
			before := logged.count(b.ns, mg.GetName())
			b.patch(mg, func() { mg.SetLabels(map[string]string{"touched": fmt.Sprint(n)}) })
			eventually(b.T, "another pass", func() bool { return logged.count(b.ns, mg.GetName()) > before })
		})
	}

	b.report("paused", 0, 0)
	b.each(func(mg resource.Managed) { b.resume(mg) })
	b.each(func(mg resource.Managed) { b.awaitReady(mg) })
	b.check("resumed", 1, 0)
}

// fail: nothing for a create that fails again as it failed before.
func (b *budget) fail() {
	mg := b.make(b.world, "greedy")
	b.want(mg, 2*room)
	b.world.create(mg)
	b.awaitSynced(mg, "False/ReconcileError")
	eventually(b.T, "the failure is told", func() bool { return len(b.ledger.Events()) > 0 })
	b.ledger.Reset()

	const retries = 2
	before := b.spy.count("CREATE", b.stream("greedy"))
	eventually(b.T, "retries", func() bool { return b.spy.count("CREATE", b.stream("greedy")) >= before+retries })
	b.settle(2, nil)
	b.print("failing create per retry", retries, 0, 0)

	b.patch(mg, func() { b.want(mg, room/2) })
	b.awaitReady(mg)
	b.delete(mg)
	b.awaitGone(mg)
	b.settle(2, nil)
	b.ledger.Reset()
}

// remove: one request, which takes the finalizer away.
func (b *budget) remove() {
	b.each(func(mg resource.Managed) { b.delete(mg) })
	b.each(func(mg resource.Managed) { b.awaitGone(mg) })
	eventually(b.T, "events of the deletion", func() bool { return len(b.ledger.Events()) >= objects })
	b.report("delete", 1, 1)

	if left := b.streams(); len(left) > 0 {
		b.Errorf("left behind: %v", left)
	}
}

// each does something for every object.
func (b *budget) each(do func(mg resource.Managed)) {
	b.Helper()

	for i := range objects {
		do(b.make(b.world, fmt.Sprintf("o%d", i)))
	}
}

// settle waits until every object was looked at a number of times more, doing
// something meanwhile.
func (b *budget) settle(looks int, meanwhile func()) {
	b.Helper()

	before := map[string]int{}
	b.each(func(mg resource.Managed) { before[mg.GetName()] = b.spy.count("INFO", b.stream(mg.GetName())) })
	eventually(b.T, "looks", func() bool {
		if meanwhile != nil {
			meanwhile()
		}

		for name, n := range before {
			if b.spy.count("INFO", b.stream(name)) < n+looks {
				return false
			}
		}

		return true
	})
}

// check waits for what trails behind, and reports.
func (b *budget) check(name string, requests, events int) {
	b.Helper()
	eventually(b.T, "events of "+name, func() bool { return len(b.ledger.Events()) >= events*objects })
	b.settle(2, nil)
	b.report(name, requests, events)
}

func (b *budget) report(name string, requests, events int) {
	b.Helper()
	b.print(name, objects, requests, events)
}

// print says what was sent since the last time, divided by n, and compares it
// with what may be sent.
func (b *budget) print(name string, n, requests, events int) {
	b.Helper()

	sent := slices.DeleteFunc(b.ledger.Objects(), func(r test.Request) bool { return r.Resource == "secrets" })
	told := b.ledger.Events()
	b.ledger.Reset()

	b.figure(name+" requests", float64(len(sent))/float64(n))
	b.figure(name+" events", float64(len(told))/float64(n))

	if len(sent) > requests*n {
		b.Errorf("%s: %d requests, want at most %d: %s", name, len(sent), requests*n, test.SummarizeRequests(sent))
	}

	if len(told) != events*n {
		b.Errorf("%s: %d events, want %d: %s", name, len(told), events*n, test.SummarizeRequests(told))
	}

	for _, r := range sent {
		if r.Verb != "PATCH" || strings.TrimSuffix(r.Resource, "/status") != b.resource {
			b.Errorf("%s: %s %s, want patches of %s only", name, r.Verb, r.Resource, b.resource)
		}
	}
}

// figure prints one alone on its line.
func (b *budget) figure(name string, value any) {
	fmt.Printf("%s: %v\n", strings.ReplaceAll(b.name+" "+name, " ", "_"), value)
}

func secretReads(l *test.Ledger) []test.Request {
	return slices.DeleteFunc(l.Objects(), func(r test.Request) bool { return r.Resource != "secrets" })
}

// A spy counts what is asked of JetStream, by operation and stream.
type spy struct {
	mu     sync.Mutex
	counts map[string]int
}

func newSpy(w *world) *spy {
	w.Helper()

	s := &spy{counts: map[string]int{}}
	_, err := w.nc.Subscribe("$JS.API.STREAM.*.*", func(m *nats.Msg) {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.counts[strings.TrimPrefix(m.Subject, "$JS.API.STREAM.")]++
	})
	must(w.T, err)
	must(w.T, w.nc.FlushTimeout(10*time.Second))

	return s
}

func (s *spy) count(operation, stream string) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.counts[operation+"."+stream]
}
