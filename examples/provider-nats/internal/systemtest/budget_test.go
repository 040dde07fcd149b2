package systemtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

const (
	// objects is the number of objects of a budget.
	objects = 5

	// looks is how often each is observed while nothing may be sent.
	looks = 20

	// room is the size of streams for which NATS has space.
	room = 64 << 20
)

// A budget limits the requests of the provider for objects of one kind.
type budget struct {
	*world
	kind

	name    string
	full    bool // every feature is switched on
	ledger  *test.Ledger
	whole   *test.Ledger
	spy     *spy
	changes *record
	left    []string // the streams that exist before and after
}

// TestRequestBudget counts the requests of the provider for each kind, once with minimal objects, and once
// with everything: references, connection Secrets, the users of the ProviderConfig, and a change log.
func TestRequestBudget(t *testing.T) {
	ledger, whole := &test.Ledger{}, &test.Ledger{}
	changes := runProvider(t, 100*time.Millisecond, ledger, whole)
	// The cluster is identified once, before there are objects.
	wait.Until(t, "the provider begins", func() bool { return len(whole.Objects()) > 0 })

	for name, k := range kinds() {
		for _, full := range []bool{false, true} {
			if full {
				name += " full"
			}

			t.Run(name, func(t *testing.T) {
				b := &budget{kind: k, name: strings.ToLower(name), full: full, ledger: ledger, whole: whole, changes: changes}
				begin, reads, configs := time.Now(), len(b.sent("secrets", "GET")), len(b.configWrites())

				b.world = newWorld(t, func(o *server.Options) { o.JetStreamMaxStore = room })
				b.spy = newSpy(b.world)
				b.ledger.Reset()
				b.left = k.prepare(b.world)
				wait.Until(t, "events of what is needed first", func() bool { return len(b.ledger.Events()) >= len(b.left) })

				b.create()
				b.rest()
				b.change()
				b.pause()

				if k.want != nil && !full {
					b.fail()
				}

				b.remove()
				// The Secret of a connection is read once a minute.
				b.once("secret reads of all objects", len(b.sent("secrets", "GET"))-reads, 1+int(time.Since(begin)/time.Minute))
				b.users(configs)
			})
		}
	}
}

// object returns one of the objects, with every feature if full is set.
func (b *budget) object(name string) resource.Managed {
	mg := b.make(b.world, name)
	if b.full {
		connect(mg, secretOf(name))
	}

	return mg
}

func secretOf(name string) string { return name + "-connection" }

// connect configures a connection Secret.
func connect(mg resource.Managed, secret string) {
	to := &v1alpha1.LocalSecretReference{Name: secret}

	switch mg := mg.(type) {
	case *v1alpha1.Stream:
		mg.Spec.WriteConnectionSecretToRef = to
	case *v1alpha1.KeyValue:
		mg.Spec.WriteConnectionSecretToRef = to
	case *v1alpha1.ObjectStore:
		mg.Spec.WriteConnectionSecretToRef = to
	case *v1alpha1.Consumer:
		mg.Spec.WriteConnectionSecretToRef = to
	}
}

// create: two requests, for the finalizer with the name and for the status; and one that creates the
// connection Secret.
func (b *budget) create() {
	b.ledger.Reset()
	b.each(func(mg resource.Managed) { b.world.create(mg) })
	b.each(func(mg resource.Managed) { b.awaitReady(mg) })

	if b.full {
		b.check("create to ready", 3, 1)
		b.each(func(mg resource.Managed) { b.awaitConnection(mg, secretOf(mg.GetName())) })
	} else {
		b.check("create to ready", 2, 1)
	}

	b.recorded(changelog.OperationCreate, 1)
}

// rest: nothing, although counters in the status move.
func (b *budget) rest() {
	n := 0
	b.settle(looks, func() {
		n++
		b.each(func(mg resource.Managed) { b.busy(b.world, mg.GetName(), n) })
	})

	for ; n < looks; n++ { // the observer may be faster than the counters
		b.each(func(mg resource.Managed) { b.busy(b.world, mg.GetName(), n) })
	}

	b.each(func(mg resource.Managed) {
		wait.Until(b.T, "the counters of "+mg.GetName()+" have moved", func() bool {
			return b.moved(b.world, mg.GetName()) >= looks
		})
	})
	b.check("steady", 0, 0)
}

