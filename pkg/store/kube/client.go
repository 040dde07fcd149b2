package kube

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A Client is a Kubernetes client for objects in stores. Each call is one request to a store, without a cache. Objects
// may be typed, unstructured, or, except in writes, metadata only.
//
// Errors are those of package k8s.io/apimachinery/pkg/api/errors. For a kind without a store the error is a
// meta.NoKindMatchError. Any other error of a store is wrapped and returned. Use NewClient. Its methods may be called
// concurrently.
type Client struct {
	*registry

	log    logr.Logger
	resync time.Duration
}

var _ client.WithWatch = &Client{}

// A ClientOption changes a client.
type ClientOption func(c *Client)

// WithLogger sets the logger for entries that cannot be decoded, which lists and watches omit. By default, messages are
// discarded.
func WithLogger(l logr.Logger) ClientOption { return func(c *Client) { c.log = l } }

// WithResync sets the interval at which a watch compares the objects it has reported with the store. The comparison
// finds objects that were removed without an event, such as a value that expired in a bucket without delete markers.
// The default is store.DefaultResync. A negative value disables the comparison.
func WithResync(every time.Duration) ClientOption {
	return func(c *Client) {
		if every != 0 {
			c.resync = every
		}
	}
}

// NewClient returns a client for the kinds. It fails if a type is not in the scheme, or if kinds has the same kind
// twice.
func NewClient(scheme *runtime.Scheme, kinds []Kind, o ...ClientOption) (*Client, error) {
	r, err := newRegistry(scheme, kinds)
	if err != nil {
		return nil, err
	}
	c := &Client{registry: r, log: logr.Discard(), resync: store.DefaultResync}
	for _, apply := range o {
		apply(c)
	}

	return c, nil
}

func (r *registry) gvk(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, r.scheme)
}

// Get reads an object from the store. The result includes every write that was acknowledged before the call.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	k, err := c.of(o)
	if err != nil {
		return err
	}
	image, err := c.read(ctx, k, key)
	if err != nil {
		return err
	}

	return k.into(image, o)
}

func (c *Client) read(ctx context.Context, k *kind, key client.ObjectKey) (map[string]any, error) {
	at, err := k.key(key)
	if err != nil {
		return nil, err
	}
	image, err := k.entries.get(ctx, at)
	if err != nil {
		return nil, k.answer(at, err)
	}

	return k.show(image), nil
}

// key returns the key of an object in its store.
func (k *kind) key(of client.ObjectKey) (string, error) {
	switch {
	case of.Name == "":
		return "", kerrors.NewBadRequest("resource name may not be empty")
	case k.namespaced() && of.Namespace == "":
		return "", kerrors.NewBadRequest("an empty namespace may not be set when a resource name is provided")
	case !k.namespaced():
		return of.Name, nil
	}

	return keyFor(of.Namespace, of.Name), nil
}

