package managed

import (
	"context"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An answeringClient answers every change alike.
type answeringClient struct {
	ExternalClient

	answer error
	called []string
}

func (c *answeringClient) change(call string) error {
	c.called = append(c.called, call)

	return c.answer
}

func (c *answeringClient) Create(context.Context, resource.Managed) error { return c.change("Create") }
func (c *answeringClient) Update(context.Context, resource.Managed) error { return c.change("Update") }
func (c *answeringClient) Delete(context.Context, resource.Managed) error { return c.change("Delete") }

// TestOneExternalChangePerPass verifies that a pass makes one change and then observes the resource again, also if
// it was gone; a failed change does not count.
func TestOneExternalChangePerPass(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		answer error
		acted  bool
	}{"made": {nil, true}, "of what is gone": {external.NotFound(boom), true}, "failed": {boom, false}} {
		for call, do := range map[string]func(*pass, context.Context) error{"Update": (*pass).update,
			"Delete": (*pass).delete} {
			w := newStored(bearing(nil), &objectState{})
			c := &answeringClient{answer: tc.answer}
			w.pass.external, w.observation, w.observed = c, ExternalObservation{ResourceExists: true}, true
			if err := do(w.pass, t.Context()); (err == nil) != tc.acted || len(c.called) != 1 || c.called[0] != call {
				t.Errorf("%s %s: it ended with %v after the calls %v", call, name, err, c.called)
			}
			if w.mutated != tc.acted || w.observed == tc.acted {
				t.Errorf("%s %s: acted %t, observed %t", call, name, w.mutated, w.observed)
			}
		}
	}
}

// TestACreationOfNothingIsNotRemembered verifies that a Create that certainly made nothing is not remembered as a
// creation, and starts no grace period.
func TestACreationOfNothingIsNotRemembered(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		answer error
		made   bool
	}{
		"made": {nil, true}, "the name is taken": {external.AlreadyExists(boom), false},
		"failed": {external.NotCreated(boom), false},
	} {
		w := newStored(bearing(nil), &objectState{})
		w.writes.finalizers, w.pass.external = true, &answeringClient{answer: tc.answer}
		if err := w.pass.create(t.Context()); (err != nil) != (name == "failed") ||
			(w.alreadyExists != nil) != (name == "the name is taken") {
			t.Errorf("%s: it ended with %v, taken is %v", name, err, w.alreadyExists)
		}
		if m := w.state; (m.Since != 0) != tc.made || (m.Creation != "") != tc.made ||
			(m.Made.Mark != "") != tc.made || m.Called != (objectstate.Intent{}) || !w.mutated || w.created != tc.made {
			t.Errorf("%s: acted %t, made %t, remembered %+v %+v", name, w.mutated, w.created, m.State, m.Cold)
		}
	}
}

// TestMarksLeaveRoomForTheResult verifies that the annotations have room for the result of a creation beside its
// pending mark.
func TestMarksLeaveRoomForTheResult(t *testing.T) {
	const key = "example.org/note"
	for name, tc := range map[string]struct {
		free int // besides that of the result
		made bool
	}{"enough": {1 << 10, true}, "none for the marks": {0, false}} {
		w := newStored(bearing(map[string]string{key: strings.Repeat("x",
			annotationsLimit-resultRoom-len(key)-tc.free)}), &objectState{})
		c := &answeringClient{}
		w.writes.finalizers, w.pass.external = true, c
		err := w.pass.create(t.Context())
		if (err == nil) != tc.made || !tc.made && stageOf(err) != recordingIntent ||
			(len(c.called) > 0) != tc.made || (len(w.writes.sent) > 0) != tc.made {
			t.Errorf("%s: it ended with %v after the calls %v and %d writes", name, err, c.called, len(w.writes.sent))
		}
	}
}

