package managed_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A shelf is an API server in memory that knows what the runtime asks of one:
// get, and merge patches of objects and their status, with preconditions. It is
// fast, and takes objects as they are, however strange.
type memoryServer struct {
	test.MockClient

	mu      sync.Mutex
	version int
	objects map[client.ObjectKey]resource.Managed
}

func newMemoryServer() *memoryServer {
	s := &memoryServer{objects: map[client.ObjectKey]resource.Managed{}}
	s.MockGet = func(_ context.Context, key client.ObjectKey, o client.Object) error {
		stored := s.get(key)
		if stored == nil {
			return notThere(key)
		}
		become(o, stored)

		return nil
	}
	s.MockPatch = func(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
		return s.patch(o, p, func(image, patch map[string]any) map[string]any {
			status := image["status"]
			image = mergepatch.Apply(image, patch)
			image["status"] = status

			return image
		})
	}
	s.MockStatusPatch = func(_ context.Context, o client.Object, p client.Patch,
		_ ...client.SubResourcePatchOption) error {
		return s.patch(o, p, func(image, patch map[string]any) map[string]any {
			return mergepatch.Apply(image, map[string]any{"status": patch["status"]})
		})
	}

	return s
}

func notThere(key client.ObjectKey) error {
	return kerrors.NewNotFound(schema.GroupResource{Resource: "resources"}, key.Name)
}

// become makes o the same as another object of its type.
func become(o, other client.Object) {
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(other.DeepCopyObject()).Elem())
}

// get returns a stored object, which is not to be changed, or nil.
func (s *memoryServer) get(key client.ObjectKey) resource.Managed {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.objects[key]
}

// put stores an object as it is.
func (s *memoryServer) put(mg resource.Managed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(mg)
}

func (s *memoryServer) store(mg resource.Managed) {
	s.version++
	mg.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[client.ObjectKeyFromObject(mg)] = mg
	if meta.WasDeleted(mg) && len(mg.GetFinalizers()) == 0 {
		delete(s.objects, client.ObjectKeyFromObject(mg))
	}
}

// patch answers a patch as an API server does.
func (s *memoryServer) patch(o client.Object, p client.Patch,
	apply func(image, patch map[string]any) map[string]any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	stored := s.objects[key]
	if stored == nil {
		return notThere(key)
	}
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	var patch, image map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	metadata, _ := patch["metadata"].(map[string]any)
	if uid, ok := metadata["uid"]; ok && uid != string(stored.GetUID()) {
		return kerrors.NewInvalid(schema.GroupKind{}, key.Name, nil)
	}
	if version, ok := metadata["resourceVersion"]; ok && version != stored.GetResourceVersion() {
		return kerrors.NewConflict(schema.GroupResource{}, key.Name, errors.New("it has changed"))
	}
	if data, err = json.Marshal(stored); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &image); err != nil {
		return err
	}
	if data, err = json.Marshal(apply(image, patch)); err != nil {
		return err
	}
	// what is stored is of the type of what is patched
	next := reflect.New(reflect.TypeOf(stored).Elem()).Interface().(resource.Managed)
	if err := json.Unmarshal(data, next); err != nil {
		return err
	}
	s.store(next)
	become(o, next)

	return nil
}

// Facts are what a fuzzer decides about the world round an object.
type facts uint16

func (f facts) exists() bool   { return f&1 != 0 }
func (f facts) upToDate() bool { return f&2 != 0 }
func (f facts) fillsIn() bool  { return f&4 != 0 }
func (f facts) shows() bool    { return f&8 != 0 } // that something happened shows at once
func (f facts) named() bool    { return f&16 != 0 }
func (f facts) settled() bool  { return f&32 != 0 } // without a grace period
func (f facts) spread() bool   { return f&0x800 == 0 }
func (f facts) owner() managed.Owner {
	return managed.Owner(f >> 6 & 3)
}

func (f facts) answer() error {
	return []error{nil, errBoom, context.DeadlineExceeded, external.AlreadyExists(errBoom), conflict(),
		external.NotCreated(errBoom), nil, nil}[f>>8&7]
}