// change: one request, by a user or in NATS.
func (b *budget) change() {
	b.each(func(mg resource.Managed) { b.patch(mg, func() { b.edit(mg) }) })
	b.each(func(mg resource.Managed) {
		b.await(mg, "is updated", func() bool { return ready(mg) && b.edited(b.world, mg.GetName()) })
	})
	b.check("update by the user", 1, 1)
	b.recorded(changelog.OperationUpdate, 1)

	b.each(func(mg resource.Managed) {
		b.tamper(b.world, mg.GetName(), b.metadata(b.world, mg.GetName()))
	})
	b.each(func(mg resource.Managed) {
		wait.Until(b.T, "drift corrected", func() bool { return b.edited(b.world, mg.GetName()) })
	})
	b.check("drift", 1, 1)
	b.recorded(changelog.OperationUpdate, 2)
}

// pause: nothing after the pass that reports it, however often the object is reconciled.
func (b *budget) pause() {
	b.each(func(mg resource.Managed) { b.annotate(mg, meta.AnnotationKeyReconciliationPaused, "true") })
	b.each(func(mg resource.Managed) {
		b.await(mg, "is paused", func() bool {
			return mg.GetCondition(commonv1.TypeSynced).Reason == commonv1.ReasonReconcilePaused
		})
	})
	wait.Until(b.T, "events of the pause", func() bool { return len(b.ledger.Events()) >= objects })
	b.ledger.Reset()

	for n := range 3 {
		b.each(func(mg resource.Managed) {
			before := logged.count(b.ns, mg.GetName())
			b.patch(mg, func() { mg.SetLabels(map[string]string{"touched": fmt.Sprint(n)}) })
			wait.Until(b.T, "another pass", func() bool { return logged.count(b.ns, mg.GetName()) > before })
		})
	}

	b.guarded("paused", 0)
	b.report("paused", 0, 0)
	b.each(func(mg resource.Managed) { b.resume(mg) })
	b.each(func(mg resource.Managed) { b.awaitReady(mg) })
	b.check("resumed", 1, 0)
}

// fail: nothing for a create that fails again with the same error.
func (b *budget) fail() {
	mg := b.object("greedy")
	b.want(mg, 2*room)
	b.world.create(mg)
	b.awaitSynced(mg, "False/ReconcileError")
	wait.Until(b.T, "the failure is reported", func() bool { return len(b.ledger.Events()) > 0 })
	b.ledger.Reset()

	const retries = 2
	before := b.spy.count(b.call("CREATE", "greedy"))
	wait.Until(b.T, "retries", func() bool { return b.spy.count(b.call("CREATE", "greedy")) >= before+retries })
	b.settle(2, nil)
	b.print("failing create per retry", retries, 0, 0)

	b.patch(mg, func() { b.want(mg, room/2) })
	b.awaitReady(mg)
	b.delete(mg)
	b.awaitGone(mg)
	b.settle(2, nil)
	b.ledger.Reset()
}

// remove: one request, which removes the finalizer; and the deletion guard reads the CRD once before each
// deletion, and no namespace.
func (b *budget) remove() {
	b.each(func(mg resource.Managed) { b.delete(mg) })
	b.each(func(mg resource.Managed) { b.awaitGone(mg) })
	wait.Until(b.T, "events of the deletion", func() bool { return len(b.ledger.Events()) >= objects })
	b.guarded("delete", 1)
	b.report("delete", 1, 1)
	b.recorded(changelog.OperationDelete, 1)

	if diff := cmp.Diff(b.left, b.streams(), cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("streams: -before, +after:\n%s", diff)
	}
}

// each calls do for every object.
func (b *budget) each(do func(mg resource.Managed)) {
	b.Helper()

	for i := range objects {
		do(b.object(fmt.Sprintf("o%d", i)))
	}
}

// settle waits until every object was observed a number of times more, and calls meanwhile in between.
func (b *budget) settle(looks int, meanwhile func()) {
	b.Helper()

	before := map[string]int{}
	b.each(func(mg resource.Managed) { before[mg.GetName()] = b.spy.count(b.call("INFO", mg.GetName())) })
	wait.Until(b.T, "looks", func() bool {
		if meanwhile != nil {
			meanwhile()
		}

		for name, n := range before {
			if b.spy.count(b.call("INFO", name)) < n+looks {
				return false
			}
		}

		return true
	})
}