// TestARetainedResourceNeedsNoCall verifies that a retained resource needs neither a token of the rate limiter nor
// a live read.
func TestARetainedResourceNeedsNoCall(t *testing.T) {
	for name, do := range map[string]func(*pass, context.Context) error{"a creation": (*pass).create,
		"a deletion": (*pass).delete} {
		w, c, above := newStored(bearing(nil), &objectState{},
			WithNamespaceDeletionGuard()), &answeringClient{}, &aboveReader{going: true}
		w.mg.SetNamespace("apps")
		w.mg.SetDeletionTimestamp(&metav1.Time{Time: noon})
		w.r.cluster, w.gate, w.pass.external = above, gates.New(gates.WithClock(w.r.clock)), c
		if err := do(w.pass, t.Context()); err != nil || !w.retained || len(c.called) > 0 {
			t.Errorf("%s: it ended with %v after the calls %v, spared is %t", name, err, c.called, w.retained)
		}
		if state := w.gate.State(); state.Calls > 0 || state.InFlight > 0 || w.permitted {
			t.Errorf("%s: leave was given: %+v", name, state)
		}
		if asked := strings.Join(above.asked, "; "); asked != "/v1, Kind=Namespace /apps" {
			t.Errorf("%s: asked for %q", name, asked)
		}
	}
}

// TestAFenceIsAskedWhenThereIsLeave verifies that the fence is called after the rate limiter: a process may lose
// its lease while it waits for a token.
func TestAFenceIsAskedWhenThereIsLeave(t *testing.T) {
	set := gates.NewSet()
	asked, free := 0, 0
	p := passOf(bearing(nil), &objectState{}, WithLimits(set), WithFence(func(context.Context) error {
		if asked++; set.States()[0].InFlight == 0 {
			free++
		}

		return nil
	}))
	p.r.telemetry = p.r.newTelemetry()
	p.r.connecter = NewNopDisconnecter(ExternalConnectorFn(func(context.Context,
		resource.Managed) (ExternalClient, error) {
		return &answeringClient{}, nil
	}))
	if err := p.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"Update", "Delete"} {
		if err := callsOf(p.external)[call](t.Context()); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	if asked != 2 || free != 0 {
		t.Errorf("the fence was asked %d times, without leave %d times", asked, free)
	}
}

// TestLeaveIsSharedByNamespaces verifies that throttled objects of one namespace are requeued one after the other.
func TestLeaveIsSharedByNamespaces(t *testing.T) {
	for name, after := range map[string]bool{"apps": true, "jobs": false} {
		mg := bearing(nil)
		mg.SetNamespace(name)
		p := passOf(mg, &objectState{})
		p.priority, p.gate = lifecycle.Poll, gates.New(gates.WithClock(p.r.clock), gates.WithRate(0.1, 0.1, 0.1),
			gates.WithMaxWait(0))
		_, err := p.gate.Acquire(t.Context(), gates.Request{Namespace: "apps", Object: "uid-2"})
		for range 5 { // until nothing is left
			if err == nil {
				_, err = p.gate.Acquire(t.Context(), gates.Request{Namespace: "apps", Object: "uid-2"})
			}
		}
		first, ok := external.AsRetryAfter(err)
		_, err = p.waitForPermit(t.Context(), false)
		if second, held := external.AsRetryAfter(err); !ok || !held || (second > first) != after {
			t.Errorf("an object in %s comes back after %s, and one in apps after %s", name, second, first)
		}
	}
}

// A countedSource counts who subscribes.
type countedSource struct{ begun int }

func (s *countedSource) Subscribe(context.Context, resource.Managed, ExternalNotifications) (func(), error) {
	s.begun++

	return func() {}, nil
}

// TestAConnectionIsListenedTo verifies that the first object of a connection subscribes to its events, also if its
// resource is in another external system, which is not called.
func TestAConnectionIsListenedTo(t *testing.T) {
	s := &countedSource{}
	p := passOf(bearing(map[string]string{meta.AnnotationKeyBackendIdentity: "blue"}), &objectState{},
		WithExternalEvents(s, 0))
	p.r.telemetry, p.r.lists = p.r.newTelemetry(), p.r.newListCache()
	p.r.waker.set(struct {
		workqueue.TypedRateLimitingInterface[reconcile.Request]
	}{})
	p.r.connecter = NewNopDisconnecter(ExternalConnectorFn(func(context.Context,
		resource.Managed) (ExternalClient, error) {
		return &namedSystem{name: "green"}, nil
	}))
	if err := p.connect(t.Context()); err == nil || p.external != nil || s.begun != 1 {
		t.Errorf("connected with %v to %v, and subscribed %d times", err, p.external, s.begun)
	}
}

