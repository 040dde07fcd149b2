// Package dryrun answers writes to the API server without sending them. Begin a [Session] for each object, and make all
// requests with its context. The client of NewClient then applies each write to a copy of the object in the session.
// Later reads in the session have the result. So code that writes and reads goes on as it would with the API server,
// and nothing is changed.
//
// A write without a session, or that cannot be answered without the API server, is an error. It is not sent either.
package dryrun

import (
	"context"
	"slices"
	"strings"
	"sync"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// ErrRefused is the error of a write that was neither sent nor applied in a session.
var ErrRefused = errors.New("a dry run does not send this write to the API server")

// A Write is a write that was not sent.
type Write struct {
	// Verb is create, update, patch or delete.
	Verb string

	// Kind, Namespace and Name are those of the object.
	Kind, Namespace, Name string

	// Fields are the paths of the fields that the write changes, sorted, without their values. A create or a delete has
	// none.
	Fields []string
}

// maxFields is the maximum number of fields of a Write.
const maxFields = 32

// A Session has the writes that were made with its context. It is safe for concurrent use.
type Session struct {
	offer *Offer

	mu      sync.Mutex
	objects map[id]content // nil content: deleted
	writes  []Write
	read    []Identity // of the offer
}

// An Offer has objects that sessions share, as if they were stored. The zero value has none. It must not be changed
// while a session uses it.
type Offer struct{ objects map[id]content }

// An Identity names an object.
type Identity struct {
	Kind   schema.GroupVersionKind
	Object types.NamespacedName
}

// Add adds an object of the kind.
func (o *Offer) Add(kind schema.GroupVersionKind, obj client.Object) error {
	c, err := encode(kind, obj)
	if err != nil {
		return err
	}
	if o.objects == nil {
		o.objects = map[id]content{}
	}
	o.objects[id{kind, client.ObjectKeyFromObject(obj)}] = c

	return nil
}

// content is an object as JSON. It is never changed.
type content = map[string]any

// An id identifies an object.
type id struct {
	kind schema.GroupVersionKind
	key  client.ObjectKey
}

type sessionKey struct{}

// Begin returns a context with a new session. The session reads an object from the offer if it has none itself. The
// offer may be nil.
func Begin(ctx context.Context, offer *Offer) (context.Context, *Session) {
	s := &Session{offer: offer, objects: map[id]content{}}

	return context.WithValue(ctx, sessionKey{}, s), s
}

// sessionOf returns the session of a context, or nil.
func sessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)

	return s
}

// Store lets the session have an object of the kind, whether the API server has it or not. That is not a write.
func (s *Session) Store(kind schema.GroupVersionKind, obj client.Object) error {
	o, err := encode(kind, obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[id{kind, client.ObjectKeyFromObject(obj)}] = o

	return nil
}

// Writes returns the writes so far, in their order. A write that changes nothing is not one of them.
func (s *Session) Writes() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.writes)
}

// ReadOfOffer returns the objects of the offer that were read, in the order of the first reads.
func (s *Session) ReadOfOffer() []Identity {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.read)
}

// find returns what the session has of an object. A known object without content was deleted.
func (s *Session) find(of id) (o content, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, known = s.objects[of]; known || s.offer == nil {
		return o, known
	}
	if o, known = s.offer.objects[of]; known && !slices.Contains(s.read, Identity{of.kind, of.key}) {
		s.read = append(s.read, Identity{of.kind, of.key})
	}

	return o, known
}

// put stores the result of a write, and records the write if it changes anything. The API server removes an object
// that has nothing to wait for.
func (s *Session) put(verb string, of id, before, after content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[of] = after; removed(after) {
		s.objects[of] = nil
	}
	w := Write{Verb: verb, Kind: of.kind.Kind, Namespace: of.key.Namespace, Name: of.key.Name}
	if verb != "create" && verb != "delete" {
		if w.Fields = changed(before, after); len(w.Fields) == 0 {
			return
		}
	}
	s.writes = append(s.writes, w)
}

// serverFields are the fields that the API server changes by itself.
var serverFields = []mergepatch.Path{
	mergepatch.NewPath("metadata.resourceVersion"), mergepatch.NewPath("metadata.generation"),
	mergepatch.NewPath("metadata.managedFields"),
}

// changed returns the paths of the fields that differ, sorted.
func changed(before, after content) []string {
	var paths []string
	for _, leaf := range mergepatch.Leaves(mergepatch.Without(mergepatch.Between(before, after), serverFields)) {
		paths = append(paths, strings.Join(leaf, "."))
	}
	slices.Sort(paths)

	return paths[:min(len(paths), maxFields)]
}

// resource returns the resource of a kind for the text of an error.
func resource(kind schema.GroupVersionKind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind)}
}

func notFound(of id) error { return kerrors.NewNotFound(resource(of.kind), of.key.Name) }

// checkPreconditions returns a conflict if a write names another version or another UID than that of the object.
func checkPreconditions(of id, now content, written map[string]any) error {
	for _, field := range []string{"resourceVersion", "uid"} {
		want, _ := written[field].(string)
		if have, _ := metadata(now)[field].(string); want != "" && want != have {
			return kerrors.NewConflict(resource(of.kind), of.key.Name, errors.Errorf("the object has another %s", field))
		}
	}

	return nil
}

func metadata(o content) map[string]any {
	m, _ := o["metadata"].(map[string]any)

	return m
}

// removed reports whether the API server would remove an object after a write: its deletion was requested, and it has
// no finalizer.
func removed(o content) bool {
	m := metadata(o)
	finalizers, _ := m["finalizers"].([]any)

	return m["deletionTimestamp"] != nil && len(finalizers) == 0
}

// now returns the time as the API server writes it.
func now() string { return metav1.Now().UTC().Format("2006-01-02T15:04:05Z") }
