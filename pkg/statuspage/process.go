package statuspage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// readTimeout is how long the caches may take. They are in memory, and only at the start of a process not filled.
const readTimeout = 2 * time.Second

// A fleet is all that the pages show, at one moment. It is shared by all pages, and only its rendered pages change.
type fleet struct {
	at          time.Time
	kinds       []kind
	objects     []object // sorted by state, namespace, name and kind
	byUID       map[types.UID]int
	connections []limit.State
	changes     []change
	leadership  leadership
	version     string // equal if nothing has changed that a reader needs to know at once
	rendered    rendered
}

// A kind is one kind of the provider.
type kind struct {
	name, group string
	problem     string // why its objects are not known; empty: they are
	counts      [states]int
	queue       []controller.QueueClass // nil: not known
	working     int
	inspection  inspection
}

// An inspection reads what a page shows of one object. managed.KindInspection implements it.
type inspection interface {
	LastPass(mg resource.Managed) (managed.LastPass, bool)
	NextReconcile(mg resource.Managed) (time.Time, bool)
}

// An object is one object.
type object struct {
	mg    resource.Managed
	kind  int
	state state
	cause commonv1.Condition
}

// A leadership says which process is the leader.
type leadership struct {
	elects  bool // there is leader election
	standby bool // this process is not the leader
	leader  string
}

// A process reads a fleet from the process of the provider.
type process struct {
	options   Options
	inspector *managed.Inspector
	changes   *changeLog
	elected   <-chan struct{}
}

// read returns what the process knows now.
func (p *process) read(ctx context.Context) *fleet {
	f := &fleet{at: time.Now(), leadership: p.leadership()}
	var total uint64
	f.changes, total = p.changes.read()
	if p.options.Limits != nil {
		f.connections = p.options.Limits.States()
	}
	for _, k := range p.inspector.Kinds() {
		gvk := k.Kind()
		one := kind{name: gvk.Kind, group: gvk.Group, inspection: k}
		one.queue, one.working, _ = k.Queue()
		listing, cancel := context.WithTimeout(ctx, readTimeout)
		objects, err := k.Objects(listing)
		cancel()
		switch {
		case errors.Is(err, managed.ErrNotRunning):
			one.problem = "its controller does not run in this process now"
		case err != nil:
			one.problem = "its cache is not filled yet"
		}
		f.add(one, objects)
	}
	f.complete(total)

	return f
}

// add adds a kind and its objects.
func (f *fleet) add(k kind, objects []resource.Managed) {
	for _, mg := range objects {
		s, cause := stateOf(mg)
		k.counts[s]++
		f.objects = append(f.objects, object{mg, len(f.kinds), s, cause})
	}
	f.kinds = append(f.kinds, k)
}

// complete sorts what was added, and sets the version.
func (f *fleet) complete(changes uint64) {
	slices.SortFunc(f.objects, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.state, b.state), strings.Compare(a.mg.GetNamespace(), b.mg.GetNamespace()),
			strings.Compare(a.mg.GetName(), b.mg.GetName()), cmp.Compare(a.kind, b.kind))
	})
	slices.SortFunc(f.connections, func(a, b limit.State) int { return strings.Compare(a.Name, b.Name) })
	f.byUID = make(map[types.UID]int, len(f.objects))
	for i, o := range f.objects {
		f.byUID[o.mg.GetUID()] = i
	}
	f.version = f.versionOf(changes)
}

// leadership returns which process is the leader, as far as this process knows.
func (p *process) leadership() leadership {
	l := leadership{elects: p.options.Lease != nil}
	select {
	case <-p.elected:
	default:
		l.standby = true
	}
	if l.elects {
		l.leader = p.options.Lease.Holder()
	}

	return l
}
