package translator

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// A Namespaced is a NamespacedTranslator with its NameLookup. A syncer of a namespaced kind embeds
// it:
//
//	type cars struct{ translator.Namespaced }
//
// Create it with NewNamespaced; the zero value is not usable. It is safe for concurrent use.
//
// A syncer that overrides PhysicalToVirtual must also override LookupVirtual, because the reconciler calls
// LookupVirtual instead of PhysicalToVirtual.
type Namespaced struct {
	NamespacedTranslator
	NameLookup
}

// NewNamespaced returns a Namespaced for a syncer to embed. The arguments are those of
// NewNamespacedTranslator.
func NewNamespaced(
	ctx *synccontext.RegisterContext, name string, obj client.Object, excludedAnnotations ...string,
) Namespaced {
	n := newNamespaced(ctx, name, obj, excludedAnnotations)
	return Namespaced{n, n}
}

// A ClusterScoped is a Translator with its NameLookup. A syncer whose host objects are
// cluster-scoped embeds it. Create it with NewClusterScoped; the zero value is not usable. It is
// safe for concurrent use.
type ClusterScoped struct {
	Translator
	NameLookup
}

// NewClusterScoped returns a ClusterScoped for a syncer to embed. The arguments are those of
// NewClusterTranslator.
func NewClusterScoped(
	ctx *synccontext.RegisterContext, name string, obj client.Object, nameTranslator PhysicalNameTranslator,
	excludedAnnotations ...string,
) ClusterScoped {
	c := newClusterScoped(ctx, name, obj, nameTranslator, excludedAnnotations)
	return ClusterScoped{c, c}
}
