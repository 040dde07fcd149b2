// Package clienthelper has the functions of the package of that name in vcluster-sdk v0.4, so
// that plugins compile. GetByIndex finds an object by an index of a cache; CurrentNamespace and
// CurrentPodName return where the process runs.
package clienthelper

import (
	"bytes"
	"context"
	"os"
	"reflect"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// DefaultScheme has the kinds of client-go and CustomResourceDefinition.
var DefaultScheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // kinds that exist twice: a mistake in the program
		}
	}
	return scheme
}

// GetByIndex reads the object that has the value in the index into obj. It returns a NotFound
// error if there is none, and a Conflict error if there are several; with an error obj is not
// changed.
func GetByIndex(ctx context.Context, c client.Client, obj runtime.Object, index, value string) error {
	kind, err := GVKFrom(obj, c.Scheme())
	if err != nil {
		return err
	}
	empty, err := c.Scheme().New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return err
	}
	list, ok := empty.(client.ObjectList)
	if !ok {
		return errors.Errorf("%sList is no list", kind.Kind)
	}
	if err := c.List(ctx, list, client.MatchingFields{index: value}); err != nil {
		return err
	}
	found, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	of := schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
	switch len(found) {
	case 0:
		return kerrors.NewNotFound(of, value)
	case 1:
		return assign(obj, found[0])
	default:
		return kerrors.NewConflict(of, value, errors.Errorf("%d objects have the value in the index %s", len(found), index))
	}
}

// assign copies what was found, of the type of obj.
func assign(obj, found runtime.Object) error {
	to, from := reflect.ValueOf(obj), reflect.ValueOf(found)
	if to.Type() != from.Type() || to.Kind() != reflect.Pointer || to.IsNil() {
		return errors.Errorf("cannot read a %T into a %T", found, obj)
	}
	to.Elem().Set(from.Elem())
	return nil
}

// GVKFrom returns the kind of an object.
func GVKFrom(obj runtime.Object, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, scheme)
}

// CurrentNamespace returns the namespace of the pod: the environment variable NAMESPACE or, if
// that is empty, the namespace of the pod's service account.
func CurrentNamespace() (string, error) {
	if namespace := os.Getenv("NAMESPACE"); namespace != "" {
		return namespace, nil
	}
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return string(bytes.TrimSpace(text)), errors.Wrap(err, "cannot tell the namespace of the pod")
}

// CurrentPodName returns the name of the pod: the environment variable POD_NAME or, if that is
// empty, the host name.
func CurrentPodName() (string, error) {
	if name := os.Getenv("POD_NAME"); name != "" {
		return name, nil
	}
	return os.Hostname()
}

// ConvertExtra converts extra user information to the type of a SubjectAccessReview.
func ConvertExtra(orig map[string][]string) map[string]authorizationv1.ExtraValue {
	out := make(map[string]authorizationv1.ExtraValue, len(orig))
	for key, values := range orig {
		out[key] = values
	}
	return out
}

// ConvertExtraFrom converts the extra user information of a TokenReview to plain strings.
func ConvertExtraFrom(orig map[string]authenticationv1.ExtraValue) map[string][]string {
	out := make(map[string][]string, len(orig))
	for key, values := range orig {
		out[key] = values
	}
	return out
}
