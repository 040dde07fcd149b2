package translator

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// A Namespaced is a NamespacedTranslator with its NameLookup, for a syncer to embed. Create
// one with NewNamespaced; the zero value is not usable. It is safe for concurrent use.
//
//	type cars struct{ translator.Namespaced }
//
// A syncer that overrides PhysicalToVirtual must override LookupVirtual as well, which is
// called instead.
type Namespaced struct {
	NamespacedTranslator
	NameLookup
}

// NewNamespaced is NewNamespacedTranslator for a syncer that embeds a Namespaced.
func NewNamespaced(
	ctx *synccontext.RegisterContext, name string, obj client.Object, excludedAnnotations ...string,
) Namespaced {
	n := newNamespaced(ctx, name, obj, excludedAnnotations)
	return Namespaced{n, n}
}

// A ClusterScoped is a Translator with its NameLookup, for a syncer to embed, as
// Namespaced is for namespaced kinds. Create one with NewClusterScoped; the zero value is
// not usable. It is safe for concurrent use.
type ClusterScoped struct {
	Translator
	NameLookup
}

// NewClusterScoped is NewClusterTranslator for a syncer that embeds a ClusterScoped.
func NewClusterScoped(
	ctx *synccontext.RegisterContext, name string, obj client.Object, nameTranslator PhysicalNameTranslator,
	excludedAnnotations ...string,
) ClusterScoped {
	c := newClusterScoped(ctx, name, obj, nameTranslator, excludedAnnotations)
	return ClusterScoped{c, c}
}
