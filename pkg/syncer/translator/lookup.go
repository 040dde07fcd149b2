package translator

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// A Namespaced is a NamespacedTranslator that looks names up: all that a syncer embeds. Make
// one with NewNamespaced; the zero value is not usable. It may be used concurrently.
//
//	type cars struct{ translator.Namespaced }
//
// A syncer that has a PhysicalToVirtual of its own has a LookupVirtual of its own as well,
// since that is called in its place.
type Namespaced struct {
	NamespacedTranslator
	NameLookup
}

// NewNamespaced is NewNamespacedTranslator for a syncer that embeds a Namespaced.
func NewNamespaced(ctx *synccontext.RegisterContext, name string, obj client.Object, excludedAnnotations ...string) Namespaced {
	n := newNamespaced(ctx, name, obj, excludedAnnotations)
	return Namespaced{n, n}
}

// A ClusterScoped is to NewClusterTranslator what a Namespaced is to NewNamespacedTranslator.
type ClusterScoped struct {
	Translator
	NameLookup
}

// NewClusterScoped is NewClusterTranslator for a syncer that embeds a ClusterScoped.
func NewClusterScoped(ctx *synccontext.RegisterContext, name string, obj client.Object, nameTranslator PhysicalNameTranslator, excludedAnnotations ...string) ClusterScoped {
	c := newClusterScoped(ctx, name, obj, nameTranslator, excludedAnnotations)
	return ClusterScoped{c, c}
}
