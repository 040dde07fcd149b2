package dryrun

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strconv"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Client reads with another client, and answers writes itself. Make one with NewClient. It is safe for concurrent
// use.
type Client struct {
	client.Reader // with what the session has

	stored client.Client
}

var _ client.Client = &Client{}

// NewClient returns a Client that reads with c. A list has only what is stored.
func NewClient(c client.Client) *Client {
	return &Client{Reader: NewReader(c, c), stored: c}
}

// A reader reads from the session first.
type reader struct {
	client.Reader

	kinds Kinds
}

// Kinds knows the kinds of objects. Every client.Client does.
type Kinds interface {
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
}

// NewReader returns a Reader that reads with r what the session does not have.
func NewReader(r client.Reader, kinds Kinds) client.Reader { return reader{r, kinds} }

// Get reads an object from the session, or with the other reader if the session does not have it.
func (r reader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	s := sessionOf(ctx)
	if s == nil {
		return r.Reader.Get(ctx, key, obj, opts...)
	}
	kind, err := r.kinds.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	switch o, known := s.find(id{kind, key}); {
	case !known:
		return r.Reader.Get(ctx, key, obj, opts...)
	case o == nil:
		return notFound(id{kind, key})
	default:
		return decode(o, obj)
	}
}

// Scheme returns the scheme of the other client.
func (c *Client) Scheme() *runtime.Scheme { return c.stored.Scheme() }

// GroupVersionKindFor returns the kind of an object.
func (c *Client) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return c.stored.GroupVersionKindFor(obj)
}

// IsObjectNamespaced reports whether the kind of an object is namespaced.
func (c *Client) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return c.stored.IsObjectNamespaced(obj)
}

// Create stores a new object in the session, with what the API server adds. The error is AlreadyExists if the object
// exists.
func (c *Client) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	s, kind, err := c.begin(ctx, obj)
	if err != nil {
		return err
	}
	if obj.GetName() == "" {
		obj.SetName(obj.GetGenerateName() + string(uuid.NewUUID())[:5])
	}
	of := id{kind, client.ObjectKeyFromObject(obj)}
	switch _, err := c.current(ctx, of, obj); {
	case err == nil:
		return kerrors.NewAlreadyExists(resource(kind), obj.GetName())
	case !gone.Answered(err, obj.GetName()):
		return err
	}
	o, err := encode(kind, obj)
	if err != nil {
		return err
	}
	o = mergepatch.Apply(o, map[string]any{"metadata": map[string]any{
		"uid": string(uuid.NewUUID()), "resourceVersion": "1", "generation": int64(1), "creationTimestamp": now(),
	}})
	s.put("create", of, nil, o)

	return decode(o, obj)
}

// Update replaces an object in the session, except for its status.
func (c *Client) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return c.change(ctx, "update", obj, replaced(obj, false))
}

// Patch applies a merge patch to an object in the session, except for its status. For another type of patch it returns
// ErrRefused.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.change(ctx, "patch", obj, patched(obj, patch, false))
}

// Delete removes an object from the session, or requests its deletion if it has finalizers.
func (c *Client) Delete(ctx context.Context, obj client.Object, _ ...client.DeleteOption) error {
	s, kind, err := c.begin(ctx, obj)
	if err != nil {
		return err
	}
	of := id{kind, client.ObjectKeyFromObject(obj)}
	before, err := c.current(ctx, of, obj)
	if err != nil {
		return err
	}
	after := before
	if metadata(before)["deletionTimestamp"] == nil {
		after = mergepatch.Apply(before, map[string]any{"metadata": map[string]any{"deletionTimestamp": now()}})
	}
	s.put("delete", of, before, after)

	return nil
}

// DeleteAllOf returns ErrRefused.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errors.Wrap(ErrRefused, "delete all of a kind")
}

// Apply returns ErrRefused, because only the API server knows the owners of fields.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.Wrap(ErrRefused, "server-side apply")
}

// begin returns the session of a write, and the kind of its object.
func (c *Client) begin(ctx context.Context, obj client.Object) (*Session, schema.GroupVersionKind, error) {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil, kind, err
	}
	s := sessionOf(ctx)
	if s == nil {
		return nil, kind, errors.Wrapf(ErrRefused, "%s %s", kind.Kind, client.ObjectKeyFromObject(obj))
	}

	return s, kind, nil
}

