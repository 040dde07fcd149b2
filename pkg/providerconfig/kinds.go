package providerconfig

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// FinalizerName is the finalizer that keeps a configuration while it is in use.
const FinalizerName = "in-use.moorage.dev"

// A UserCounter says in its status how many objects refer to it.
// commonv1.ProviderConfigStatus says how.
type UserCounter interface {
	GetUsers() int64
	SetUsers(n int64)
}

// A Config is the configuration of a provider. If it has conditions as well, being a
// resource.Conditioned, it gets one that says why its deletion waits.
type Config interface {
	client.Object
	UserCounter
}

// A User is an object that may refer to a configuration: a managed resource.
type User interface {
	client.Object
	resource.ProviderConfigReferencer
}

// Kinds are the kinds of configuration of one provider, each given by an empty
// object of it. At least one of them is required. A reference says by its kind which
// one is meant; without a kind it means the namespaced one, or the other if there is
// no namespaced one.
type Kinds struct {
	// Namespaced is the kind whose objects are in a namespace, and used there.
	Namespaced Config

	// Cluster is the kind whose objects are used by all namespaces.
	Cluster Config
}

// A key names a configuration.
type key struct {
	kind      string
	namespace string // empty for a configuration without one
	name      string
}

// A form is a kind of configuration.
type form struct {
	gvk        schema.GroupVersionKind
	namespaced bool
	empty      Config
}

func (f *form) new() (Config, error) {
	c, ok := f.empty.DeepCopyObject().(Config)
	if !ok {
		return nil, errors.Errorf("a copy of %T is no Config", f.empty)
	}

	return c, nil
}

// A kinder tells the kinds of objects; a client is one.
type kinder interface {
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
}

// A family is the kinds of one provider, the namespaced one first.
type family []*form

func newFamily(k Kinds, of kinder) (family, error) {
	var f family
	for _, kind := range []form{{empty: k.Namespaced, namespaced: true}, {empty: k.Cluster}} {
		if absent(kind.empty) {
			continue
		}
		var err error
		if kind.gvk, err = of.GroupVersionKindFor(kind.empty); err != nil {
			return nil, errors.Wrap(err, "cannot tell a kind of configuration")
		}
		f = append(f, &kind)
	}
	if len(f) == 0 {
		return nil, errors.New("no kind of configuration is given")
	}

	return f, nil
}

// absent finds the typed nil as well.
func absent(c Config) bool {
	return c == nil || reflect.ValueOf(c).Kind() == reflect.Pointer && reflect.ValueOf(c).IsNil()
}

// refers returns which configuration an object refers to, or an error that
// IsInvalid if that is none that can be.
func (f family) refers(u User) (key, *form, error) {
	ref := u.GetProviderConfigReference()
	if ref == nil || ref.Name == "" {
		return key{}, nil, &refusal{problem: invalid, why: "the object names no ProviderConfig"}
	}
	kind := f.named(ref.Kind)
	switch {
	case kind == nil:
		return key{}, nil, &refusal{problem: invalid, why: "the object names a ProviderConfig of an unknown kind", kind: ref.Kind}
	case !kind.namespaced:
		return key{kind: kind.gvk.Kind, name: ref.Name}, kind, nil
	case u.GetNamespace() == "":
		return key{}, nil, &refusal{problem: invalid, why: "an object without a namespace cannot use a " + kind.gvk.Kind + ", which has one"}
	default:
		return key{kind: kind.gvk.Kind, namespace: u.GetNamespace(), name: ref.Name}, kind, nil
	}
}

// named returns a kind by its name, the first one if there is no name.
func (f family) named(kind string) *form {
	for _, one := range f {
		if kind == one.gvk.Kind || kind == "" {
			return one
		}
	}

	return nil
}
