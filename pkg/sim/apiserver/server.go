package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Server is a simulated API server. Use New, or Memory.Server. Its methods and its clients may be used concurrently.
type Server struct {
	memory *Memory
	clock  clock.PassiveClock

	mu      sync.Mutex
	own     map[schema.GroupVersionKind]*kind // that are other than those of the memory
	objects map[id]*version
	shared  bool  // objects are those of a Snapshot, too
	last    int64 // resourceVersion
	uids    int
	salt    uint32
	names   int
	log     []Change
	behind  client.Client // answers, if it is not nil
	ignored string        // the part of objects that writes do not change
}

// A ChangeType is the kind of a Change.
type ChangeType string

// The types of changes.
const (
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
)

// A Change is the event of a write. Its objects are shared and must not be modified.
type Change struct {
	Type    ChangeType
	Kind    schema.GroupVersionKind
	Key     types.NamespacedName
	At      time.Time
	Version int64

	// Object is the written object, or the last state of a deleted object.
	Object client.Object
	// Old is the previous state of the object. It is nil if the object was created.
	Old client.Object
	// Image is the JSON of the object.
	Image map[string]any

	stored *version // nil of what was deleted
}

type id struct {
	kind schema.GroupVersionKind
	key  types.NamespacedName
}

// A kind has the properties of a kind of objects.
type kind struct {
	apicore.Kind

	typ     reflect.Type
	drops   [][]string
	decoder decoder // of typ
}

// A version is one stored state of an object. It is immutable.
type version struct {
	kind  *kind
	image map[string]any
	typed client.Object // the image, decoded; shared

	by     manager                // who wrote it
	before *version               // nil for the first
	owned  atomic.Pointer[owners] // nil until the first call
}

// New returns an empty Server for the kinds in the scheme. It reads the times that it stores from the clock. A kind is
// a custom resource if its group contains a dot and does not end in .k8s.io. If the Go type of a kind has a field
// status, that field is the subresource status.
func New(scheme *runtime.Scheme, c clock.PassiveClock) *Server {
	return NewMemory(scheme).Server(c)
}

// Drop makes the server behave as if the CRD of a kind did not have a field. path is the path of the field, such as
// "status.size". The server removes the field from every write, without an error.
func (s *Server) Drop(gvk schema.GroupVersionKind, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.kindOf(gvk)
	if err != nil {
		return err
	}
	other := *k
	other.drops = append(slices.Clone(k.drops), strings.Split(path, "."))
	s.own[gvk] = &other

	return nil
}

// Ignore makes the server ignore changes of a part of an object, without an error, as an admission webhook, a policy or
// a proxy may do. part is "annotations", "finalizers" or "status". Every write keeps the stored content of that part.
// Ignore("") ends it.
func (s *Server) Ignore(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignored = part
}

// Salt changes the UIDs of later objects: servers with different salts assign different UIDs. The default is 0.
func (s *Server) Salt(salt uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.salt = salt
}

// Changes returns the changes that follow the first since changes, in order. Pass the number of changes that the caller
// has read already. The result is shared and must not be modified.
func (s *Server) Changes(since int) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.log[since:]
}

// Stored returns the stored object, or nil. The result is shared and must not be modified.
func (s *Server) Stored(gvk schema.GroupVersionKind, key types.NamespacedName) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.objects[id{gvk, key}]
	if v == nil {
		return nil
	}

	return v.typed
}

func (s *Server) kindOf(gvk schema.GroupVersionKind) (*kind, error) {
	if k := s.own[gvk]; k != nil {
		return k, nil
	}

	return s.memory.kindOf(gvk)
}

// kindFor returns the kind of a typed object.
func (s *Server) kindFor(o runtime.Object) (*kind, error) {
	k, err := s.memory.kindFor(o)
	if err == nil && s.own[k.GVK] != nil {
		k = s.own[k.GVK]
	}

	return k, err
}

func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"):
		return name + "es"
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	default:
		return name + "s"
	}
}

// commit stores an image as the next version of an object. It sets the version in the metadata of the image, which must
// not be shared.
func (s *Server) commit(k *kind, key types.NamespacedName, image map[string]any, by manager) (*version, error) {
	if !finished(image) { // what goes is not stored again
		apicore.Metadata(image)["resourceVersion"] = strconv.FormatInt(s.last+1, 10)
	}
	typed, err := k.decode(image)
	if err != nil {
		return nil, k.Invalid(key.Name, field.TypeInvalid(nil, "", err.Error()))
	}
	v := &version{kind: k, image: image, typed: typed, by: by, before: s.objects[id{k.GVK, key}]}
	s.store(v, key)

	return v, nil
}

// store makes a version the current one.
func (s *Server) store(v *version, key types.NamespacedName) {
	at := id{v.kind.GVK, key}
	s.last++
	change := Change{Type: Added, Kind: v.kind.GVK, Key: key, At: s.clock.Now(), Version: s.last, Object: v.typed,
		Image: v.image, stored: v}
	if v.before != nil {
		change.Type, change.Old = Modified, v.before.typed
	} else {
		s.uids++
	}
	if finished(v.image) {
		change.Type = Deleted
		delete(s.unshared(), at)
	} else {
		s.unshared()[at] = v
	}
	s.log = append(s.log, change)
}

// unshared returns the map of objects for a change, after a copy if a snapshot shares the map.
func (s *Server) unshared() map[id]*version {
	if s.shared {
		s.objects, s.shared = maps.Clone(s.objects), false
	}

	return s.objects
}

// remove removes an object.
func (s *Server) remove(v *version, key types.NamespacedName) {
	s.last++
	delete(s.unshared(), id{v.kind.GVK, key})
	s.log = append(s.log, Change{
		Type: Deleted, Kind: v.kind.GVK, Key: key, At: s.clock.Now(), Version: s.last, Object: v.typed, Old: v.typed,
		Image: v.image,
	})
}

// Purge removes an object even if it has finalizers. A real server does so if the object had no finalizer when its
// deletion began. Purge does nothing if the object does not exist.
func (s *Server) Purge(gvk schema.GroupVersionKind, key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.objects[id{gvk, key}]
	if v == nil {
		return
	}
	if s.behind != nil && s.purgeBehind(v) != nil {
		return
	}
	s.remove(v, key)
}

// finished returns whether a deleted object has no finalizers left.
func finished(image map[string]any) bool {
	meta := apicore.Metadata(image)
	keep, _ := meta["finalizers"].([]any)

	return meta["deletionTimestamp"] != nil && len(keep) == 0
}

// nextUID returns the UID for the next created object.
func (s *Server) nextUID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012d", s.salt, s.uids+1)
}

// into copies the version into o, which belongs to the caller. It is of the type of the kind, or unstructured.
func (v *version) into(o client.Object) error {
	if u, ok := o.(*unstructured.Unstructured); ok {
		u.Object = runtime.DeepCopyJSON(v.image)
		u.SetGroupVersionKind(v.kind.GVK)

		return nil
	}
	from := reflect.ValueOf(v.typed.DeepCopyObject()).Elem()
	to := reflect.ValueOf(o).Elem()
	if from.Type() != to.Type() {
		return errors.Errorf("cannot read a %s into a %T", v.kind.GVK.Kind, o)
	}
	to.Set(from)

	return nil
}

func encode(o any) ([]byte, error) {
	data, err := json.Marshal(o)

	return data, errors.Wrap(err, "cannot encode")
}

func (s *Server) timestamp() string {
	return metav1.NewTime(s.clock.Now()).UTC().Format(time.RFC3339)
}
