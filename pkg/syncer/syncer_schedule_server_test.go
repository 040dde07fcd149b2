package syncer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A modelServer is an in-memory API server with features that the fake client lacks
// (UIDs, preconditions, applies that only create) and a cache whose staleness the test
// controls.
type modelServer struct {
	client.Client // the stored state

	name    string
	uids    *int
	down    bool
	cache   map[types.NamespacedName]*corev1.ConfigMap
	pending []types.NamespacedName // objects that the cache is behind with, in order

	written func(verb string, before, after *corev1.ConfigMap) // nil object: none is stored
}

var errDown = apierrors.NewServiceUnavailable("the API server is down")

func newModelServer(name string, uids *int) *modelServer {
	s := &modelServer{
		Client: clientfake.NewClientBuilder().WithScheme(modelScheme()).WithTypeConverters(modelConverters()...).
			WithReturnManagedFields().WithGlobalResourceVersionCounter().Build(),
		name: name, uids: uids,
		cache: map[types.NamespacedName]*corev1.ConfigMap{}, written: func(string, *corev1.ConfigMap, *corev1.ConfigMap) {},
	}
	if err := s.Client.Create(context.Background(), kubeSystem(s.uid())); err != nil {
		panic(err)
	}
	return s
}

// modelScheme returns a scheme with only the kinds that a model stores. The fake client
// creates a REST mapper of the whole scheme for every write, which took most of the time
// of a schedule with all kinds of client-go.
func modelScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(
		corev1.SchemeGroupVersion, &corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Namespace{}, &corev1.NamespaceList{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	return s
}

// modelConverters returns the default converters of the fake client, without the scheme
// of all kinds of client-go that it would create for each model.
func modelConverters() []managedfields.TypeConverter {
	return []managedfields.TypeConverter{
		applyconfigurations.NewTypeConverter(clientgoscheme.Scheme), managedfields.NewDeducedTypeConverter(),
	}
}

func (s *modelServer) uid() types.UID {
	*s.uids++
	return types.UID(fmt.Sprintf("%s-%d", s.name, *s.uids))
}

// clusterUID returns the UID of the kube-system namespace.
func (s *modelServer) clusterUID() types.UID {
	ns := &corev1.Namespace{}
	if err := s.Client.Get(context.Background(), client.ObjectKeyFromObject(kubeSystem("")), ns); err != nil {
		panic(err)
	}
	return ns.UID
}

func (s *modelServer) stored(key types.NamespacedName) *corev1.ConfigMap {
	m := &corev1.ConfigMap{}
	if err := s.Client.Get(context.Background(), key, m); err != nil {
		return nil
	}
	return m
}

func (s *modelServer) all() map[types.NamespacedName]*corev1.ConfigMap {
	list := &corev1.ConfigMapList{}
	if err := s.Client.List(context.Background(), list); err != nil {
		panic(err)
	}
	out := map[types.NamespacedName]*corev1.ConfigMap{}
	for i := range list.Items {
		out[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
	}
	return out
}

// Get reads from the API server.
func (s *modelServer) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	if s.down {
		return errDown
	}
	return s.Client.Get(ctx, key, obj, opts...)
}

func (s *modelServer) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return s.write("create", obj, func() error {
		obj.SetUID(s.uid())
		return s.Client.Create(ctx, obj, opts...)
	})
}

func (s *modelServer) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return s.write("update", obj, func() error { return s.Client.Update(ctx, obj, opts...) })
}

func (s *modelServer) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	return s.write("patch", obj, func() error { return s.Client.Patch(ctx, obj, patch, opts...) })
}

func (s *modelServer) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := client.DeleteOptions{}
	o.ApplyOptions(opts)
	if now := s.stored(client.ObjectKeyFromObject(obj)); now != nil && o.Preconditions != nil &&
		o.Preconditions.UID != nil && *o.Preconditions.UID != now.UID {
		return newConflict(obj.GetName())
	}
	return s.write("delete", obj, func() error { return s.Client.Delete(ctx, obj, opts...) })
}

// Apply handles UIDs and versions as an API server does.
func (s *modelServer) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	obj := ac.(client.Object)
	now := s.stored(client.ObjectKeyFromObject(obj))
	switch {
	case now == nil && obj.GetUID() != "", now != nil && obj.GetResourceVersion() != "" &&
		obj.GetResourceVersion() != now.ResourceVersion:
		return newConflict(obj.GetName())
	case now != nil && obj.GetUID() != "" && obj.GetUID() != now.UID:
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, obj.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), obj.GetUID(), "field is immutable"),
		})
	}
	return s.write("apply", obj, func() error {
		if err := s.Client.Apply(ctx, ac, opts...); err != nil || now != nil {
			return err
		}
		created := s.stored(client.ObjectKeyFromObject(obj))
		created.UID = s.uid()
		err := s.Client.Update(ctx, created)
		obj.SetUID(created.UID)
		obj.SetResourceVersion(created.ResourceVersion)
		return err
	})
}

func newConflict(name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, name, errors.New("the object was modified"))
}

func (s *modelServer) write(verb string, obj client.Object, do func() error) error {
	if s.down {
		return errDown
	}
	key := client.ObjectKeyFromObject(obj)
	before := s.stored(key)
	if err := do(); err != nil {
		return err
	}
	s.written(verb, before, s.stored(key))
	s.pending = append(s.pending, key)
	return nil
}

// relist makes the cache as stale as after a restart or a swap: everything that differs
// is pending.
func (s *modelServer) relist() {
	s.pending = nil
	now := s.all()
	for key := range s.cache {
		if now[key] == nil {
			s.pending = append(s.pending, key)
		}
	}
	for key, m := range now {
		if s.cache[key] == nil || s.cache[key].ResourceVersion != m.ResourceVersion || s.cache[key].UID != m.UID {
			s.pending = append(s.pending, key)
		}
	}
	slices.SortFunc(s.pending, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}

// deliver updates one object in the cache and returns it, or the last one if it is gone.
func (s *modelServer) deliver() (obj *corev1.ConfigMap, gone bool) {
	key := s.pending[0]
	s.pending = s.pending[1:]
	if now := s.stored(key); now != nil {
		s.cache[key] = now
		return now.DeepCopy(), false
	}
	last := s.cache[key]
	delete(s.cache, key)
	return last, true
}

// A cachedClient reads from the cache.
type cachedClient struct{ *modelServer }

func (c cachedClient) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	m := c.cache[key]
	if m == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	m.DeepCopyInto(obj.(*corev1.ConfigMap))
	return nil
}

// List looks names up as the index does.
func (c cachedClient) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	for _, m := range c.cache {
		if want := o.FieldSelector.Requirements()[0].Value; hostName(client.ObjectKeyFromObject(m)).Name == want {
			list.(*corev1.ConfigMapList).Items = append(list.(*corev1.ConfigMapList).Items, *m)
		}
	}
	return nil
}

// A modelManager is the manager of a modelServer.
type modelManager struct {
	*fake.Manager

	server *modelServer
}

func newModelManager(s *modelServer) *modelManager {
	return &modelManager{Manager: &fake.Manager{Client: cachedClient{s}, Scheme: s.Scheme()}, server: s}
}

func (m *modelManager) GetAPIReader() client.Reader { return m.server }