// into decodes a JSON object into o, which may be typed, unstructured or metadata only.
func (k *kind) into(image map[string]any, o client.Object) error {
	switch o := o.(type) {
	case *unstructured.Unstructured:
		o.SetUnstructuredContent(runtime.DeepCopyJSON(image))

		return nil
	case *metav1.PartialObjectMetadata:
		*o = metav1.PartialObjectMetadata{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(
			map[string]any{apicore.FieldMetadata: image[apicore.FieldMetadata]}, o); err != nil {
			return errors.Wrap(err, "cannot decode metadata")
		}
		o.SetGroupVersionKind(k.GVK)

		return nil
	}
	from, err := k.typed(image)
	if err != nil {
		return kerrors.NewInternalError(err)
	}
	if from, to := reflect.ValueOf(from), reflect.ValueOf(o); from.Type() == to.Type() {
		to.Elem().Set(from.Elem())

		return nil
	}

	return errors.Errorf("cannot read a %s into a %T", k.GVK.Kind, o)
}

const opposite = "!=" // of the operators of a field selector

// A selection describes the objects that a list or a watch selects.
type selection struct {
	prefix string
	name   string
	labels labels.Selector
}

func (k *kind) selection(o *client.ListOptions) (selection, error) {
	s := selection{labels: labels.Everything()}
	namespace := o.Namespace
	if o.LabelSelector != nil {
		s.labels = o.LabelSelector
	}
	if o.FieldSelector != nil {
		for _, r := range o.FieldSelector.Requirements() {
			switch {
			case r.Field == metav1.ObjectNameField && r.Operator != opposite:
				s.name = r.Value
			case r.Field == "metadata.namespace" && r.Operator != opposite && (namespace == "" || namespace == r.Value):
				namespace = r.Value
			default:
				return s, kerrors.NewBadRequest("a store selects by labels, name and namespace, not by " +
					o.FieldSelector.String())
			}
		}
	}
	if k.namespaced() && namespace != "" {
		s.prefix = namespace + "/"
	}

	return s, nil
}

// has returns whether the name and the labels of an object are selected. The store has already selected the prefix of
// its key.
func (s selection) has(image map[string]any) bool {
	m := apicore.Metadata(image)
	if s.name != "" && m["name"] != s.name {
		return false
	}
	if s.labels.Empty() {
		return true
	}
	have := labels.Set{}
	of, _ := m["labels"].(map[string]any)
	for key, value := range of {
		have[key], _ = value.(string)
	}

	return s.labels.Matches(have)
}

// List reads the objects of a kind, ordered by namespace and name. It ignores a limit and returns all of them at once.
// Entries that cannot be decoded are omitted and logged.
func (c *Client) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	k, err := c.of(list)
	if err != nil {
		return err
	}
	s, err := k.selection((&client.ListOptions{}).ApplyOptions(o))
	if err != nil {
		return err
	}
	state, err := k.entries.state(ctx) // before the list, so that the version is not too new
	if err != nil {
		return k.answer("", err)
	}
	var found []map[string]any
	err = k.entries.list(ctx, s.prefix, func(image map[string]any) bool {
		if s.has(image) {
			found = append(found, k.show(image))
		}

		return true
	}, func(err error) { c.log.Error(err, "leaving out of a list what cannot be read", "kind", k.GVK.Kind) })
	if err != nil {
		return k.answer("", err)
	}
	slices.SortFunc(found, func(a, b map[string]any) int { return strings.Compare(path(a), path(b)) })
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		u.SetGroupVersionKind(k.GVK.GroupVersion().WithKind(k.GVK.Kind + "List"))
	}
	list.SetResourceVersion(version(state.Revision))

	return k.setList(list, found)
}

func path(image map[string]any) string {
	m := apicore.Metadata(image)
	namespace, _ := m["namespace"].(string)
	name, _ := m["name"].(string)

	return keyFor(namespace, name)
}

func (k *kind) setList(list client.ObjectList, images []map[string]any) error {
	items := make([]runtime.Object, 0, len(images))
	for _, image := range images {
		var o client.Object
		switch list.(type) {
		case *unstructured.UnstructuredList:
			o = &unstructured.Unstructured{}
		case *metav1.PartialObjectMetadataList:
			o = &metav1.PartialObjectMetadata{}
		default:
			o, _ = reflect.New(k.typ.Elem()).Interface().(client.Object)
		}
		if err := k.into(image, o); err != nil {
			return err
		}
		items = append(items, o)
	}

	return errors.Wrap(meta.SetList(list, items), "cannot fill the list")
}

// Scheme returns the scheme.
func (c *Client) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper returns a mapper for the kinds given to NewClient.
func (c *Client) RESTMapper() meta.RESTMapper { return c.mapper }

// GroupVersionKindFor returns the kind of an object.
func (c *Client) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return c.gvk(o)
}

// IsObjectNamespaced reports whether objects of the kind have a namespace.
func (c *Client) IsObjectNamespaced(o runtime.Object) (bool, error) {
	k, err := c.of(o)
	if err != nil {
		return false, err
	}

	return k.namespaced(), nil
}
