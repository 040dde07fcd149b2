package serviceprovider

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A lister is a reader whose lists are what a test says.
type lister struct {
	client.Reader

	list func(l client.ObjectList) error
}

func (l lister) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	return l.list(into)
}

// A namer is a client that takes every object for a Foo.
type namer struct{ client.Client }

func (namer) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return group.WithKind("Foo"), nil
}

// TestLists: objects are listed in the type of their list, or without one if it has none. What
// does not belong there is an error.
func TestLists(t *testing.T) {
	known := fake.NewClientBuilder().WithScheme(scheme).Build()
	listless := runtime.NewScheme()
	listless.AddKnownTypes(group, &Foo{})
	unlisted := fake.NewClientBuilder().WithScheme(listless).Build()
	foo := Foo{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	for name, tc := range map[string]struct {
		client client.Client
		list   func(l client.ObjectList) error
		want   []*Foo
		err    string
	}{
		"typed": {known, func(l client.ObjectList) error { l.(*FooList).Items = []Foo{foo}; return nil }, []*Foo{&foo}, ""},
		"loose": {unlisted, func(l client.ObjectList) error {
			loose := l.(*unstructured.UnstructuredList)
			if got := loose.GroupVersionKind(); got != group.WithKind("FooList") {
				return errors.Errorf("want a FooList, got %s", got)
			}
			loose.Items = []unstructured.Unstructured{{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "b"}}}}

			return nil
		}, []*Foo{&foo}, ""},
		"broken": {unlisted, func(l client.ObjectList) error {
			l.(*unstructured.UnstructuredList).Items = []unstructured.Unstructured{{Object: map[string]any{"metadata": "none"}}}

			return nil
		}, nil, "cannot read a list: cannot restore struct from: string"},
		"not listed": {known, func(client.ObjectList) error { return boom }, nil, "cannot list objects of kind Foo: boom"},
	} {
		got, err := listOf(t.Context(), lister{list: tc.list}, tc.client, newFoo)
		if err == nil {
			err = errors.New("")
		}
		if diff := cmp.Diff(tc.want, got); tc.err == "" && diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if err.Error() != tc.err {
			t.Errorf("%s: want %q, got %q", name, tc.err, err)
		}
	}

	unknown := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	if _, err := listOf(t.Context(), lister{}, unknown, newFoo); !errors.Is(err, errNoKind) || !strings.Contains(err.Error(), "serviceprovider.Foo") {
		t.Errorf("want that the type is not known, got %v", err)
	}

	// Its objects are of another type.
	full := lister{list: func(l client.ObjectList) error { l.(*FooList).Items = []Foo{foo}; return nil }}
	if _, err := listOf(t.Context(), full, namer{known}, newFooConfig); err == nil || err.Error() != "cannot read a list: a list of kind Foo holds *serviceprovider.Foo" {
		t.Errorf("got %v", err)
	}
}

// TestFanOutOfChanges: an object that has changed lets others be looked at, with the lowest
// priority that there is for it.
func TestFanOutOfChanges(t *testing.T) {
	f := fanOut{func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	}}
	q := priorityqueue.New[reconcile.Request]("changes")
	defer q.ShutDown()
	f.Update(t.Context(), ctrlevent.UpdateEvent{ObjectOld: newFoo(), ObjectNew: &Foo{ObjectMeta: metav1.ObjectMeta{Name: "new", ResourceVersion: "2"}}}, q)
	if got, priority, _ := q.GetWithPriority(); got.Name != "new" || priority != handler.LowPriority {
		t.Errorf("got %s with priority %d", got, priority)
	}
	plain := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer plain.ShutDown()
	f.Create(t.Context(), ctrlevent.CreateEvent{Object: newFoo()}, plain)
	if plain.Len() != 1 {
		t.Error("not woken by what was made")
	}
}

// A counted source tells the same configuration for every object, and for how many it was asked.
type counted struct {
	answer

	asked *int
}

func (c counted) ConfigFor(ctx context.Context, f *Foo) (*FooConfig, error) {
	*c.asked++

	return c.answer.ConfigFor(ctx, f)
}

