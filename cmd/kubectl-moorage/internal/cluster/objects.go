package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// A Selection selects objects of a kind.
type Selection struct {
	Kind      Kind
	Namespace string // empty: all namespaces. Ignored if the kind is cluster-scoped
	Name      string // empty: all objects
	Labels    string
	Fields    string // more fields than the name
}

// String returns the selection in words.
func (s Selection) String() string {
	what := s.Kind.String()
	if s.Name != "" {
		what = fmt.Sprintf("%s %q", s.Kind.Name, s.Name)
	}

	switch {
	case !s.Kind.Namespaced:
	case s.Namespace == "":
		what += " in all namespaces"
	default:
		what += fmt.Sprintf(" in namespace %q", s.Namespace)
	}

	return text.Line(what)
}

// options returns the selection for a list or a watch. Access to a single object by its name is enough for both.
func (s Selection) options() metav1.ListOptions {
	fields := s.Fields
	if s.Name != "" {
		if fields != "" {
			fields += ","
		}

		fields += "metadata.name=" + s.Name
	}

	return metav1.ListOptions{LabelSelector: s.Labels, FieldSelector: fields}
}

func resource(i dynamic.Interface, s Selection) dynamic.ResourceInterface {
	if s.Kind.Namespaced && s.Namespace != "" {
		return i.Resource(s.Kind.Resource).Namespace(s.Namespace)
	}

	return i.Resource(s.Kind.Resource)
}

// Get returns the one object that the selection names.
func (c *Cluster) Get(ctx context.Context, s Selection) (object.Object, error) {
	u, err := resource(c.requests, s).Get(ctx, s.Name, metav1.GetOptions{})

	switch {
	case Missing(err, s.Name):
		return object.Object{}, &Fault{"there is no " + s.String(), err}
	case err != nil:
		return object.Object{}, c.fault(ctx, "get "+s.String(), err)
	}

	return object.Of(u), nil
}

// page is how many objects one response of a list has.
const page = 500

// List returns the selected objects, and the resource version of the list.
func (c *Cluster) List(ctx context.Context, s Selection) (out []object.Object, version string, err error) {
	version, err = c.Pages(ctx, s, func(objects []object.Object) { out = append(out, objects...) })
	if err != nil {
		return nil, "", err
	}

	return out, version, nil
}

// Pages calls to with the selected objects of each response, and returns the resource version of the list. So a list of
// any length needs little memory. After an error, to may have been called with some of the objects.
func (c *Cluster) Pages(ctx context.Context, s Selection, to func([]object.Object)) (version string, err error) {
	options := s.options()
	options.Limit = page

	for {
		list, err := resource(c.requests, s).List(ctx, options)
		if err != nil {
			return "", c.fault(ctx, s.listed(err), err)
		}

		objects := make([]object.Object, len(list.Items))
		for i := range list.Items {
			objects[i] = object.Of(&list.Items[i])
		}

		to(objects)

		if options.Continue = list.GetContinue(); options.Continue == "" {
			return list.GetResourceVersion(), nil
		}
	}
}

// Names returns the names of the selected objects. It reads nothing else of them.
func (c *Cluster) Names(ctx context.Context, s Selection) (names []string, err error) {
	from := metadata.ResourceInterface(c.names.Resource(s.Kind.Resource))
	if s.Kind.Namespaced && s.Namespace != "" {
		from = c.names.Resource(s.Kind.Resource).Namespace(s.Namespace)
	}

	options := s.options()
	options.Limit = page

	for {
		list, err := from.List(ctx, options)
		if err != nil {
			return nil, c.fault(ctx, s.listed(err), err)
		}

		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}

		if options.Continue = list.GetContinue(); options.Continue == "" {
			return names, nil
		}
	}
}

// listed returns the verb and its object for the error of a list.
func (s Selection) listed(err error) string {
	what := "list " + s.String()
	if Forbidden(err) && s.Kind.Namespaced && s.Namespace == "" {
		what += ", only with -n in those of your namespaces"
	}

	return what
}

// Annotate sets annotations of an object, and removes those whose value is nil. It fails if the object was replaced by
// another one of its name. If the values depend on what was read, it also fails if the object was changed since. The
// object becomes the changed one.
func (c *Cluster) Annotate(ctx context.Context, k Kind, o object.Object, values map[string]*string,
	depends bool,
) error {
	metadata := map[string]any{"uid": o.GetUID(), "annotations": values}
	if depends {
		metadata["resourceVersion"] = o.GetResourceVersion()
	}

	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}

	s := Selection{Kind: k, Namespace: o.GetNamespace(), Name: o.GetName()}

	changed, err := resource(c.requests, s).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{
		FieldManager: "kubectl-moorage",
	})
	if err != nil {
		return c.fault(ctx, "patch "+s.String(), err)
	}

	o.Object = changed.Object

	return notStored(s, values, changed)
}

// notStored returns an error if the API server accepted annotations and did not store them.
func notStored(s Selection, values map[string]*string, stored *unstructured.Unstructured) error {
	for name, want := range values {
		got, found := stored.GetAnnotations()[name]
		if want == nil && found || want != nil && got != *want {
			return fmt.Errorf("the API server did not store the annotation %s of %s: an admission webhook or a policy "+
				"changes it", name, s)
		}
	}

	return nil
}