// A judge is an external client that watches what it is asked to do. What is to
// be durable before a call is looked up in the shelf when the call comes.
type judge struct {
	*testing.T

	facts  facts
	server *memoryServer
	key    client.ObjectKey

	exists   bool
	upToDate bool
	calls    []string

	planned map[string]int // how often each action was planned
}

func (j *judge) client() managed.ExternalClientFns {
	return managed.ExternalClientFns{ObserveFn: j.observe, CreateFn: j.create, UpdateFn: j.update, DeleteFn: j.delete}
}

func (j *judge) observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	j.calls = append(j.calls, "Observe")
	if v, ok := mg.(*fullResource); ok && j.facts.fillsIn() && v.Spec.Size == 0 {
		v.Spec.Size = 7
	}

	return managed.ExternalObservation{
		ResourceExists: j.exists, ResourceUpToDate: j.upToDate, ResourceLateInitialized: j.facts.fillsIn(),
		Owner: j.facts.owner(),
	}, nil
}

// mutates checks what holds for every call that changes something.
func (j *judge) mutates(call string) *fullResource {
	j.calls = append(j.calls, call)
	v, ok := j.server.get(j.key).(*fullResource)
	if !ok {
		j.Fatalf("%s for an object that is gone", call)
	}
	if !meta.FinalizerExists(v, managed.FinalizerName) {
		j.Errorf("%s without a finalizer: %v", call, v.Finalizers)
	}
	if meta.IsPaused(v) || meta.ValidatePolicies(v) != nil || v.Spec.Policies.Paused() ||
		v.Spec.Policies.Validate() != nil {
		j.Errorf("%s although the object is paused or not understood: %v, %v", call, v.Annotations, v.Spec.Policies)
	}
	if !v.Spec.Policies.Allow(commonv1.ManagementAction(call)) || !meta.IsActionAllowed(v, strings.ToLower(call)) {
		j.Errorf("%s although %v and %v forbid it", call, v.Annotations, v.Spec.Policies)
	}
	if deleted := meta.WasDeleted(v); deleted != (call == "Delete") {
		j.Errorf("%s, deleted %t", call, deleted)
	}

	return v
}

func (j *judge) create(context.Context, resource.Managed) error {
	v := j.mutates("Create")
	if id := v.Annotations[meta.AnnotationKeyCreateAttempt]; !j.facts.named() &&
		(id == "" || strings.Contains(id, "/") || !meta.ExternalCreateIncomplete(v)) {
		j.Errorf("Create without a stored intent: %v", v.Annotations)
	}
	if j.facts.shows() && j.facts.answer() == nil {
		j.exists, j.upToDate = true, true
	}

	return j.facts.answer()
}

func (j *judge) update(context.Context, resource.Managed) error {
	j.owned(j.mutates("Update"), "Update")
	if !j.exists {
		j.Error("Update of what does not exist")
	}
	j.upToDate = j.facts.shows()

	return nil
}

// owned checks that what is changed belongs to the object.
func (j *judge) owned(v *fullResource, call string) {
	o := j.facts.owner()
	claimed := !meta.GetExternalCreateSucceeded(v).IsZero() || meta.ShouldAdopt(v)
	if o == managed.OwnerOther || o == managed.OwnerNone && !claimed {
		j.Errorf("%s of what belongs to %s: %v", call, o, v.Annotations)
	}
}

func (j *judge) delete(context.Context, resource.Managed) error {
	v := j.mutates("Delete")
	if v.Annotations[meta.AnnotationKeyDeletionPolicy] == meta.DeletionPolicyOrphan {
		j.Error("Delete of what is to be orphaned")
	}
	if j.exists {
		j.owned(v, "Delete")
	}
	if j.facts.shows() {
		j.exists = false
	}

	return nil
}

