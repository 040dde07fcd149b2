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

// A Tracker knows what the objects of one controller, its owners, read of other
// objects while their references were resolved, and wakes them when that changes.
//
// It remembers of each owner what its last pass read, and nothing of an owner
// whose last pass read nothing: with the policy IfNotPresent that is every owner
// whose references are resolved, and it costs no memory and no wake-up. With
// Always an owner reads, and is woken, for as long as it exists. A tracker may be
// used concurrently.
type Tracker struct {
	scheme *runtime.Scheme
	graph  *Graph
	log    logging.Logger

	mu      sync.Mutex
	passes  uint64
	owners  map[types.NamespacedName]*owner
	kinds   map[schema.GroupVersionKind]*readers
	watches map[*watch]struct{}
}

// An owner is an object whose last pass read others.
type owner struct {
	edges map[edge]uint64 // what was read, and in which pass
	self  Referent        // who it is, once that was needed
	waits bool            // in the graph
}

// An edge is one thing that was read: an object, or a list.
type edge struct {
	gvk      schema.GroupVersionKind
	key      types.NamespacedName // of a list only the namespace, if any
	list     bool
	selector string
}

// readers are the owners that read a kind.
type readers struct {
	example client.Object
	objects map[types.NamespacedName]map[types.NamespacedName]string // object, owner: the version that was read
	lists   map[string]map[string]*listers                           // namespace, selector
}

type listers struct {
	selector labels.Selector
	owners   map[types.NamespacedName]struct{}
}

// A TrackerOption changes a Tracker.
type TrackerOption func(t *Tracker)

// WithGraph makes trackers share what they know of who waits for whom. The
// default is a graph of its own, which finds cycles within one kind.
func WithGraph(g *Graph) TrackerOption {
	return func(t *Tracker) { t.graph = g }
}

// WithLogger says where the tracker tells that it cannot watch a kind yet. The
// default is nowhere.
func WithLogger(l logging.Logger) TrackerOption {
	return func(t *Tracker) { t.log = l }
}

// NewTracker returns a tracker for one controller. The scheme knows the types
// that its owners read.
func NewTracker(scheme *runtime.Scheme, o ...TrackerOption) *Tracker {
	t := &Tracker{
		scheme:  scheme,
		graph:   NewGraph(),
		log:     logging.NewNopLogger(),
		owners:  map[types.NamespacedName]*owner{},
		kinds:   map[schema.GroupVersionKind]*readers{},
		watches: map[*watch]struct{}{},
	}
	for _, opt := range o {
		opt(t)
	}

	return t
}

// Reader returns a reader for one pass of the owner, that reads with r and
// remembers what was read. The pass ends with Recorder.Done.
func (t *Tracker) Reader(owner types.NamespacedName, r client.Reader) *Recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes++

	return &Recorder{tracker: t, owner: owner, reader: r, pass: t.passes}
}

// Forget forgets the owner, which is gone. A pass of it that is not done yet
// remembers what it reads from then on.
func (t *Tracker) Forget(owner types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if o := t.owners[owner]; o != nil {
		t.retain(owner, o, func(uint64) bool { return false })
		t.wait(o, Referent{}, nil)
	}
}

// note remembers, before the read, that the owner reads something: what changes
// in between is then told.
func (t *Tracker) note(name types.NamespacedName, pass uint64, e edge, read runtime.Object, s labels.Selector) (*owner, error) {
	o := t.owners[name]
	if o != nil {
		if before, known := o.edges[e]; known {
			o.edges[e] = max(before, pass)

			return o, nil
		}
	}

	k := t.kinds[e.gvk]
	if k == nil {
		example, err := exampleOf(e.gvk, read, t.scheme)
		if err != nil {
			return nil, err
		}
		k = &readers{objects: map[types.NamespacedName]map[types.NamespacedName]string{}, lists: map[string]map[string]*listers{}, example: example}
		t.kinds[e.gvk] = k
	}
	k.add(name, e, s)

	if o == nil {
		o = &owner{edges: map[edge]uint64{}}
		t.owners[name] = o
	}
	o.edges[e] = pass

	return o, nil
}

func (k *readers) add(name types.NamespacedName, e edge, s labels.Selector) {
	if !e.list {
		if k.objects[e.key] == nil {
			k.objects[e.key] = map[types.NamespacedName]string{}
		}
		k.objects[e.key][name] = ""

		return
	}

	in := k.lists[e.key.Namespace]
	if in == nil {
		in = map[string]*listers{}
		k.lists[e.key.Namespace] = in
	}
	if in[e.selector] == nil {
		in[e.selector] = &listers{selector: s, owners: map[types.NamespacedName]struct{}{}}
	}
	in[e.selector].owners[name] = struct{}{}
}

// retain forgets the edges of an owner that are not to be kept, and the owner if
// none is left.
func (t *Tracker) retain(name types.NamespacedName, o *owner, keep func(pass uint64) bool) {
	for e, pass := range o.edges {
		if keep(pass) {
			continue
		}
		delete(o.edges, e)

		k := t.kinds[e.gvk]
		k.remove(name, e)
		if len(k.objects) == 0 && len(k.lists) == 0 {
			delete(t.kinds, e.gvk)
		}
	}

	if len(o.edges) == 0 {
		delete(t.owners, name)
	}
}

func (k *readers) remove(name types.NamespacedName, e edge) {
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

// wait replaces what the owner waits for.
func (t *Tracker) wait(o *owner, self Referent, to []Referent) {
	if o.waits {
		t.graph.set(o.self, nil)
	}
	if o.waits = len(to) > 0; o.waits {
		o.self = self
		t.graph.set(self, to)
	}
}

// A change is an event about one object. Created and deleted objects have no
// older and no newer state.
type change struct {
	gvk      schema.GroupVersionKind
	old, new client.Object
}

// state returns the object as it is, or was last.
func (c change) state() client.Object {
	if c.new != nil {
		return c.new
	}

	return c.old
}

// concerned returns the owners that read what changed, each once.
func (t *Tracker) concerned(c change) map[types.NamespacedName]struct{} {
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

	// The controller watches its own objects, and minds which of their changes
	// are its own doing.
	if own := t.owners[key]; own != nil && own.self == (Referent{c.gvk.GroupKind(), key.Namespace, key.Name}) {
		delete(out, key)
	}

	return out
}

// match adds the owners that listed in the namespace with a selector that matches
// the object, or did.
func (k *readers) match(c change, namespace string, out map[types.NamespacedName]struct{}) {
	for _, l := range k.lists[namespace] {
		if !l.matches(c.old) && !l.matches(c.new) {
			continue
		}
		for name := range l.owners {
			out[name] = struct{}{}
		}
	}
}

func (l *listers) matches(o client.Object) bool {
	return o != nil && (l.selector == nil || l.selector.Matches(labels.Set(o.GetLabels())))
}
