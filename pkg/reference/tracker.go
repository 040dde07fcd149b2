package reference

import (
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A Tracker records which referents the objects of one controller read to resolve their references. These objects are
// called owners. When a referent changes, the Tracker enqueues the owners that have read this referent.
//
// The Tracker records only the reads of the last pass of each owner. With the policy IfNotPresent, an owner whose
// references are resolved reads nothing, so it uses no memory and is not enqueued. With the policy Always, an owner
// reads and is enqueued as long as it exists. A Tracker is safe for concurrent use.
type Tracker struct {
	scheme *runtime.Scheme
	graph  *Graph
	log    logging.Logger

	mu      sync.Mutex
	passes  uint64
	owners  map[types.NamespacedName]*owner
	kinds   map[schema.GroupVersionKind]*kindReaders
	sources map[*activeSource]struct{}
}

// An owner is an object whose last pass read other objects.
type owner struct {
	reads   map[readKey]uint64 // the reads, and the last pass of each
	self    Referent           // the owner as a referent, set by the resolver
	inGraph bool               // it waits
}

// A readKey identifies a read: of an object, or of a list.
type readKey struct {
	gvk      schema.GroupVersionKind
	key      types.NamespacedName // for a list only the namespace, if any
	list     bool
	selector string
}

// A kindReaders holds the owners that read a kind.
type kindReaders struct {
	example client.Object
	objects map[types.NamespacedName]map[types.NamespacedName]string // object, owner: version read
	lists   map[string]map[string]*listReaders                       // namespace, selector
}

// A listReaders holds the owners that have listed with a selector.
type listReaders struct {
	selector labels.Selector
	owners   map[types.NamespacedName]struct{}
}

// A TrackerOption configures a Tracker.
type TrackerOption func(t *Tracker)

// WithGraph sets a graph that several trackers share. By default each tracker has its own graph, and only cycles within
// one kind are found.
func WithGraph(g *Graph) TrackerOption {
	return func(t *Tracker) { t.graph = g }
}

// WithLogger sets the logger for errors of watches. By default these errors are not logged.
func WithLogger(l logging.Logger) TrackerOption {
	return func(t *Tracker) { t.log = l }
}

// NewTracker returns a tracker for one controller. The scheme must contain the types of all objects that are read to
// resolve references.
func NewTracker(scheme *runtime.Scheme, o ...TrackerOption) *Tracker {
	t := &Tracker{
		scheme:  scheme,
		graph:   NewGraph(),
		log:     logging.NewNopLogger(),
		owners:  map[types.NamespacedName]*owner{},
		kinds:   map[schema.GroupVersionKind]*kindReaders{},
		sources: map[*activeSource]struct{}{},
	}
	for _, opt := range o {
		opt(t)
	}

	return t
}

// Reader returns a Recorder for one pass of the owner. The Recorder reads with the argument r and records the reads.
// Call Recorder.Done at the end of the pass.
func (t *Tracker) Reader(owner types.NamespacedName, r client.Reader) *Recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes++

	return &Recorder{tracker: t, owner: owner, reader: r, pass: t.passes}
}

// Forget removes an owner. Call it when the owner does not exist any more. If a pass of the owner has not ended, the
// later reads of this pass are still recorded.
func (t *Tracker) Forget(owner types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if o := t.owners[owner]; o != nil {
		t.pruneReads(owner, o, func(uint64) bool { return false })
		t.setDependencies(o, Referent{}, nil)
	}
}

// recordRead records a read of the owner. Call it before the read, so that no change in between is missed.
func (t *Tracker) recordRead(
	name types.NamespacedName, pass uint64, e readKey, read runtime.Object, s labels.Selector,
) (*owner, error) {
	o := t.owners[name]
	if o != nil {
		if before, known := o.reads[e]; known {
			o.reads[e] = max(before, pass)

			return o, nil
		}
	}

	k := t.kinds[e.gvk]
	if k == nil {
		example, err := exampleOf(e.gvk, read, t.scheme)
		if err != nil {
			return nil, err
		}
		k = &kindReaders{
			objects: map[types.NamespacedName]map[types.NamespacedName]string{},
			lists:   map[string]map[string]*listReaders{},
			example: example,
		}
		t.kinds[e.gvk] = k
	}
	k.add(name, e, s)

	if o == nil {
		o = &owner{reads: map[readKey]uint64{}}
		t.owners[name] = o
	}
	o.reads[e] = pass

	return o, nil
}