// pass makes a pass of a process that has just begun, after a plan of another such process. The pass has to do what was
// planned.
func (j *judge) pass() []string {
	j.Helper()
	m := &fake.Manager{Client: j.server, Scheme: fake.SchemeWith(&fullResource{})}
	options := []managed.ReconcilerOption{
		managed.WithClock(testclock.NewFakePassiveClock(moment)), managed.WithExternalConnecter(connecting(j.client())),
		managed.WithDeterministicExternalName(j.facts.named()), managed.WithSpreadAfterRestart(j.facts.spread()),
	}
	if j.facts.settled() {
		options = append(options, managed.WithCreationGracePeriod(0))
	}
	plan, planned := j.plan(options)
	j.calls = nil
	before := j.server.get(j.key)
	log, decisions := newDecisionLog()
	options = append(options, managed.WithLogger(log))
	r := managed.NewReconciler(m, resource.ManagedKind(fake.GVK(&fullResource{})), options...)
	result, err := r.Reconcile(j.Context(), reconcile.Request{NamespacedName: j.key})
	j.judge(before, result, err)
	if planned {
		j.kept(plan, *decisions)
		j.planned[plan.Action]++
	}

	return j.calls
}

// judge checks what holds for every pass.
func (j *judge) judge(before resource.Managed, result reconcile.Result, err error) {
	j.Helper()
	if n := len(strings.Fields(mutating(strings.Join(j.calls, " ")))); n > 1 {
		j.Errorf("more than one change in a pass: %v", j.calls)
	}
	again := result.Requeue || result.RequeueAfter > 0 || err != nil //nolint:staticcheck // conflicts are answered so
	after := j.server.get(j.key)
	if stays := after != nil && (!meta.WasDeleted(after) ||
		meta.FinalizerExists(after, managed.FinalizerName)); stays && !again {
		j.Errorf("no pass follows: %+v", after)
	}
	if result.RequeueAfter < 0 || result.RequeueAfter > 11*30*24*time.Hour {
		j.Errorf("the next pass is after %s", result.RequeueAfter)
	}
	if err != nil && len(err.Error()) > 1024 {
		j.Errorf("an error of %d bytes", len(err.Error()))
	}
	if after == nil || before == nil {
		return
	}
	for _, c := range after.(*fullResource).Status.Conditions { // the server holds this type only
		if !before.GetCondition(c.Type).Equal(c) && (len(c.Message) > 1024 || !utf8.ValidString(c.Message)) {
			j.Errorf("condition %s with a message of %d bytes", c.Type, len(c.Message))
		}
	}
	ours := map[string]bool{
		meta.AnnotationKeyExternalName: true, meta.AnnotationKeyCreateAttempt: true,
		meta.AnnotationKeyExternalCreatePending:   true,
		meta.AnnotationKeyExternalCreateSucceeded: true, meta.AnnotationKeyExternalCreateFailed: true,
		meta.AnnotationKeyLateInitialized: true,
		meta.AnnotationKeyWasUnresolved:   true,
	}
	mine := func(key, _ string) bool { return ours[key] }
	was, is := maps.Clone(before.GetAnnotations()), maps.Clone(after.GetAnnotations())
	maps.DeleteFunc(was, mine)
	maps.DeleteFunc(is, mine)
	if !maps.Equal(was, is) {
		j.Errorf("annotations of others were changed: %v, %v", was, is)
	}
}

// judged checks a life of a few passes, each of a process that has just begun. It returns how often each action was
// planned.
func judged(t *testing.T, v *fullResource, f facts) (planned map[string]int) {
	t.Helper()
	s := newMemoryServer()
	s.put(v)
	j := &judge{
		T: t, facts: f, server: s, key: client.ObjectKeyFromObject(v), exists: f.exists(),
		upToDate: f.upToDate(), planned: map[string]int{},
	}
	first := mutating(strings.Join(j.pass(), " "))
	second := mutating(strings.Join(j.pass(), " "))
	if unknown := errors.Is(f.answer(), context.DeadlineExceeded); unknown && first == "Create" &&
		second == "Create" && !f.named() {
		t.Error("Create was repeated although nobody knows what became of the first")
	}
	if first == "Create" && f.answer() == nil && second == "Create" && !f.named() {
		t.Error("Create was repeated although it succeeded")
	}

	return j.planned
}