// check waits for late requests, and reports.
func (b *budget) check(name string, requests, events int) {
	b.Helper()
	wait.Until(b.T, "events of "+name, func() bool { return len(b.ledger.Events()) >= events*objects })
	b.settle(2, nil)
	b.guarded(name, 0)
	b.report(name, requests, events)
}

func (b *budget) report(name string, requests, events int) {
	b.Helper()
	b.print(name, objects, requests, events)
}

// print reports the requests since the last call, divided by n, and compares them with the limits.
func (b *budget) print(name string, n, requests, events int) {
	b.Helper()

	sent := slices.DeleteFunc(b.ledger.Objects(), func(r test.Request) bool {
		return r.Resource == "secrets" && r.Verb == "GET" || isConfig(r) || isGuard(r)
	})
	emitted := b.ledger.Events()
	b.ledger.Reset()

	b.figure(name+" requests", float64(len(sent))/float64(n))
	b.figure(name+" events", float64(len(emitted))/float64(n))

	if len(sent) > requests*n {
		b.Errorf("%s: %d requests, want at most %d: %s", name, len(sent), requests*n, test.SummarizeRequests(sent))
	}

	if len(emitted) != events*n {
		b.Errorf("%s: %d events, want %d: %s", name, len(emitted), events*n, test.SummarizeRequests(emitted))
	}

	for _, r := range sent {
		published := b.full && r.Verb == "POST" && r.Resource == "secrets"
		if !published && (r.Verb != "PATCH" || strings.TrimSuffix(r.Resource, "/status") != b.resource) {
			b.Errorf("%s: %s %s, want patches of %s only", name, r.Verb, r.Resource, b.resource)
		}
	}
}

// figure prints a figure on a line of its own.
func (b *budget) figure(name string, value any) {
	fmt.Printf("%s: %v\n", strings.ReplaceAll(b.name+" "+name, " ", "_"), value)
}

// once prints a figure about all objects together.
func (b *budget) once(name string, got, want int) {
	b.Helper()
	b.figure(name, got)

	if got > want {
		b.Errorf("%s: %d, want at most %d", name, got, want)
	}
}

// recorded checks how many changes of each object were recorded so far.
func (b *budget) recorded(operation changelog.Operation, want int) {
	b.Helper()

	kind := b.GroupVersionKind().Kind
	wait.Until(b.T, fmt.Sprintf("%d records of %s", want, operation), func() bool {
		return b.changes.count(b.ns, kind, operation) >= want*objects
	})
}

// users: the ProviderConfig shows how many objects use it, and none at the end. That costs its finalizer
// and one write in five seconds at most, however many objects there are.
func (b *budget) users(before int) {
	b.Helper()

	pc := b.providerConfig("")
	wait.Until(b.T, "the ProviderConfig has no users", func() bool {
		must(b.T, kube.Get(b.Context(), client.ObjectKeyFromObject(pc), pc))

		return pc.Status.Users == int64(len(b.left))
	})

	age := int(time.Since(pc.GetCreationTimestamp().Time) / (5 * time.Second))
	b.once("writes of the provider config", len(b.configWrites())-before, 3+age)
}

// sent returns all requests for a resource so far.
func (b *budget) sent(resource, verb string) []test.Request {
	return slices.DeleteFunc(b.whole.Objects(), func(r test.Request) bool {
		return r.Resource != resource || r.Verb != verb
	})
}

func (b *budget) configWrites() []test.Request {
	return slices.DeleteFunc(b.whole.Objects(), func(r test.Request) bool { return !isConfig(r) || r.Verb == "GET" })
}

func isConfig(r test.Request) bool {
	return strings.HasSuffix(strings.TrimSuffix(r.Resource, "/status"), "providerconfigs")
}

// A spy counts the requests to JetStream, by operation and name.
type spy struct {
	mu     sync.Mutex
	counts map[string]int
}

func newSpy(w *world) *spy {
	w.Helper()

	s := &spy{counts: map[string]int{}}
	_, err := w.nc.Subscribe("$JS.API.>", func(m *nats.Msg) {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.counts[strings.TrimPrefix(m.Subject, "$JS.API.")]++
	})
	must(w.T, err)
	must(w.T, w.nc.FlushTimeout(wait.Patience()))

	return s
}

func (s *spy) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.counts[call]
}
