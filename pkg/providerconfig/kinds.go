package providerconfig

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// FinalizerName is the finalizer that protects a configuration from deletion while it is in use.
const FinalizerName = "in-use.moorage.dev"

// A UserCounter is a configuration whose status contains the number of its users. commonv1.ProviderConfigStatus
// implements it.
type UserCounter interface {
	GetUsers() int64
	SetUsers(n int64)
}

// A Config is the configuration of a provider. If the configuration is also a resource.Conditioned, its condition
// Terminating says why the deletion of the configuration waits.
type Config interface {
	client.Object
	UserCounter
}

// A User is an object that may refer to a configuration, such as a managed resource.
type User interface {
	client.Object
	resource.ProviderConfigReferencer
}

// Kinds contains an empty object of each kind of configuration of a provider. At least one kind is required. The kind
// in a reference selects one of these kinds. A reference without a kind selects the namespaced kind, or the
// cluster-scoped kind if there is no namespaced kind.
type Kinds struct {
	// Namespaced is the kind whose configurations are used by the objects in their namespace.
	Namespaced Config

	// Cluster is the kind whose configurations are used by the objects in all namespaces.
	Cluster Config
}

// A key identifies a configuration.
type key struct {
	kind      string
	namespace string // empty for a configuration without one
	name      string
}

// A kindInfo describes a kind of configuration.
type kindInfo struct {
	gvk        schema.GroupVersionKind
	namespaced bool
	empty      Config
}

// newObject returns an empty object of the kind.
func (k *kindInfo) newObject() (Config, error) {
	c, ok := k.empty.DeepCopyObject().(Config)
	if !ok {
		return nil, errors.Errorf("a copy of %T is not a Config", k.empty)
	}

	return c, nil
}

// A kindResolver returns the kind of an object. Every client implements it.
type kindResolver interface {
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
}

// configKinds holds the kinds of configuration of one provider, the namespaced one first.
type configKinds []*kindInfo

// newConfigKinds returns the kinds in k. It returns an error if k is empty or a kind is not registered.
func newConfigKinds(k Kinds, resolver kindResolver) (configKinds, error) {
	var kinds configKinds
	for _, kind := range []kindInfo{{empty: k.Namespaced, namespaced: true}, {empty: k.Cluster}} {
		if isNil(kind.empty) {
			continue
		}
		var err error
		if kind.gvk, err = resolver.GroupVersionKindFor(kind.empty); err != nil {
			return nil, errors.Wrap(err, "cannot determine the kind of a configuration")
		}
		kinds = append(kinds, &kind)
	}
	if len(kinds) == 0 {
		return nil, errors.New("no kind of configuration is given")
	}

	return kinds, nil
}

// isNil reports whether c is nil or a nil pointer.
func isNil(c Config) bool {
	return c == nil || reflect.ValueOf(c).Kind() == reflect.Pointer && reflect.ValueOf(c).IsNil()
}

// resolveReference returns the configuration to which u refers, and its kind. If such a configuration cannot exist,
// IsInvalid is true for the error.
func (k configKinds) resolveReference(u User) (key, *kindInfo, error) {
	ref := u.GetProviderConfigReference()
	if ref == nil || ref.Name == "" {
		return key{}, nil, &configError{reason: invalid, message: "the object names no ProviderConfig"}
	}
	kind := k.byName(ref.Kind)
	switch {
	case kind == nil:
		return key{}, nil, &configError{
			reason: invalid, message: "the object names a ProviderConfig of an unknown kind", kind: ref.Kind,
		}
	case !kind.namespaced:
		return key{kind: kind.gvk.Kind, name: ref.Name}, kind, nil
	case u.GetNamespace() == "":
		return key{}, nil, &configError{
			reason: invalid, message: "an object without a namespace cannot use a " + kind.gvk.Kind + ", which has one",
		}
	default:
		return key{kind: kind.gvk.Kind, namespace: u.GetNamespace(), name: ref.Name}, kind, nil
	}
}

// byName returns the kind with the name, or nil if there is none. If the name is empty, it returns the first kind.
func (k configKinds) byName(kind string) *kindInfo {
	for _, one := range k {
		if kind == one.gvk.Kind || kind == "" {
			return one
		}
	}

	return nil
}