// FuzzDecision makes passes over a random object and external state. No pass may panic, or make a change that was
// not recorded before or is forbidden.
func FuzzDecision(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"metadata":{"finalizers":["finalizer.managedresource.krateo.io"],"annotations":{"krateo.io/external-name":"a"}}}`,
		`{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["finalizer.managedresource.krateo.io","x"]}}`,
		`{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["finalizer.managedresource.krateo.io"]}}`,
		`{"metadata":{"annotations":{"krateo.io/external-create-pending":"2026-01-02T03:04:05Z",` +
			`"moorage.dev/create-attempt":"a"}}}`,
		`{"metadata":{"annotations":{"krateo.io/paused":"true","krateo.io/management-policy":"observe"}},` +
			`"spec":{"managementPolicies":[]}}`,
		`{"spec":{"managementPolicies":["Observe","Create"],"size":1},"status":{"conditions":[{"type":"Ready",` +
			`"status":"True"}]}}`,
		`{"metadata":{"generation":-1,"annotations":{"moorage.dev/poll-interval":"1ns"}},` +
			`"status":{"observedGeneration":9,"lastHandledReconcileAt":"x"}}`,
		`{"status":{"conditions":[{"type":"Created","status":"True","message":"a of \"b\""},{"type":"Created"},{}]}}`,
	} {
		for _, outside := range []uint16{0, 1, 3, 8, 11, 16, 0x49, 0x4b, 0x89, 0x8b, 0xc1, 0xc3, 0x200, 0x308, 0x408,
			0x520} {
			f.Add([]byte(seed), outside)
		}
	}
	f.Fuzz(func(t *testing.T, object []byte, outside uint16) {
		v := &fullResource{}
		if json.Unmarshal(object, v) != nil {
			return // no API server has such an object
		}
		v.Name, v.Namespace, v.UID = "data", "apps", "uid-1"
		judged(t, v, facts(outside))
	})
}

var randomObjects = flag.Int("random-objects", 1000, "how many objects TestRandomObjects has")

// TestRandomObjects makes objects of what they usually have in them, in every
// mixture, where a fuzzer that begins with bytes seldom comes.
func TestRandomObjects(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	planned := map[string]int{}
	times := []string{"", "", mark, moment.Add(time.Second).Format(time.RFC3339),
		moment.Add(-time.Hour).Format(time.RFC3339), "never"}
	for range *randomObjects {
		v := &fullResource{ObjectMeta: metav1.ObjectMeta{
			Name: "data", Namespace: "apps", UID: "uid-1", Generation: random.Int64N(3),
		}}
		for key, value := range map[string]string{
			meta.AnnotationKeyExternalCreatePending:   pick(times...),
			meta.AnnotationKeyExternalCreateSucceeded: pick(times...),
			meta.AnnotationKeyExternalCreateFailed:    pick(times...),
			meta.AnnotationKeyCreateAttempt:           pick("", "", "a", "a/succeeded", "a/failed", "/"),
			meta.AnnotationKeyAbandonAttempt:          pick("", "", "a", "b"),
			meta.AnnotationKeyExternalName:            pick("", "vol-1"),
			meta.AnnotationKeyPollInterval:            pick("", "1m", "x"),
			meta.AnnotationKeyReconciliationPaused:    pick("", "", "", "true"),
			meta.AnnotationKeyManagementPolicy: pick("", "", "default", "observe", "observe-delete",
				"observe-create-update", "x"),
			meta.AnnotationKeyDeletionPolicy:       pick("", "", "orphan", "delete"),
			meta.AnnotationKeyAdoptionPolicy:       pick("", "if-unowned"),
			meta.AnnotationKeyReconcileRequestedAt: pick("", "now"),
		} {
			if value != "" {
				meta.AddAnnotations(v, map[string]string{key: value})
			}
		}
		for _, finalizer := range []string{managed.FinalizerName, "foregroundDeletion", "example.org/backup"} {
			if random.IntN(2) == 0 {
				v.Finalizers = append(v.Finalizers, finalizer)
			}
		}
		if random.IntN(2) == 0 && len(v.Finalizers) > 0 {
			v.SetDeletionTimestamp(&deletion)
		}
		v.Spec.Policies = [][]commonv1.ManagementAction{nil, nil, {}, {everything}, {observe}, {observe, create},
			{observe, update, remove}, {create}}[random.IntN(8)]
		if random.IntN(2) == 0 {
			v.SetConditions(commonv1.Available(), commonv1.ReconcileSuccess(), seen(pick("a/succeeded", mark)))
		}
		f := facts(random.Uint32())
		object, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for action, times := range judged(t, v, f) {
			planned[action] += times
		}
		if t.Failed() {
			t.Fatalf("facts %#x, object %s", uint16(f), object)
		}
	}
	if missing := missingActions(planned); len(missing) > 0 {
		t.Errorf("%v were never planned, but %v", missing, planned)
	}
}

// FuzzAnnotations takes the annotations of an object, and makes passes over it.
func FuzzAnnotations(f *testing.F) {
	now, later := mark, moment.Add(time.Second).Format(time.RFC3339)
	f.Add("", "", "", "", "", "", "", "", uint16(0))
	f.Add(now, "", "", "a", "", "", "", "", uint16(0))
	f.Add(now, now, "", "a/succeeded", "", "vol-1", "1m", "", uint16(1))
	f.Add(later, now, "", "b", "b", "vol-1", "-1m", "observe", uint16(2))
	f.Add(now, "", now, "a/failed", "a", "", "2562047h47m16.854775807s", "default", uint16(8))
	f.Add("yesterday", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "/", "/", "\x00", "1e9h", "Observe",
		uint16(0x1ff))
	f.Fuzz(func(t *testing.T, pending, succeeded, failed, attempt, abandoned, name, interval, policy string,
		outside uint16) {
		v := &fullResource{ObjectMeta: metav1.ObjectMeta{
			Name: "data", Namespace: "apps", UID: "uid-1", Generation: 1,
		}}
		for key, value := range map[string]string{
			meta.AnnotationKeyExternalCreatePending: pending, meta.AnnotationKeyExternalCreateSucceeded: succeeded,
			meta.AnnotationKeyExternalCreateFailed: failed, meta.AnnotationKeyCreateAttempt: attempt,
			meta.AnnotationKeyAbandonAttempt: abandoned,
			meta.AnnotationKeyExternalName:   name, meta.AnnotationKeyPollInterval: interval,
			meta.AnnotationKeyManagementPolicy:     policy,
			meta.AnnotationKeyReconcileRequestedAt: interval, meta.AnnotationKeyAdoptionPolicy: policy,
			"example.org/others": name,
		} {
			// An API server stores valid text only.
			if value = strings.ToValidUTF8(value, "?"); value != "" {
				meta.AddAnnotations(v, map[string]string{key: value})
			}
		}
		if outside&0x8000 != 0 {
			v.SetDeletionTimestamp(&deletion)
			v.SetFinalizers([]string{managed.FinalizerName})
		}
		open := meta.ExternalCreateIncomplete(v) && !ofAnotherObject(v) && (attempt == "" || abandoned != attempt)
		s := newMemoryServer()
		s.put(v)
		j := &judge{
			T: t, facts: facts(outside), server: s, key: client.ObjectKeyFromObject(v),
			exists: outside&1 != 0, upToDate: outside&2 != 0, planned: map[string]int{},
		}
		calls := mutating(strings.Join(j.pass(), " "))
		if open && calls == "Create" && !j.facts.named() {
			t.Errorf("Create although the last one is open: %v", v.Annotations)
		}
		if after, ok := s.get(j.key).(*fullResource); ok && calls == "Create" && j.facts.answer() == nil &&
			!j.facts.named() {
			if meta.ExternalCreateIncomplete(after) {
				t.Errorf("a creation that succeeded is open: %v, then %v", v.Annotations, after.Annotations)
			}
		}
	})
}

// ofAnotherObject says whether the id of the attempt ends in a mark, and not in
// that of the object: what is recorded was then copied from the object it was
// made for.
func ofAnotherObject(v *fullResource) bool {
	id, _, _ := strings.Cut(v.GetAnnotations()[meta.AnnotationKeyCreateAttempt], "/")
	_, of, bound := strings.Cut(id, "-")
	own := fnv.New32a()
	own.Write([]byte(v.GetUID()))

	return bound && of != fmt.Sprintf("%08x", own.Sum32())
}
