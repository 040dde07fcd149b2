package reference

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// The test's kinds: disks and instances in namespaces, networks outside of them.
var (
	group      = schema.GroupVersion{Group: "apps.example.org", Version: "v1"}
	diskGVK    = group.WithKind("Disk")
	instanceGK = schema.GroupKind{Group: group.Group, Kind: "Instance"}
	diskGK     = diskGVK.GroupKind()
	portGK     = schema.GroupKind{Group: group.Group, Kind: "Network"}
)

func testScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(group, &Disk{}, &DiskList{}, &Instance{}, &Network{}, &NetworkList{})
	metav1.AddToGroupVersion(s, group)

	return s
}

type Disk struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            DiskStatus `json:"status,omitempty"`
}

type DiskStatus struct {
	AtProvider map[string]string `json:"atProvider,omitempty"`
	Depth      float64           `json:"depth,omitempty"`
	Length     int64             `json:"length,omitempty"`
	Free       *bool             `json:"free,omitempty"`
	Posts      []Post            `json:"posts,omitempty"`

	Conditions []commonv1.Condition `json:"conditions,omitempty"`
}

type Post struct {
	Name string `json:"name"`
}

type DiskList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Disk `json:"items"`
}

type Instance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Network `json:"items"`
}

func (b *Disk) DeepCopyObject() runtime.Object        { return duplicate(b) }
func (l *DiskList) DeepCopyObject() runtime.Object    { return duplicate(l) }
func (b *Instance) DeepCopyObject() runtime.Object    { return duplicate(b) }
func (h *Network) DeepCopyObject() runtime.Object     { return duplicate(h) }
func (l *NetworkList) DeepCopyObject() runtime.Object { return duplicate(l) }

func duplicate[T any](in *T) *T {
	out := new(T)
	transcribe(in, out)

	return out
}

// transcribe writes the JSON of one object into another.
func transcribe(in, out any) {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		panic(err)
	}
}

// A setting changes an object of the test.
type setting func(o client.Object)

func external(name string) setting {
	return func(o client.Object) { meta.SetExternalName(o, name) }
}

func granted(to string) setting {
	return func(o client.Object) {
		meta.AddAnnotations(o, map[string]string{meta.AnnotationKeyAllowReferencesFrom: to})
	}
}

func labelled(key, value string) setting {
	return func(o client.Object) { meta.AddLabels(o, map[string]string{key: value}) }
}

func uid(u types.UID) setting {
	return func(o client.Object) { o.SetUID(u) }
}

func version(v string) setting {
	return func(o client.Object) { o.SetResourceVersion(v) }
}

func deleting(o client.Object) {
	o.SetFinalizers([]string{"apps.example.org/attached"})
	o.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
}

func controlledBy(u types.UID) setting {
	return func(o client.Object) {
		o.SetOwnerReferences([]metav1.OwnerReference{{UID: u, Name: "cluster", Controller: new(true)}})
	}
}

func disk(namespace, name string, s ...setting) *Disk {
	return with(&Disk{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, s)
}

func instance(namespace, name string, s ...setting) *Instance {
	return with(&Instance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, s)
}

func network(name string, s ...setting) *Network {
	return with(&Network{ObjectMeta: metav1.ObjectMeta{Name: name}}, s)
}

func with[T client.Object](o T, s []setting) T {
	for _, set := range s {
		set(o)
	}

	return o
}

// A world is an API server in memory that can only be read. It knows kinds and
// scopes, as a client does.
type world struct {
	scheme *runtime.Scheme

	mu      sync.Mutex
	objects []client.Object
	reads   []string
	err     error
}

func newWorld(o ...client.Object) *world {
	return &world{scheme: testScheme(), objects: o}
}

func (w *world) put(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for i, old := range w.objects {
		if reflect.TypeOf(old) == reflect.TypeOf(o) &&
			client.ObjectKeyFromObject(old) == client.ObjectKeyFromObject(o) {
			w.objects[i] = o

			return
		}
	}
	w.objects = append(w.objects, o)
}

func (w *world) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(out, w.scheme)
	if err != nil {
		return err
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = append(w.reads, "get "+gvk.Kind+" "+key.String())
	if w.err != nil {
		return w.err
	}

	for _, o := range w.objects {
		if w.kind(o) == gvk && o.GetName() == key.Name && o.GetNamespace() == key.Namespace {
			read(o, gvk, out)

			return nil
		}
	}

	return kerrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

func (w *world) List(_ context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, w.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	lo := client.ListOptions{}
	lo.ApplyOptions(opts)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = append(w.reads, "list "+gvk.Kind+" "+lo.Namespace)
	if w.err != nil {
		return w.err
	}

	var items []runtime.Object
	for _, o := range w.objects {
		if w.kind(o) != gvk || lo.Namespace != "" && o.GetNamespace() != lo.Namespace {
			continue
		}
		if _, ok := out.(*unstructured.UnstructuredList); ok {
			u := &unstructured.Unstructured{}
			read(o, gvk, u)
			items = append(items, u)

			continue
		}
		items = append(items, o.DeepCopyObject())
	}

	return apimeta.SetList(out, items)
}

// read writes an object into another one, which may be unstructured.
func read(o client.Object, gvk schema.GroupVersionKind, out client.Object) {
	o = o.DeepCopyObject().(client.Object)
	o.GetObjectKind().SetGroupVersionKind(gvk)
	transcribe(o, out)
}

func (w *world) kind(o client.Object) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(o, w.scheme)
	if err != nil {
		panic(err)
	}

	return gvk
}

func (w *world) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, w.scheme)
}

func (w *world) IsObjectNamespaced(o runtime.Object) (bool, error) {
	gvk, err := apiutil.GVKForObject(o, w.scheme)

	return gvk.Kind != "Network", err
}

// A plainReader hides that the reader under it is a client.
type plainReader struct{ client.Reader }