// add adds a read of an owner.
func (k *kindReaders) add(name types.NamespacedName, e readKey, s labels.Selector) {
	if !e.list {
		if k.objects[e.key] == nil {
			k.objects[e.key] = map[types.NamespacedName]string{}
		}
		k.objects[e.key][name] = ""

		return
	}

	in := k.lists[e.key.Namespace]
	if in == nil {
		in = map[string]*listReaders{}
		k.lists[e.key.Namespace] = in
	}
	if in[e.selector] == nil {
		in[e.selector] = &listReaders{selector: s, owners: map[types.NamespacedName]struct{}{}}
	}
	in[e.selector].owners[name] = struct{}{}
}

// pruneReads removes the reads of an owner for which keep returns false. If no read is left, it removes the owner.
func (t *Tracker) pruneReads(name types.NamespacedName, o *owner, keep func(pass uint64) bool) {
	for e, pass := range o.reads {
		if keep(pass) {
			continue
		}
		delete(o.reads, e)

		k := t.kinds[e.gvk]
		k.remove(name, e)
		if len(k.objects) == 0 && len(k.lists) == 0 {
			delete(t.kinds, e.gvk)
		}
	}

	if len(o.reads) == 0 {
		delete(t.owners, name)
	}
}

// remove removes a read of an owner.
func (k *kindReaders) remove(name types.NamespacedName, e readKey) {
	if !e.list {
		delete(k.objects[e.key], name)
		if len(k.objects[e.key]) == 0 {
			delete(k.objects, e.key)
		}

		return
	}

	in := k.lists[e.key.Namespace]
	delete(in[e.selector].owners, name)
	if len(in[e.selector].owners) == 0 {
		delete(in, e.selector)
	}
	if len(in) == 0 {
		delete(k.lists, e.key.Namespace)
	}
}

// setDependencies replaces the referents for which the owner waits.
func (t *Tracker) setDependencies(o *owner, self Referent, to []Referent) {
	if o.inGraph {
		t.graph.set(o.self, nil)
	}
	if o.inGraph = len(to) > 0; o.inGraph {
		o.self = self
		t.graph.set(self, to)
	}
}

// A change is an event about one object. A created object has no old state. A deleted object has no new state.
type change struct {
	gvk      schema.GroupVersionKind
	old, new client.Object
}

// state returns the current state of the object, or the last state of a deleted object.
func (c change) state() client.Object {
	if c.new != nil {
		return c.new
	}

	return c.old
}

// affectedOwners returns the owners that have read the changed object or a list that contains it.
func (t *Tracker) affectedOwners(c change) map[types.NamespacedName]struct{} {
	o := c.state()
	key := client.ObjectKeyFromObject(o)

	t.mu.Lock()
	defer t.mu.Unlock()

	k := t.kinds[c.gvk]
	if k == nil {
		return nil
	}

	out := map[types.NamespacedName]struct{}{}
	for name, version := range k.objects[key] {
		if c.new == nil || version == "" || version != c.new.GetResourceVersion() {
			out[name] = struct{}{}
		}
	}
	k.match(c, "", out)
	if key.Namespace != "" {
		k.match(c, key.Namespace, out)
	}

	// The controller watches its own objects, and ignores the events of its own
	// writes.
	if own := t.owners[key]; own != nil && own.self == (Referent{c.gvk.GroupKind(), key.Namespace, key.Name}) {
		delete(out, key)
	}

	return out
}

// match adds the owners that have listed in the namespace with a selector, if the selector matches the object before or
// after the change.
func (k *kindReaders) match(c change, namespace string, out map[types.NamespacedName]struct{}) {
	for _, l := range k.lists[namespace] {
		if !l.matches(c.old) && !l.matches(c.new) {
			continue
		}
		for name := range l.owners {
			out[name] = struct{}{}
		}
	}
}

// matches reports whether the selector matches the object.
func (l *listReaders) matches(o client.Object) bool {
	return o != nil && (l.selector == nil || l.selector.Matches(labels.Set(o.GetLabels())))
}
