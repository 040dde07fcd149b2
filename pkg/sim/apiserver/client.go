package apiserver

import (
	"context"
	"reflect"
	"slices"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Request describes a request of a client to a Server.
type Request struct {
	Verb        string // get, list, create, update, patch, apply or delete
	Subresource string // status, or nothing
	Kind        schema.GroupVersionKind
	Key         types.NamespacedName
}

// String returns verb and kind, such as "patch Volume/status".
func (r Request) String() string {
	name := r.Verb + " " + r.Kind.Kind
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}

	return name
}

// Around intercepts the requests of a client. The function calls do to send the request to the server. If it does not
// call do, the request does not reach the server, and the returned error is the response.
type Around func(ctx context.Context, r Request, do func() error) error

// A Client is a client.Client of a Server. Use [Server.Client]. It supports typed and unstructured objects, on the main
// resource and on the subresource status. Anything else returns an error that says what is not supported. Create and
// Patch support dry runs. A dry run returns the version and the UID that would have been stored. A dry run of any other
// operation is an error.
type Client struct {
	server *Server
	around Around
	name   string
}

var _ client.Client = &Client{}

// Client returns a client that reads and writes the server directly.
func (s *Server) Client() *Client {
	return &Client{server: s, name: "client", around: func(ctx context.Context, _ Request, do func() error) error {
		if err := ctx.Err(); err != nil {
			return err
		}

		return do()
	}}
}

// Around returns a client whose requests go through around.
func (c *Client) Around(around Around) *Client {
	out := *c
	out.around = around

	return &out
}

// As returns a client with another name as field manager.
func (c *Client) As(name string) *Client {
	out := *c
	out.name = name

	return &out
}

// ask sends a request about one object while it holds the lock of the server. If there is a server behind, relay sends
// the request to it instead.
func (c *Client) ask(
	ctx context.Context, verb, sub string, o client.Object,
	relay func(context.Context, client.Client) error, do func(*kind, types.NamespacedName) (*version, error),
) error {
	c.server.mu.Lock()
	k, err := c.server.kindFor(o)
	c.server.mu.Unlock()
	if err != nil {
		return err
	}
	if sub != "" && (sub != "status" || !k.HasStatus) {
		return kerrors.NewNotFound(k.Resource, o.GetName())
	}
	key := client.ObjectKeyFromObject(o)

	return c.around(ctx, Request{Verb: verb, Subresource: sub, Kind: k.GVK, Key: key}, func() error {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		if c.server.behind != nil {
			return c.server.relay(ctx, k, o, relay)
		}
		v, err := do(k, key)
		if err != nil || v == nil {
			return err
		}

		return v.into(o)
	})
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetName(key.Name)
	o.SetNamespace(key.Namespace)

	return c.ask(ctx, "get", "", o, func(ctx context.Context, c client.Client) error { return c.Get(ctx, key, o) },
		c.server.get)
}

// List reads the objects of a kind, selected by namespace and labels.
func (c *Client) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(o)
	if options.FieldSelector != nil || options.Limit > 0 || options.Continue != "" {
		return errors.New("the simulated server lists all at once, by namespace and labels only")
	}
	gvks, _, err := c.server.memory.scheme.ObjectKinds(list)
	if err != nil {
		return err
	}
	gvk := gvks[0]
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")

	return c.around(ctx, Request{Verb: "list", Kind: gvk, Key: types.NamespacedName{Namespace: options.Namespace}},
		func() error {
			c.server.mu.Lock()
			defer c.server.mu.Unlock()
			var found []runtime.Object
			_, bare := list.(*unstructured.UnstructuredList)
			for at, v := range c.server.objects {
				if at.kind == gvk && (options.Namespace == "" || options.Namespace == at.key.Namespace) &&
					(options.LabelSelector == nil || options.LabelSelector.Matches(labelsOf(v.typed))) {
					found = append(found, v.listed(bare))
				}
			}
			slices.SortFunc(found, func(a, b runtime.Object) int { return strings.Compare(keyOf(a), keyOf(b)) })

			return meta.SetList(list, found)
		})
}

// listed returns a copy of the object of a version for a list, which is unstructured if bare is set.
func (v *version) listed(bare bool) runtime.Object {
	if !bare {
		return v.typed.DeepCopyObject()
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(v.image)}
	u.SetGroupVersionKind(v.kind.GVK)

	return u
}

type labelSet map[string]string

func (l labelSet) Has(key string) bool   { _, ok := l[key]; return ok }
func (l labelSet) Get(key string) string { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) {
	value, ok := l[key]

	return value, ok
}

func labelsOf(o client.Object) labelSet { return o.GetLabels() }

func keyOf(o runtime.Object) string {
	a, err := meta.Accessor(o)
	if err != nil {
		return ""
	}

	return a.GetNamespace() + "/" + a.GetName()
}

