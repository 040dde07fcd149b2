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

// A Recorder is a client.Reader that records the reads of one pass of one owner. The Tracker watches the kinds that the
// Recorder has read, so the provider needs permission to list and watch these kinds. Secrets and ConfigMaps are never
// watched, so a read of a Secret or a ConfigMap returns an error. The wrapped reader should read from the cache that is
// passed to Tracker.Source. Then no second watch is needed besides the watch of this cache.
//
// A Recorder is safe for concurrent use if its reader is.
type Recorder struct {
	tracker *Tracker
	owner   types.NamespacedName
	reader  client.Reader
	pass    uint64

	self atomic.Pointer[Referent] // the owner, set by a resolver
	done atomic.Bool
}

// Get reads an object. From then on the owner is enqueued when the object is created, changed or deleted.
func (r *Recorder) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	gvk, err := r.watchable(obj)
	if err != nil {
		return err
	}

	e := readKey{gvk: gvk, key: key}
	if scopeOf(r.reader, gvk) == scopeCluster {
		e.key.Namespace = ""
	}
	if err := r.recordRead(e, obj, nil); err != nil {
		return err
	}

	err = r.reader.Get(ctx, key, obj, opts...)
	r.ensureWatch(gvk, err)
	if err == nil {
		r.recordVersion(e, obj.GetResourceVersion())
	}

	return err
}

// List reads a list. From then on the owner is enqueued when an object in the namespace starts or stops matching the
// label selector, and when a matching object changes. Field selectors do not restrict which objects enqueue the owner.
func (r *Recorder) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := r.watchable(list)
	if err != nil {
		return err
	}

	o := client.ListOptions{}
	o.ApplyOptions(opts)

	e := readKey{gvk: gvk, list: true}
	if scopeOf(r.reader, gvk) != scopeCluster {
		e.key.Namespace = o.Namespace
	}
	if o.LabelSelector != nil {
		e.selector = o.LabelSelector.String()
	}
	if err := r.recordRead(e, list, o.LabelSelector); err != nil {
		return err
	}

	err = r.reader.List(ctx, list, opts...)
	r.ensureWatch(gvk, err)

	return err
}

// Done ends the pass. The argument err is the unchanged error of the pass, or nil. This error contains the referents
// for which the owner waits. After Done, the owner is enqueued only for changes of the objects and lists that this pass
// has read. Reads with the Recorder after Done are not recorded.
func (r *Recorder) Done(err error) {
	r.done.Store(true)

	t := r.tracker
	t.mu.Lock()
	defer t.mu.Unlock()

	o := t.owners[r.owner]
	if o == nil {
		return
	}

	// Keep the reads of a pass that has started later.
	t.pruneReads(r.owner, o, func(pass uint64) bool { return pass >= r.pass })

	self, to := dependenciesIn(err)
	if len(o.reads) == 0 || self == (Referent{}) {
		to = nil
	}
	t.setDependencies(o, self, to)
}

// watchable returns the kind of an object, or of the items of a list. It returns an error if the kind must not be
// watched.
func (r *Recorder) watchable(o runtime.Object) (schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(o, r.tracker.scheme)
	if err != nil {
		return gvk, errors.Wrap(err, "cannot determine the kind to watch")
	}
	if _, isList := o.(client.ObjectList); isList {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	if gvk.Group == corev1.GroupName && (gvk.Kind == "Secret" || gvk.Kind == "ConfigMap") {
		return gvk, errors.Errorf(
			"cannot resolve a reference by reading a %s: "+
				"what is read here is watched, and %ss are not; read it where it is used, with a client that has no cache",
			gvk.Kind, gvk.Kind)
	}

	return gvk, nil
}

// recordRead records a read, unless Done was called.
func (r *Recorder) recordRead(e readKey, read runtime.Object, s labels.Selector) error {
	t := r.tracker
	t.mu.Lock()
	defer t.mu.Unlock()

	if r.done.Load() {
		return nil
	}

	o, err := t.recordRead(r.owner, r.pass, e, read, s)
	if err != nil {
		return err
	}
	if self := r.self.Load(); self != nil {
		o.self = *self
	}

	return nil
}

// ensureWatch starts a watch of the kind, unless it is already watched. It does not watch a kind that is not served,
// because the owner retries the read.
func (r *Recorder) ensureWatch(gvk schema.GroupVersionKind, err error) {
	if gone.Unserved(err) {
		return
	}

	r.tracker.mu.Lock()
	defer r.tracker.mu.Unlock()
	r.tracker.watchKind(gvk)
}

// recordVersion records the version of an object that was read. An event for the same version enqueues nothing.
func (r *Recorder) recordVersion(e readKey, version string) {
	r.tracker.mu.Lock()
	defer r.tracker.mu.Unlock()

	if k := r.tracker.kinds[e.gvk]; k != nil {
		if _, known := k.objects[e.key][r.owner]; known {
			k.objects[e.key][r.owner] = version
		}
	}
}

// exampleOf returns an object of the form in which the kind is read: typed, unstructured
// or metadata only. The cache has one informer per form.
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
			return nil, errors.Wrap(err, "cannot make an object of the kind to watch")
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
