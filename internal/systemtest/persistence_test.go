package systemtest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A bench is one volume on the API server and a reconciler that the test calls. Its cache can be frozen.
type bench struct {
	*testing.T

	cloud  *volume.Cloud
	ledger *test.Ledger
	api    client.Client
	key    client.ObjectKey
	r      *managed.Reconciler

	mu     sync.Mutex
	cached *volume.Volume // what the cache answers; nil: what is stored
	log    strings.Builder
}

// An uncached cluster reads live where the reconciler asks for that.
type cluster struct {
	*fake.Manager

	live client.Reader
}

func (c cluster) GetAPIReader() client.Reader { return c.live }

// benches runs a test on an API server, and on a store.
func benches(t *testing.T, story func(*testing.T, *bench)) {
	t.Helper()
	t.Run("server", func(t *testing.T) { story(t, newBench(t, config, api)) })
	t.Run("store", func(t *testing.T) {
		c, err := kube.NewClient(scheme, kinds())
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{
			T: t, cloud: &volume.Cloud{}, ledger: &test.Ledger{}, api: c,
			key: client.ObjectKey{Namespace: "default", Name: "data"},
		}
		b.start(b.ledger.Count(c))
		story(t, b)
	})
}

func newBench(t *testing.T, c *rest.Config, api client.Client) *bench {
	t.Helper()
	b := &bench{T: t, cloud: &volume.Cloud{}, ledger: &test.Ledger{}, api: api}
	b.key = client.ObjectKey{Namespace: namespace(t, api), Name: "data"}
	counted := rest.CopyConfig(c)
	counted.Wrap(b.ledger.Wrap)
	live, err := client.NewWithWatch(counted, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	b.start(live)

	return b
}

// start makes the reconciler, whose requests go to a client, and the volume.
func (b *bench) start(live client.WithWatch) {
	b.Helper()
	api := b.api
	cached := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			if v := b.frozen(); v != nil {
				*o.(*volume.Volume) = *v // only volumes are read

				return nil
			}

			return api.Get(ctx, key, o)
		},
	})
	log := logging.NewLogrLogger(funcr.New(func(_, line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.log.WriteString(line + "\n")
	}, funcr.Options{}))
	b.r = managed.NewReconciler(&fake.Manager{}, volume.Kind,
		managed.WithExternalConnecter(b.cloud), managed.WithLogger(log),
		managed.WithCluster(cluster{&fake.Manager{Client: cached, Scheme: scheme}, live}))
	if err := api.Create(b.Context(), stories.NewVolume(b.key.Namespace, b.key.Name)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) frozen() *volume.Volume {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cached == nil {
		return nil
	}

	return b.cached.DeepCopyObject().(*volume.Volume) // a copy of a volume
}

// freeze makes the cache answer the present state until thaw.
func (b *bench) freeze() {
	v := b.get()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cached = v
}

func (b *bench) thaw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cached = nil
}

func (b *bench) get() *volume.Volume {
	b.Helper()
	v := &volume.Volume{}
	if err := b.api.Get(b.Context(), b.key, v); err != nil {
		b.Fatal(err)
	}

	return v
}

func (b *bench) pass() (reconcile.Result, error) {
	return b.r.Reconcile(b.Context(), reconcile.Request{NamespacedName: b.key})
}

func (b *bench) mustPass() {
	b.Helper()
	if _, err := b.pass(); err != nil {
		b.Fatal(err)
	}
}

// setForeignCondition writes a condition of another client into the status.
func (b *bench) setForeignCondition(message string) {
	b.Helper()
	v := b.get()
	v.SetConditions(commonv1.Condition{
		Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByAStranger", Message: message,
		LastTransitionTime: metav1.Now(),
	})
	if err := b.api.Status().Update(b.Context(), v); err != nil {
		b.Fatal(err)
	}
}

// replace replaces the volume by another object of the same name.
func (b *bench) replace() {
	b.Helper()
	v := b.get()
	v.Finalizers = nil
	if err := b.api.Update(b.Context(), v); err != nil {
		b.Error(err)
	}
	if err := b.api.Delete(b.Context(), v); err != nil {
		b.Error(err)
	}
	if err := b.api.Create(b.Context(), stories.NewVolume(b.key.Namespace, b.key.Name)); err != nil {
		b.Error(err)
	}
}