// TestAnAuthorsFinalizerComesFirst verifies that an author's finalizer, which may store the whole object, sees none
// of the marks that the pass is about to store, and that none are stored if it fails.
func TestAnAuthorsFinalizerComesFirst(t *testing.T) {
	boom := errors.New("boom")
	marks := []string{meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyBackendIdentity}
	bears := func(o resource.Object) (n int) {
		for _, key := range marks {
			if o.GetAnnotations()[key] != "" {
				n++
			}
		}

		return n
	}
	for call, do := range map[string]func(*pass, context.Context) error{"claim": (*pass).persistOwnership,
		"create": (*pass).create} {
		for _, answer := range []error{nil, boom} {
			given := 0
			w := newStored(bearing(nil), &objectState{},
				WithFinalizer(&authorsFinalizer{add: func(o resource.Object) error {
					given += bears(o)

					return answer
				}}))
			w.pass.external, w.backend = &answeringClient{}, &namedSystem{name: "blue"}
			w.observation, w.observed = ExternalObservation{ResourceExists: call == "claim", Owner: OwnerNone}, true
			err := do(w.pass, t.Context())
			if !errors.Is(err, answer) || (err == nil) != (answer == nil) || given > 0 ||
				(bears(w.mg) == 0) != (answer != nil) {
				t.Errorf("%s: it ended with %v, %d marks were given, marked %v", call, err, given,
					w.mg.GetAnnotations())
			}
			if w.claimed != (call == "claim" && answer == nil) {
				t.Errorf("%s that ended with %v: claimed is %t", call, err, w.claimed)
			}
			if id, _ := attempt.Of(w.mg); answer == nil && attempt.Number(id) < meta.GetExternalCreateSucceeded(w.mg).Unix() {
				t.Errorf("%s: the attempt %s is before its own time", call, id)
			}
		}
	}
	w := newStored(bearing(nil), &objectState{})
	w.writes.answer, w.observation, w.observed = func() error { return boom },
		ExternalObservation{ResourceExists: true, Owner: OwnerNone}, true
	if err := w.persistOwnership(t.Context()); !errors.Is(err, boom) || w.claimed {
		t.Errorf("what could not be stored: %v, claimed is %t", err, w.claimed)
	}
	w.writes.answer, w.writes.finalizers = func() error { return nil }, true
	w.seenOwned, w.observation.Owner = true, OwnerOurs
	meta.AddAnnotations(w.mg, map[string]string{meta.AnnotationKeyRestoredFrom: "there"})
	if err := w.persistOwnership(t.Context()); err != nil || w.mg.GetAnnotations()[meta.AnnotationKeyRestoredFrom] == "" {
		t.Errorf("the pass after the one that has claimed notes the end of a restore: %v, marked %v", err,
			w.mg.GetAnnotations())
	}
	if id, _ := attempt.Of(w.mg); attempt.Number(id) > meta.GetExternalCreateSucceeded(w.mg).Unix() {
		t.Errorf("the attempt %s is after the time of its result, %s", id, meta.GetExternalCreateSucceeded(w.mg))
	}
}

// A hashedLate is an object that was published under another name, and cannot be encoded.
type hashedLate struct {
	lateManaged

	hash string
}

func (m *hashedLate) GetConnectionDetailsHash() string     { return m.hash }
func (m *hashedLate) SetConnectionDetailsHash(hash string) { m.hash = hash }

// TestAnOldConnectionSecretIsReportedFirst verifies that an old connection Secret is reported also if late
// initialization fails.
func TestAnOldConnectionSecretIsReportedFirst(t *testing.T) {
	w := newStored(bearing(nil), remembering(objectstate.Cold{}))
	w.mg, w.read = &hashedLate{hash: "old/1"}, &lateManaged{Spec: lateSpec{Bad: "x"}}
	w.r.empty, w.client.shows.ResourceLateInitialized = reflect.TypeFor[lateManaged](), true
	if err := w.pass.observe(t.Context()); stageOf(err) != observing || len(w.events) != 1 ||
		w.events[0].Reason != reasonOldSecret {
		t.Errorf("it ended with %v, told %+v", err, w.events)
	}
}
