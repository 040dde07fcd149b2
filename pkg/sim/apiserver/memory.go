package apiserver

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Memory creates servers that share results. When one of them has computed the result of a request, all others reuse
// it for the same request. It is for running thousands of servers through nearly the same history. Use NewMemory. Its
// methods may be called concurrently.
type Memory struct {
	scheme *runtime.Scheme

	mu     sync.RWMutex
	kinds  map[schema.GroupVersionKind]*kind
	byType map[reflect.Type]*kind
	recent map[cachedWrite]*version
	before map[cachedWrite]*version // what was recent, when there was less of it
}

// remembered is the number of results that are kept as recent. At most twice as many results are kept. Each is a
// version of an object, with a few thousand bytes.
const remembered = 2048

// A cachedWrite is a request that succeeded, with everything that its result depends on. Every version of a server is
// the result of such a request, so a pointer to a version identifies its content.
type cachedWrite struct {
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
		scheme: scheme, kinds: map[schema.GroupVersionKind]*kind{}, byType: map[reflect.Type]*kind{},
		recent: map[cachedWrite]*version{},
	}
}

// Server returns an empty Server that shares the results of the Memory. The server reads the time from c.
func (m *Memory) Server(c clock.PassiveClock) *Server {
	return &Server{
		memory: m, clock: c, own: map[schema.GroupVersionKind]*kind{}, objects: map[id]*version{},
		last: 100, // others have written before
	}
}

// once returns the result of do, or the cached result of the same request.
func (s *Server) once(d cachedWrite, do func() (*version, error)) (*version, error) {
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

func (m *Memory) recall(d cachedWrite) *version {
	m.mu.RLock()
	v := m.recent[d]
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

func (m *Memory) remember(d cachedWrite, v *version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.recent) >= remembered {
		m.recent, m.before = map[cachedWrite]*version{}, m.recent
	}
	m.recent[d] = v
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
	resource := schema.GroupResource{Group: gvk.Group, Resource: plural(gvk.Kind)}

	return &kind{Kind: apicore.NewKind(gvk, resource, typ), typ: typ, decoder: decoderOf(typ, 0)}
}