// Create stores a new object. A dry run stores nothing.
func (c *Client) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	options := (&client.CreateOptions{}).ApplyOptions(opts)
	data, err := encode(o)
	if err != nil {
		return err
	}

	relay := func(ctx context.Context, c client.Client) error {
		if len(options.DryRun) > 0 {
			return nil // a store refuses dry runs
		}

		return c.Create(ctx, o)
	}

	return c.ask(ctx, "create", "", o, relay, func(k *kind, key types.NamespacedName) (*version, error) {
		return c.server.unless(len(options.DryRun) > 0,
			func() (*version, error) { return c.server.post(k, key, data, manager{name: c.name}) })
	})
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) > 0 {
		return errNoDryRun
	}

	return c.update(ctx, "", o)
}

func (c *Client) update(ctx context.Context, sub string, o client.Object) error {
	data, err := encode(o)
	if err != nil {
		return err
	}
	by := manager{name: c.name, sub: sub}

	relay := func(ctx context.Context, c client.Client) error {
		if sub != "" {
			return c.SubResource(sub).Update(ctx, o)
		}

		return c.Update(ctx, o)
	}

	return c.ask(ctx, "update", sub, o, relay, func(k *kind, key types.NamespacedName) (*version, error) {
		old, err := c.server.get(k, key)
		if err != nil {
			return nil, err
		}

		return c.server.once(cachedWrite{kind: k, old: old, key: key, verb: "update", by: by, data: string(data)},
			func() (*version, error) {
				return c.server.replace(old, key, data, by)
			})
	})
}

// Delete removes an object, or sets its deletion timestamp if it has finalizers.
func (c *Client) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	if len(options.DryRun) > 0 {
		return errNoDryRun
	}

	relay := func(ctx context.Context, c client.Client) error { return c.Delete(ctx, o, opts...) }

	return c.ask(ctx, "delete", "", o, relay, func(k *kind, key types.NamespacedName) (*version, error) {
		old, err := c.server.get(k, key)
		if err != nil {
			return nil, err
		}

		return nil, c.server.delete(old, key, options.Preconditions)
	})
}

// DeleteAllOf returns an error: it is not simulated.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errors.New("the simulated server does not delete collections")
}

// Patch changes an object with a merge patch, a JSON patch or server-side apply. A dry run of a merge patch or a JSON
// patch changes nothing.
func (c *Client) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	options := (&client.PatchOptions{}).ApplyOptions(opts)

	return c.patch(ctx, "", o, patch, options)
}

func (c *Client) patch(ctx context.Context, sub string, o client.Object, patch client.Patch,
	options *client.PatchOptions) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	by := manager{name: c.name, sub: sub}
	if options.FieldManager != "" {
		by.name = options.FieldManager
	}
	relay := func(ctx context.Context, c client.Client) error {
		if len(options.DryRun) > 0 {
			return nil // as above
		}
		same := client.RawPatch(patch.Type(), data)
		if sub != "" {
			return c.SubResource(sub).Patch(ctx, o, same, &client.SubResourcePatchOptions{PatchOptions: *options})
		}

		return c.Patch(ctx, o, same, options)
	}
	if patch.Type() == types.ApplyPatchType {
		if len(options.DryRun) > 0 {
			return errNoDryRun
		}
		by.applied = true

		return c.ask(ctx, "apply", sub, o, relay, func(k *kind, key types.NamespacedName) (*version, error) {
			return c.server.apply(k, key, data, by, options.Force != nil && *options.Force)
		})
	}

	return c.ask(ctx, "patch", sub, o, relay, func(k *kind, key types.NamespacedName) (*version, error) {
		old, err := c.server.get(k, key)
		if err != nil {
			return nil, err
		}

		return c.server.unless(len(options.DryRun) > 0, func() (*version, error) {
			return c.server.once(cachedWrite{kind: k, old: old, key: key, verb: "patch", by: by, how: patch.Type(),
				data: string(data)},
				func() (*version, error) {
					return c.server.patch(old, key, patch.Type(), data, by)
				})
		})
	})
}

// Apply is server-side apply with a typed configuration.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("the simulated server takes apply configurations only as patches: use client.Client.Patch")
}

// Status returns a client of the subresource status.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource returns a client of a subresource. The only subresource is status.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return &subresource{c, name}
}

// Scheme returns the scheme of the server.
func (c *Client) Scheme() *runtime.Scheme { return c.server.memory.scheme }

// RESTMapper returns nil: the simulated server has no discovery.
func (c *Client) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor returns the kind that the scheme has for the object.
func (c *Client) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	gvks, _, err := c.server.memory.scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}

	return gvks[0], nil
}

// IsObjectNamespaced returns whether the namespace of the given object is set.
func (c *Client) IsObjectNamespaced(o runtime.Object) (bool, error) {
	a, ok := o.(metav1.Object)
	if !ok {
		return false, errors.Errorf("%v is no object", reflect.TypeOf(o))
	}

	return a.GetNamespace() != "", nil
}