// once runs a function before the first call of a name.
func once(call string, do func()) func(context.Context, string, resource.Managed) error {
	var first sync.Once

	return func(_ context.Context, c string, _ resource.Managed) error {
		if c == call {
			first.Do(do)
		}

		return nil
	}
}

func TestAStatusWrittenOnAStaleBaseKeepsWhatOthersWrote(t *testing.T) {
	benches(t, aStatusWrittenOnAStaleBaseKeepsWhatOthersWrote)
}

func aStatusWrittenOnAStaleBaseKeepsWhatOthersWrote(t *testing.T, b *bench) {
	t.Helper()
	b.mustPass()
	b.setForeignCondition("before")
	b.freeze()                     // the cache has the foreign condition as it was before
	b.setForeignCondition("after") // but not the update
	v := b.get()
	v.Spec.SizeGiB = 2
	if err := b.api.Update(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	b.cached.Spec.SizeGiB, b.cached.Generation = 2, v.Generation
	b.mustPass()
	v = b.get()
	if got := v.GetCondition("Audited").Message; got != "after" {
		t.Errorf("the stranger's condition says %q, want his last word", got)
	}
	if v.Status.SizeGiB != 2 || v.GetCondition("Ready").Status != "True" {
		t.Errorf("our own status was lost: %+v", v.Status)
	}
}

func TestAConflictInTheMiddleKeepsBothStatuses(t *testing.T) {
	benches(t, aConflictInTheMiddleKeepsBothStatuses)
}

func aConflictInTheMiddleKeepsBothStatuses(t *testing.T, b *bench) {
	t.Helper()
	b.cloud.After = once("Create", func() {})
	b.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" && b.cloud.Count("Observe") == 2 {
			b.setForeignCondition("in the middle of the first pass")
		}

		return nil
	}
	b.mustPass()
	v := b.get()
	if v.GetCondition("Audited").Status != "True" || v.GetCondition("Ready").Status != "True" ||
		v.Status.ID != "vol-1" {
		t.Errorf("status %+v, want the stranger's condition and ours", v.Status)
	}
	conflicts := 0
	for _, r := range b.ledger.Objects() {
		if r.Status == 409 {
			conflicts++
		}
	}
	if conflicts != 1 {
		t.Errorf("%d conflicts, want 1: %s", conflicts, test.SummarizeRequests(b.ledger.Objects()))
	}
}

func TestAStatusNeverLandsOnANamesake(t *testing.T) { benches(t, aStatusNeverLandsOnANamesake) }

func aStatusNeverLandsOnANamesake(t *testing.T, b *bench) {
	t.Helper()
	b.mustPass()
	b.cloud.Before = once("Observe", b.replace)
	d := b.cloud.Disks()[0]
	d.UsedBytes = 5 // so that there is a status to write
	b.cloud.Put(d)
	b.mustPass()
	if v := b.get(); v.Status.ID != "" || v.Status.UsedBytes != 0 || len(v.Status.Conditions) != 0 ||
		len(v.Finalizers) != 0 {
		t.Errorf("the namesake got what was meant for its predecessor: %+v", v)
	}
}

func TestAFieldTheServerDropsIsSentOnce(t *testing.T) {
	b := newBench(t, config, api)
	b.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if v, ok := mg.(*volume.Volume); ok && call == "Observe" {
			v.Status.Pruned = "the CRD does not know this"
		}

		return nil
	}
	for range 3 {
		b.mustPass()
	}
	b.ledger.Reset()
	for range 3 {
		b.mustPass()
	}
	if sent := b.ledger.Objects(); len(sent) > 0 {
		t.Errorf("the dropped field is sent again and again: %s", test.SummarizeRequests(sent))
	}
	if log := b.log.String(); strings.Count(log, "status.pruned") != 1 {
		t.Errorf("the log should name the field once:\n%s", log)
	}
	d := b.cloud.Disks()[0]
	d.UsedBytes = 5
	b.cloud.Put(d)
	b.mustPass()
	if got := b.get().Status.UsedBytes; got != 5 {
		t.Errorf("a later change was lost: used bytes %d", got)
	}
}

func TestNoPassStartsBeforeOurLastWrite(t *testing.T) { benches(t, noPassStartsBeforeOurLastWrite) }