// TestUsersAreKnown: for an object that uses a configuration nobody is asked whether it would.
func TestUsersAreKnown(t *testing.T) {
	w := newFakeWorld(t)
	var asked int
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ConfigSource(counted{answer{w.config, nil}, &asked})
	}
	w.steady(w.create("user"))
	w.create("new")
	asked = 0
	if got := w.r.enqueueUsers(t.Context(), w.config); len(got) != 2 || asked != 1 {
		t.Errorf("want both, and one question, got %v and %d", got, asked)
	}
}

// TestConfigsAreReadInParallel: a source is not locked while it reads, and is free again after
// it could not. Without a cache there is nothing to watch.
func TestConfigsAreReadInParallel(t *testing.T) {
	w := newFakeWorld(t)
	var failure error
	var locked int
	var s *selected[*Foo, *FooConfig]
	c := interceptor.NewClient(w.API.(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if !s.mu.TryLock() {
			locked++

			return nil
		}
		s.mu.Unlock()
		if failure != nil {
			return failure
		}

		return c.List(ctx, l, o...)
	}})
	s = SelectedConfig(clusters.NewTestClusterFromClient("platform", c), func(_ *Foo, all []*FooConfig) (*FooConfig, error) { return all[0], nil }).(*selected[*Foo, *FooConfig])
	w.Create(&FooConfig{ObjectMeta: metav1.ObjectMeta{Name: "any", Namespace: "somewhere"}, Image: "v1"})
	for _, failure = range []error{nil, boom, boom} {
		if got, err := s.ConfigFor(t.Context(), newFoo()); err != nil || got.Image != "v1" {
			t.Errorf("%v: got %+v, %v", failure, got, err)
		}
		if !s.mu.TryLock() {
			t.Fatalf("%v: it is still locked", failure)
		}
		s.mu.Unlock()
	}
	if locked != 0 {
		t.Errorf("%d reads were locked", locked)
	}
	if got := s.Source(nil); got != nil {
		t.Errorf("want no source, got %v", got)
	}
	if !s.concerns(&FooConfig{ObjectMeta: metav1.ObjectMeta{Name: "any"}}) {
		t.Error("each configuration may be the one that is picked")
	}
}

// TestConfigsWithoutATypeOfList: configurations whose list has no type are read without one, each
// into an object of its own.
func TestConfigsWithoutATypeOfList(t *testing.T) {
	listless := runtime.NewScheme()
	listless.AddKnownTypes(group, &FooConfig{})
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(listless).Build(), interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, l client.ObjectList, _ ...client.ListOption) error {
		for _, image := range []string{"v1", "v2"} {
			l.(*unstructured.UnstructuredList).Items = append(l.(*unstructured.UnstructuredList).Items, unstructured.Unstructured{Object: map[string]any{"image": image}})
		}

		return nil
	}})
	var images []string
	source := SelectedConfig(clusters.NewTestClusterFromClient("platform", c), func(_ *Foo, all []*FooConfig) (*FooConfig, error) {
		for _, one := range all {
			images = append(images, one.Image)
		}

		return nil, nil
	})
	if _, err := source.ConfigFor(t.Context(), newFoo()); !errors.Is(err, ErrConfigNotFound) {
		t.Errorf("nothing was picked: got %v", err)
	}
	if diff := cmp.Diff([]string{"v1", "v2"}, images); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWhatIsGoneHasMetadata: of a Secret that is gone the domain is told its name, UID and
// labels, and nothing of what was in it or in the answer.
func TestWhatIsGoneHasMetadata(t *testing.T) {
	w := newFakeWorld(t)
	w.between(interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, k client.ObjectKey, o client.Object, _ ...client.GetOption) error {
		o.(*corev1.Secret).Data = map[string][]byte{"half": []byte("read")}

		return kerrors.NewNotFound(corev1.Resource("secrets"), k.Name)
	}})
	w.restart()
	var told client.Object
	live := w.r.live(reference{empty: func() client.Object { return &corev1.Secret{} }, to: func(_ context.Context, o client.Object) []reconcile.Request {
		told = o

		return nil
	}})
	meta := metav1.ObjectMeta{Namespace: "secrets", Name: "gone", UID: "7", Labels: map[string]string{"for": "foos"}}
	changed := &metav1.PartialObjectMetadata{ObjectMeta: *meta.DeepCopy()}
	changed.Annotations = map[string]string{"more": "than that"}
	live(t.Context(), changed)
	if diff := cmp.Diff(&corev1.Secret{ObjectMeta: meta}, told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
