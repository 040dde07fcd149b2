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

// fixedLister is a reader whose List a test sets.
type fixedLister struct {
	client.Reader

	list func(l client.ObjectList) error
}

func (l fixedLister) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	return l.list(into)
}

// fooKindClient is a client that returns the kind Foo for every object.
type fooKindClient struct{ client.Client }

func (fooKindClient) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return group.WithKind("Foo"), nil
}

// TestListObjects verifies that objects are listed typed, or unstructured without a list type, and
// that an item of another type is an error.
func TestListObjects(t *testing.T) {
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
		"typed": {known, func(l client.ObjectList) error { l.(*FooList).Items = []Foo{foo}; return nil },
			[]*Foo{&foo}, ""},
		"loose": {unlisted, func(l client.ObjectList) error {
			loose := l.(*unstructured.UnstructuredList)
			if got := loose.GroupVersionKind(); got != group.WithKind("FooList") {
				return errors.Errorf("want a FooList, got %s", got)
			}
			loose.Items = []unstructured.Unstructured{
				{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "b"}}},
			}

			return nil
		}, []*Foo{&foo}, ""},
		"broken": {unlisted, func(l client.ObjectList) error {
			l.(*unstructured.UnstructuredList).Items = []unstructured.Unstructured{{Object: map[string]any{"metadata": "none"}}}

			return nil
		}, nil, "cannot read a list: cannot restore struct from: string"},
		"not listed": {known, func(client.ObjectList) error { return boom }, nil,
			"cannot list objects of kind Foo: boom"},
	} {
		got, err := listObjects(t.Context(), fixedLister{list: tc.list}, tc.client, newFoo)
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
	if _, err := listObjects(t.Context(), fixedLister{}, unknown, newFoo); !errors.Is(err, errUnknownKind) ||
		!strings.Contains(err.Error(), "serviceprovider.Foo") {
		t.Errorf("want that the type is not known, got %v", err)
	}

	// The items have another type.
	full := fixedLister{list: func(l client.ObjectList) error { l.(*FooList).Items = []Foo{foo}; return nil }}
	if _, err := listObjects(t.Context(), full, fooKindClient{known}, newFooConfig); err == nil ||
		err.Error() != "cannot read a list: a list of kind Foo holds *serviceprovider.Foo" {
		t.Errorf("got %v", err)
	}
}

// TestFanOutLowPriority verifies that a changed object requeues others with the lowest priority.
func TestFanOutLowPriority(t *testing.T) {
	f := fanOut{func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	}}
	q := priorityqueue.New[reconcile.Request]("changes")
	defer q.ShutDown()
	f.Update(t.Context(), ctrlevent.UpdateEvent{
		ObjectOld: newFoo(), ObjectNew: &Foo{ObjectMeta: metav1.ObjectMeta{Name: "new", ResourceVersion: "2"}},
	}, q)
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

// countingConfigSource returns one configuration for all objects and records the calls.
type countingConfigSource struct {
	fixedConfigSource

	asked *int
}

func (c countingConfigSource) ConfigFor(ctx context.Context, f *Foo) (*FooConfig, error) {
	*c.asked++

	return c.fixedConfigSource.ConfigFor(ctx, f)
}

// TestEnqueueUsersOfConfig verifies that the source is not called for an object known to use the
// configuration.
func TestEnqueueUsersOfConfig(t *testing.T) {
	w := newFakeWorld(t)
	var asked int
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ConfigSource(countingConfigSource{fixedConfigSource{w.config, nil}, &asked})
	}
	w.steady(w.create("user"))
	w.create("new")
	asked = 0
	if got := w.r.enqueueUsers(t.Context(), w.config); len(got) != 2 || asked != 1 {
		t.Errorf("want both, and one question, got %v and %d", got, asked)
	}
}

// TestConfigsAreReadInParallel verifies that a source holds no lock during a read, also after an
// error, and that it watches nothing without a cache.
func TestConfigsAreReadInParallel(t *testing.T) {
	w := newFakeWorld(t)
	var failure error
	var locked int
	var s *selectedConfig[*Foo, *FooConfig]
	c := interceptor.NewClient(w.API.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
			if !s.mu.TryLock() {
				locked++

				return nil
			}
			s.mu.Unlock()
			if failure != nil {
				return failure
			}

			return c.List(ctx, l, o...)
		},
	})
	s = SelectedConfig(clusters.NewTestClusterFromClient(
		"platform", c), func(_ *Foo, all []*FooConfig) (*FooConfig, error) {
		return all[0], nil
	}).(*selectedConfig[*Foo, *FooConfig])
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
	if !s.filter(&FooConfig{ObjectMeta: metav1.ObjectMeta{Name: "any"}}) {
		t.Error("each configuration may be the one that is picked")
	}
}

// TestUnstructuredConfigList verifies that configurations without a list type are read
// unstructured, each into its own object.
func TestUnstructuredConfigList(t *testing.T) {
	listless := runtime.NewScheme()
	listless.AddKnownTypes(group, &FooConfig{})
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(listless).Build(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, l client.ObjectList, _ ...client.ListOption) error {
			for _, image := range []string{"v1", "v2"} {
				l.(*unstructured.UnstructuredList).Items = append(
					l.(*unstructured.UnstructuredList).Items,
					unstructured.Unstructured{Object: map[string]any{"image": image}})
			}

			return nil
		},
	})
	var images []string
	source := SelectedConfig(clusters.NewTestClusterFromClient(
		"platform", c), func(_ *Foo, all []*FooConfig) (*FooConfig, error) {
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

// TestDeletedSecretHasMetadata verifies that the domain gets name, UID and labels of a deleted
// Secret and no data.
func TestDeletedSecretHasMetadata(t *testing.T) {
	w := newFakeWorld(t)
	w.intercept(interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, k client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			o.(*corev1.Secret).Data = map[string][]byte{"half": []byte("read")}

			return kerrors.NewNotFound(corev1.Resource("secrets"), k.Name)
		},
	})
	w.restart()
	var got client.Object
	live := w.r.mapReference(reference{
		newObject: func() client.Object { return &corev1.Secret{} },
		mapFunc: func(_ context.Context, o client.Object) []reconcile.Request {
			got = o

			return nil
		},
	})
	meta := metav1.ObjectMeta{Namespace: "secrets", Name: "gone", UID: "7", Labels: map[string]string{"for": "foos"}}
	changed := &metav1.PartialObjectMetadata{ObjectMeta: *meta.DeepCopy()}
	changed.Annotations = map[string]string{"more": "than that"}
	live(t.Context(), changed)
	if diff := cmp.Diff(&corev1.Secret{ObjectMeta: meta}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