func noPassStartsBeforeOurLastWrite(t *testing.T, b *bench) {
	t.Helper()
	b.freeze()
	b.mustPass() // creates; the cache does not show it
	b.mustPass() // must not create again
	if n := len(b.cloud.Disks()); n != 1 {
		t.Errorf("%d disks, want 1", n)
	}
	reads := 0
	for _, r := range b.ledger.Objects() {
		if r.Verb == "GET" {
			reads++
		}
	}
	if reads != 1 {
		t.Errorf("%d live reads, want 1: %s", reads, test.SummarizeRequests(b.ledger.Objects()))
	}
}

// TestStaleCacheAfterCreate stops the cache between the record of the intent to create and that of the result. The
// next reconcile must not conclude that nothing was created.
func TestStaleCacheAfterCreate(t *testing.T) {
	benches(t, aCacheThatStopsBetweenTheTwoRecordsLosesNothing)
}

func aCacheThatStopsBetweenTheTwoRecordsLosesNothing(t *testing.T, b *bench) {
	t.Helper()
	b.cloud.Before = once("Create", b.freeze)
	b.mustPass()
	b.mustPass()
	v := b.get()
	if n := len(b.cloud.Disks()); n != 1 || meta.GetExternalName(v) != "vol-1" || meta.ExternalCreateIncomplete(v) {
		t.Errorf("%d disks, annotations %v", n, v.Annotations)
	}
	if got := v.GetCondition("Ready"); got.Status != "True" {
		t.Errorf("condition %+v", got)
	}
	b.thaw()
	b.mustPass()
	if c := b.get().GetCondition("Synced"); c.Status != "True" {
		t.Errorf("condition %+v", c)
	}
}

func TestAStaleReadCannotCreate(t *testing.T) { benches(t, aStaleReadCannotCreate) }

func aStaleReadCannotCreate(t *testing.T, b *bench) {
	t.Helper()
	b.freeze()
	b.thaw()
	v := b.get()
	b.freeze()
	v.Labels = map[string]string{"changed": "meanwhile"}
	if err := b.api.Update(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	got, err := b.pass()
	if err != nil || !got.Requeue { //nolint:staticcheck // the answer to a conflict
		t.Errorf("result %v, error %v, want a silent repetition", got, err)
	}
	if n := b.cloud.Count("Create"); n != 0 {
		t.Errorf("%d creates from a stale read", n)
	}
}

func TestAnAnnotationRemovedMeanwhileStaysRemoved(t *testing.T) {
	benches(t, anAnnotationRemovedMeanwhileStaysRemoved)
}

func anAnnotationRemovedMeanwhileStaysRemoved(t *testing.T, b *bench) {
	t.Helper()
	v := b.get()
	v.Annotations = map[string]string{"someone/note": "x", meta.AnnotationKeyReconciliationPaused: "false"}
	if err := b.api.Update(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	b.cloud.Before = once("Create", func() {
		patch := client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"someone/note":null,"krateo.io/paused":"true"}}}`))
		if err := b.api.Patch(t.Context(), stories.NewVolume(b.key.Namespace, b.key.Name), patch); err != nil {
			t.Error(err)
		}
	})
	b.mustPass()
	v = b.get()
	if _, ok := v.Annotations["someone/note"]; ok || !meta.IsPaused(v) {
		t.Errorf("a user's changes during the pass were undone: %v", v.Annotations)
	}
	if meta.GetExternalName(v) != "vol-1" {
		t.Errorf("the external name was lost: %v", v.Annotations)
	}
	if v.GetCondition("Synced").Reason != "ReconcilePaused" {
		t.Errorf("the pause was not noticed: %+v", v.GetCondition("Synced"))
	}
}

func TestAResultIsNotWrittenToANamesake(t *testing.T) { benches(t, aResultIsNotWrittenToANamesake) }

func aResultIsNotWrittenToANamesake(t *testing.T, b *bench) {
	t.Helper()
	b.cloud.After = once("Create", b.replace)
	started := time.Now()
	b.mustPass()
	if v := b.get(); len(v.Annotations) != 0 || len(v.Status.Conditions) != 0 {
		t.Errorf("the namesake inherited: %v %+v", v.Annotations, v.Status)
	}
	if n := len(b.ledger.Objects()); n > 3 {
		t.Errorf("%d requests in %s: a foreign uid was tried again and again: %s", n, time.Since(started),
			test.SummarizeRequests(b.ledger.Objects()))
	}
}
