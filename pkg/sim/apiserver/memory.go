package apiserver

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Memory makes servers that learn from one another: what one of them made of a
// request, all others make of the same request without working it out again. That is
// for whoever runs thousands of servers through nearly the same history. Make one
// with NewMemory. It may be used concurrently.
type Memory struct {
	scheme *runtime.Scheme

	mu     sync.RWMutex
	kinds  map[schema.GroupVersionKind]*kind
	byType map[reflect.Type]*kind
	lately map[deed]*version
	before map[deed]*version // what was lately, when there was less of it
}

// So many deeds are remembered as lately, and no more than twice as many in all. Each
// is a version of an object, of a few thousand bytes.
const remembered = 2048

// A deed is a request that succeeded, with everything that its result depends on.
// The versions of a server are the results of deeds, so that a pointer says as much as
// what is in them.
type deed struct {
	kind *kind
	old  *version // nil if there was none
	key  types.NamespacedName
	verb string
	by   manager
	how  types.PatchType
	data string
	at   string // the time, where it is stored
	last int64  // resourceVersion
	uid  string // that the next object gets
	less string // the part that is ignored
}

// NewMemory returns a Memory for servers of the kinds in the scheme.
func NewMemory(scheme *runtime.Scheme) *Memory {
	return &Memory{
		scheme: scheme, kinds: map[schema.GroupVersionKind]*kind{}, byType: map[reflect.Type]*kind{}, lately: map[deed]*version{},
	}
}

// Server returns an empty Server, as New does.
func (m *Memory) Server(c clock.PassiveClock) *Server {
	return &Server{
		memory: m, clock: c, own: map[schema.GroupVersionKind]*kind{}, objects: map[id]*version{},
		last: 100, // others have written before
	}
}

// once does what do does, or what came of it before.
func (s *Server) once(d deed, do func() (*version, error)) (*version, error) {
	d.last, d.less = s.last, s.ignored
	if v := s.memory.recall(d); v != nil {
		if v != d.old {
			s.store(v, d.key)
		}

		return v, nil
	}
	v, err := do()
	if err == nil {
		s.memory.remember(d, v)
	}

	return v, err
}

func (m *Memory) recall(d deed) *version {
	m.mu.RLock()
	v := m.lately[d]
	if v != nil {
		m.mu.RUnlock()

		return v
	}
	v = m.before[d]
	m.mu.RUnlock()
	if v != nil {
		m.remember(d, v)
	}

	return v
}

func (m *Memory) remember(d deed, v *version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lately) >= remembered {
		m.lately, m.before = map[deed]*version{}, m.lately
	}
	m.lately[d] = v
}

func (m *Memory) kindOf(gvk schema.GroupVersionKind) (*kind, error) {
	m.mu.RLock()
	k := m.kinds[gvk]
	m.mu.RUnlock()
	if k != nil {
		return k, nil
	}
	o, err := m.scheme.New(gvk)
	if err != nil {
		return nil, errors.Wrap(err, "cannot serve the kind")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kinds[gvk] == nil {
		typ := reflect.TypeOf(o).Elem()
		m.kinds[gvk] = newKind(gvk, typ)
		m.byType[typ] = m.kinds[gvk]
	}

	return m.kinds[gvk], nil
}

// kindFor returns the kind of a typed object.
func (m *Memory) kindFor(o runtime.Object) (*kind, error) {
	m.mu.RLock()
	k := m.byType[reflect.TypeOf(o).Elem()]
	m.mu.RUnlock()
	if k != nil {
		return k, nil
	}
	gvks, _, err := m.scheme.ObjectKinds(o)
	if err != nil {
		return nil, errors.Wrap(err, "cannot tell the kind")
	}

	return m.kindOf(gvks[0])
}

func newKind(gvk schema.GroupVersionKind, typ reflect.Type) *kind {
	k := &kind{
		gvk: gvk, typ: typ, decoder: decoderOf(typ, 0),
		resource: schema.GroupResource{Group: gvk.Group, Resource: plural(gvk.Kind)},
		custom:   strings.Contains(gvk.Group, ".") && !strings.HasSuffix(gvk.Group, ".k8s.io"),
	}
	if f, ok := typ.FieldByName("Status"); ok {
		k.hasStatus = strings.HasPrefix(f.Tag.Get("json"), "status")
	}

	return k
}
