// Package clienthelper has the functions of the package of the same name in vcluster-sdk v0.4, so that plugins compile
// without changes. GetByIndex finds an object by an index of a cache. CurrentNamespace and CurrentPodName return the
// namespace and the name of the pod that the process runs in.
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

// DefaultScheme contains the kinds of client-go and CustomResourceDefinition.
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

// GetByIndex finds the object that has a value in an index of a cache, and reads this object into the argument obj. It
// returns a NotFound error if no object has the value, and a Conflict error if several objects have the value. If
// GetByIndex returns an error, the argument obj is unchanged.
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

// assign copies found into obj. It returns an error if their types differ.
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

// CurrentNamespace returns the value of the environment variable NAMESPACE. If the variable is
// empty, it returns the namespace of the pod's service account.
func CurrentNamespace() (string, error) {
	if namespace := os.Getenv("NAMESPACE"); namespace != "" {
		return namespace, nil
	}
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return string(bytes.TrimSpace(text)), errors.Wrap(err, "cannot tell the namespace of the pod")
}

// CurrentPodName returns the value of the environment variable POD_NAME. If the variable is empty,
// it returns the host name, which in a pod is the name of the pod.
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

// ConvertExtraFrom converts extra user information of a TokenReview to plain strings.
func ConvertExtraFrom(orig map[string]authenticationv1.ExtraValue) map[string][]string {
	out := make(map[string][]string, len(orig))
	for key, values := range orig {
		out[key] = values
	}
	return out
}