// current returns an object as it is now. Like is of its type.
func (c *Client) current(ctx context.Context, of id, like client.Object) (content, error) {
	if s := sessionOf(ctx); s != nil {
		if o, known := s.find(of); known {
			if o == nil {
				return nil, notFound(of)
			}

			return o, nil
		}
	}
	// a deep copy has the type of its original
	read := like.DeepCopyObject().(client.Object)
	if err := c.stored.Get(ctx, of.key, read); err != nil {
		return nil, err
	}

	return encode(of.kind, read)
}

// A changer returns an object with a change.
type changer func(of id, before content) (content, error)

// change changes an object in the session, and returns the result in obj.
func (c *Client) change(ctx context.Context, verb string, obj client.Object, by changer) error {
	s, kind, err := c.begin(ctx, obj)
	if err != nil {
		return err
	}
	of := id{kind, client.ObjectKeyFromObject(obj)}
	before, err := c.current(ctx, of, obj)
	if err != nil {
		return err
	}
	after, err := by(of, before)
	if err != nil {
		return err
	}
	after = versioned(before, after)
	s.put(verb, of, before, after)

	return decode(after, obj)
}

// replaced returns the changer of an update.
func replaced(obj client.Object, status bool) changer {
	return func(of id, before content) (content, error) {
		o, err := encode(of.kind, obj)
		if err != nil {
			return nil, err
		}
		if err := checkPreconditions(of, before, metadata(o)); err != nil {
			return nil, err
		}

		return composed(before, o, status), nil
	}
}

// patched returns the changer of a patch.
func patched(obj client.Object, patch client.Patch, status bool) changer {
	return func(of id, before content) (content, error) {
		if t := patch.Type(); t != types.MergePatchType {
			return nil, errors.Wrapf(ErrRefused, "a patch of type %s; use a merge patch", t)
		}
		data, err := patch.Data(obj)
		if err != nil {
			return nil, errors.Wrap(err, "cannot read a patch")
		}
		var body map[string]any
		if err := kjson.Unmarshal(data, &body); err != nil {
			return nil, errors.Wrap(err, "cannot read a patch")
		}
		if err := checkPreconditions(of, before, metadata(body)); err != nil {
			return nil, err
		}

		return composed(before, mergepatch.Apply(before, body), status), nil
	}
}

// composed returns the result of a write: the status of one, and everything else of the other.
func composed(before, after content, status bool) content {
	if status {
		before, after = after, before
	}
	o := mergepatch.Apply(after, nil)
	if delete(o, "status"); before["status"] != nil {
		o["status"] = before["status"]
	}

	return o
}

// versioned returns the result of a write with the version that the API server gives it. A write that changes nothing
// leaves the version unchanged.
func versioned(before, after content) content {
	m := metadata(before)
	same := map[string]any{"resourceVersion": m["resourceVersion"], "generation": m["generation"]}
	after = mergepatch.Apply(after, map[string]any{"metadata": same})
	if reflect.DeepEqual(before, after) {
		return after
	}
	version, _ := m["resourceVersion"].(string)
	if n, err := strconv.ParseUint(version, 10, 64); err == nil {
		same["resourceVersion"] = strconv.FormatUint(n+1, 10)
	}
	if generation, ok := m["generation"].(int64); ok && specChanged(before, after) {
		same["generation"] = generation + 1
	}

	return mergepatch.Apply(after, map[string]any{"metadata": same})
}

// specChanged reports whether anything differs besides metadata and status.
func specChanged(before, after content) bool {
	apart := []mergepatch.Path{{"metadata"}, {"status"}}

	return !reflect.DeepEqual(mergepatch.Without(before, apart), mergepatch.Without(after, apart))
}

// encode returns an object as JSON, with its kind.
func encode(kind schema.GroupVersionKind, obj client.Object) (content, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode an object")
	}
	var o content
	if err := kjson.Unmarshal(data, &o); err != nil {
		return nil, errors.Wrap(err, "cannot encode an object")
	}
	o["apiVersion"], o["kind"] = kind.GroupVersion().String(), kind.Kind

	return o, nil
}

// decode replaces an object by JSON.
func decode(o content, obj client.Object) error {
	data, err := json.Marshal(o)
	if err != nil {
		return errors.Wrap(err, "cannot decode an object")
	}
	reflect.ValueOf(obj).Elem().SetZero()

	return errors.Wrap(json.NewDecoder(bytes.NewReader(data)).Decode(obj), "cannot decode an object")
}
