package reference

import (
	"context"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

var _ client.Reader = &Recorder{}

// A Recorder is a client.Reader for one pass of one owner. What is read with it is
// watched from then on, so a provider needs to be allowed to list and watch it.
// Secrets and ConfigMaps are never watched: to read them is an error. Give it a
// reader that reads from the cache of the Tracker's Source, and the watch is the
// one that the cache has already.
//
// It may be used concurrently if its reader may.
type Recorder struct {
	tracker *Tracker
	owner   types.NamespacedName
	reader  client.Reader
	pass    uint64

	self atomic.Pointer[Referent] // who the owner is, told by a resolver
	done atomic.Bool
}

// Get reads an object, and has the owner woken when it is created, changed or
// deleted.
func (r *Recorder) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	gvk, err := r.watchable(obj)
	if err != nil {
		return err
	}

	e := edge{gvk: gvk, key: key}
	if scopeOf(r.reader, gvk) == scopeCluster {
		e.key.Namespace = ""
	}
	if err := r.note(e, obj, nil); err != nil {
		return err
	}

	err = r.reader.Get(ctx, key, obj, opts...)
	r.watch(gvk, err)
	if err == nil {
		r.saw(e, obj.GetResourceVersion())
	}

	return err
}

// List reads a list, and has the owner woken when something in its namespace
// begins or ceases to match its label selector, or matches it and changes. Field
// selectors are not looked at.
func (r *Recorder) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := r.watchable(list)
	if err != nil {
		return err
	}

	o := client.ListOptions{}
	o.ApplyOptions(opts)

	e := edge{gvk: gvk, list: true}
	if scopeOf(r.reader, gvk) != scopeCluster {
		e.key.Namespace = o.Namespace
	}
	if o.LabelSelector != nil {
		e.selector = o.LabelSelector.String()
	}
	if err := r.note(e, list, o.LabelSelector); err != nil {
		return err
	}

	err = r.reader.List(ctx, list, opts...)
	r.watch(gvk, err)

	return err
}

// Done ends the pass. What it read, and nothing else, is what the owner is woken
// for from now on; if nothing was read, nothing wakes it. The error is that of the
// pass as it came, or nil: it says whom the owner waits for. What is read later
// with the Recorder is not remembered.
func (r *Recorder) Done(err error) {
	r.done.Store(true)

	t := r.tracker
	t.mu.Lock()
	defer t.mu.Unlock()

	o := t.owners[r.owner]
	if o == nil {
		return
	}

	// A pass that began later keeps what it has read so far.
	t.retain(r.owner, o, func(pass uint64) bool { return pass >= r.pass })

	self, to := waitsIn(err)
	if len(o.edges) == 0 || self == (Referent{}) {
		to = nil
	}
	t.wait(o, self, to)
}

// watchable returns the kind of what is read, of a list that of its items, or an
// error if it must not be watched.
func (r *Recorder) watchable(o runtime.Object) (schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(o, r.tracker.scheme)
	if err != nil {
		return gvk, errors.Wrap(err, "cannot tell which kind to watch")
	}
	if _, isList := o.(client.ObjectList); isList {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	if gvk.Group == corev1.GroupName && (gvk.Kind == "Secret" || gvk.Kind == "ConfigMap") {
		return gvk, errors.Errorf("cannot resolve a reference by reading a %s: what is read here is watched, and %ss are not; read it where it is used, with a client that has no cache", gvk.Kind, gvk.Kind)
	}

	return gvk, nil
}

// note remembers an edge, unless the pass is over.
func (r *Recorder) note(e edge, read runtime.Object, s labels.Selector) error {
	t := r.tracker
	t.mu.Lock()
	defer t.mu.Unlock()

	if r.done.Load() {
		return nil
	}

	o, err := t.note(r.owner, r.pass, e, read, s)
	if err != nil {
		return err
	}
	if self := r.self.Load(); self != nil {
		o.self = *self
	}

	return nil
}

// watch begins to watch the kind wherever it is not watched yet. A kind that is
// not served is not: whoever reads it comes again.
func (r *Recorder) watch(gvk schema.GroupVersionKind, err error) {
	if gone.Unserved(err) {
		return
	}

	r.tracker.mu.Lock()
	defer r.tracker.mu.Unlock()
	r.tracker.watchKind(gvk)
}

// saw remembers which version of an object was read: an event about the same
// version has nothing new to tell.
func (r *Recorder) saw(e edge, version string) {
	r.tracker.mu.Lock()
	defer r.tracker.mu.Unlock()

	if k := r.tracker.kinds[e.gvk]; k != nil {
		if _, known := k.objects[e.key][r.owner]; known {
			k.objects[e.key][r.owner] = version
		}
	}
}

// exampleOf returns an object of the form in which the kind is read, which is the
// form in which a cache has it.
func exampleOf(gvk schema.GroupVersionKind, read runtime.Object, scheme *runtime.Scheme) (client.Object, error) {
	var out client.Object

	switch read.(type) {
	case runtime.Unstructured:
		out = &unstructured.Unstructured{}
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		out = &metav1.PartialObjectMetadata{}
	default:
		o, err := scheme.New(gvk)
		if err != nil {
			return nil, errors.Wrap(err, "cannot tell what to watch")
		}
		typed, ok := o.(client.Object)
		if !ok {
			return nil, errors.Errorf("cannot watch a %T", o)
		}
		out = typed
	}
	out.GetObjectKind().SetGroupVersionKind(gvk)

	return out, nil
}
