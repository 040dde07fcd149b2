package translator

import (
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

var (
	_ Translator = &clusterScoped{}
	_ NameLookup = &clusterScoped{}
)

// NewClusterTranslator returns the translator of a kind whose host objects are
// cluster-scoped. The nameTranslator says what they are called; it is called with a
// nil object for one that does not exist. It uses IndexByPhysicalName if a syncer
// has registered that. The excluded annotations are not copied.
func NewClusterTranslator(ctx *synccontext.RegisterContext, name string, obj client.Object, nameTranslator PhysicalNameTranslator, excludedAnnotations ...string) Translator {
	return newClusterScoped(ctx, name, obj, nameTranslator, excludedAnnotations)
}

func newClusterScoped(ctx *synccontext.RegisterContext, name string, obj client.Object, nameTranslator PhysicalNameTranslator, excludedAnnotations []string) *clusterScoped {
	names := synccontext.NamesOf(ctx)
	return &clusterScoped{
		origin: origin{
			name: name, obj: obj, virtual: ctx.VirtualManager.GetClient(),
			marks: marks{names: names, marker: names.ClusterMarker(ctx.TargetNamespace), excluded: slices.Clone(excludedAnnotations)},
		},
		target:    ctx.TargetNamespace,
		translate: nameTranslator,
	}
}

type clusterScoped struct {
	origin

	target    string
	translate PhysicalNameTranslator
}

// IsManaged does without the index if no syncer has registered that: then the mark
// alone counts.
func (c *clusterScoped) IsManaged(pObj client.Object) (bool, error) {
	if !c.marks.names.IsManagedCluster(c.target, pObj) {
		return false, nil
	}
	managed, err := c.traceable(pObj)
	if unindexed(err) {
		return true, nil
	}
	return managed, err
}

// LookupVirtual knows no name if there is no index to look it up in.
func (c *clusterScoped) LookupVirtual(pObj client.Object) (types.NamespacedName, error) {
	key, err := c.origin.LookupVirtual(pObj)
	if unindexed(err) {
		return types.NamespacedName{}, nil
	}
	return key, err
}

// unindexed tells whether a list failed for want of an index. Caches have no error
// type for that; an API server that is asked directly calls it a bad request.
func unindexed(err error) bool {
	return apierrors.IsBadRequest(err) || err != nil && strings.Contains(strings.ToLower(err.Error()), "index with name")
}

func (c *clusterScoped) VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName {
	return types.NamespacedName{Name: c.translate(req.Name, vObj)}
}

func (c *clusterScoped) TranslateMetadata(vObj client.Object) client.Object {
	return c.marks.create(vObj, types.NamespacedName{Name: c.translate(vObj.GetName(), vObj)})
}
