package managed

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestRetryWriteBack verifies that a failing write back is retried five times a second, and reported after five
// seconds and in the end.
func TestRetryWriteBack(t *testing.T) {
	for name, tc := range map[string]struct {
		succeeds time.Duration // 0: at once; negative: never
		tries    int
		reported []time.Duration
	}{
		"at once":   {0, 1, nil},
		"soon":      {3 * time.Second, 16, nil},
		"later":     {10 * time.Second, 51, []time.Duration{5 * time.Second}},
		"never":     {-1, 125, []time.Duration{5 * time.Second, 25 * time.Second}},
		"in no end": {24 * time.Second, 121, []time.Duration{5 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				began, tries := time.Now(), 0
				var reported []time.Duration
				retry(ctx, func() bool {
					tries++
					<-time.After(time.Nanosecond) // so that what ends at the same time has ended

					return tc.succeeds >= 0 && time.Since(began) >= tc.succeeds
				}, func() { reported = append(reported, time.Since(began).Truncate(100*time.Millisecond)) })
				if diff := cmp.Diff(tc.reported, reported); diff != "" || tries < tc.tries-1 || tries > tc.tries {
					t.Errorf("%d tries, want %d; told, -want, +got:\n%s", tries, tc.tries, diff)
				}
			})
		})
	}
}

// An askedReader notes how it is asked.
type askedReader struct {
	Cluster
	client.Reader

	scheme *runtime.Scheme
	within []time.Duration
	lists  []client.ListOptions
}

func (c *askedReader) GetAPIReader() client.Reader { return c }
func (c *askedReader) GetScheme() *runtime.Scheme  { return c.scheme }

func (c *askedReader) asked(ctx context.Context) {
	until, _ := ctx.Deadline()
	if ctx.Err() != nil { // it is over already
		until = time.Now()
	}
	c.within = append(c.within, time.Until(until))
}

func (c *askedReader) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	c.asked(ctx)

	return errors.New("not now")
}

func (c *askedReader) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	c.asked(ctx)
	c.lists = append(c.lists, *(&client.ListOptions{}).ApplyOptions(o))
	if list.SetContinue(""); len(c.lists) == 1 {
		list.SetContinue("next")
	}

	return nil
}

// A listOfManaged is one of the kind of package fake.
type listOfManaged struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []fake.Managed
}

func (l *listOfManaged) DeepCopyObject() runtime.Object { c := *l; return &c }

// TestAnAPIServerThatIsAskedAfterARestore verifies that lists have 500 objects per page, and five seconds per
// request.
func TestAnAPIServerThatIsAskedAfterARestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := fake.GVK(&fake.Managed{})
		c := &askedReader{scheme: runtime.NewScheme()}
		c.scheme.AddKnownTypeWithName(of, &fake.Managed{})
		c.scheme.AddKnownTypeWithName(of.GroupVersion().WithKind(of.Kind+"List"), &listOfManaged{})
		r := madeWith()
		r.cluster = c
		if err := r.list(t.Context(), "apps", map[types.NamespacedName]resource.Managed{}); err != nil {
			t.Fatal(err)
		}
		d := &missingRecord{key: types.NamespacedName{Name: "data"}, state: &objectState{}}
		if r.writeRecord(t.Context(), d) || d.err == nil || d.done || d.current != nil {
			t.Errorf("what cannot be read is %+v", d)
		}
		want := []client.ListOptions{{Namespace: "apps", Limit: 500}, {Namespace: "apps", Limit: 500, Continue: "next"}}
		if diff := cmp.Diff(want, c.lists); diff != "" {
			t.Errorf("lists, -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second}, c.within); diff != "" {
			t.Errorf("how long answers are waited for, -want, +got:\n%s", diff)
		}
	})
}

// TestAKindWithoutAList verifies that a kind without a registered list type is an error.
func TestAKindWithoutAList(t *testing.T) {
	of := fake.GVK(&fake.Managed{})
	scheme := runtime.NewScheme()
	r := madeWith()
	r.cluster = &askedReader{scheme: scheme}
	r.objects.Of(types.NamespacedName{Name: "data"}, "uid-1").Seen = objectstate.CreationRef{Name: "vol-1"}
	for _, want := range []string{"cannot list the objects of the API server: cannot list a kind whose list is not " +
		"registered: ", "which is no list"} {
		if all, err := r.missingRecords(t.Context()); all != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d objects, error %v, want %s", len(all), err, want)
		}
		scheme.AddKnownTypeWithName(of.GroupVersion().WithKind(of.Kind+"List"), &fake.Managed{})
	}
}

// TestAPassIsUnderWayBeforeItAsksForRestores verifies that a pass is registered before it checks for a restore, so
// that the write back waits for it.
func TestAPassIsUnderWayBeforeItAsksForRestores(t *testing.T) {
	d := controller.NewRestoreDetector()
	r := madeWith(WithRestoreDetector(d))
	d.Seen(schema.GroupKind{}, "874", "219")
	of := types.NamespacedName{Name: "data"}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: of}); err != nil ||
		r.inFlight.of == nil || r.inFlight.has(of) {
		t.Errorf("it ended with %v; passes under way: %v", err, r.inFlight.of)
	}
}

// A listOfNothing has no items, as no list of the API has.
type listOfNothing struct {
	metav1.TypeMeta
	metav1.ListMeta
}

func (l *listOfNothing) DeepCopyObject() runtime.Object { c := *l; return &c }

// TestAListThatCannotBeRead verifies that a failed list does not count as empty.
func TestAListThatCannotBeRead(t *testing.T) {
	of := fake.GVK(&fake.Managed{})
	c := &askedReader{scheme: runtime.NewScheme()}
	c.scheme.AddKnownTypeWithName(of.GroupVersion().WithKind(of.Kind+"List"), &listOfNothing{})
	r := madeWith()
	r.cluster = c
	if err := r.list(t.Context(), "apps", map[types.NamespacedName]resource.Managed{}); err == nil ||
		len(c.lists) != 1 {
		t.Errorf("it ended with %v after %d pages", err, len(c.lists))
	}
}

// TestWhatIsKnownOfTheLastCreation verifies that an unwritten creation precedes an observed earlier one.
func TestWhatIsKnownOfTheLastCreation(t *testing.T) {
	unwritten := map[string]string{
		meta.AnnotationKeyExternalName:  "vol-2",
		meta.AnnotationKeyCreateAttempt: second + "/succeeded",
	}
	o := remembering(objectstate.Resource{Seen: objectstate.CreationRef{Mark: first + "/succeeded", Name: "vol-1"}},
		objectstate.Attempts{Unwritten: unwritten})
	if name, mark, anything := o.known(); name != "vol-2" || mark != second+"/succeeded" || !anything {
		t.Errorf("known is %s of %s, anything is %t", name, mark, anything)
	}
}
