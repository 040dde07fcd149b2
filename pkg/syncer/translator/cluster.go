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

// NewClusterTranslator returns a Translator for a kind whose host objects are
// cluster-scoped. nameTranslator returns their names; its object is nil if the virtual
// object does not exist. The translator uses IndexByPhysicalName if a syncer has
// registered that index. The excluded annotations are not copied.
func NewClusterTranslator(
	ctx *synccontext.RegisterContext, name string, obj client.Object, nameTranslator PhysicalNameTranslator,
	excludedAnnotations ...string,
) Translator {
	return newClusterScoped(ctx, name, obj, nameTranslator, excludedAnnotations)
}

// newClusterScoped returns the translator of NewClusterTranslator and NewClusterScoped.
func newClusterScoped(
	ctx *synccontext.RegisterContext, name string, obj client.Object, nameTranslator PhysicalNameTranslator,
	excludedAnnotations []string,
) *clusterScoped {
	names := synccontext.NamesOf(ctx)
	return &clusterScoped{
		markTranslator: markTranslator{
			name: name, obj: obj, virtualClient: ctx.VirtualManager.GetClient(),
			marks: marks{
				names: names, marker: names.ClusterMarker(ctx.TargetNamespace), excluded: slices.Clone(excludedAnnotations),
			},
		},
		target:         ctx.TargetNamespace,
		nameTranslator: nameTranslator,
	}
}

// A clusterScoped translates to cluster-scoped host objects.
type clusterScoped struct {
	markTranslator

	target         string
	nameTranslator PhysicalNameTranslator
}

// IsManaged checks the label and, if the index is registered, whether the virtual name
// can be looked up.
func (c *clusterScoped) IsManaged(pObj client.Object) (bool, error) {
	if !c.marks.names.IsManagedCluster(c.target, pObj) {
		return false, nil
	}
	managed, err := c.isResolvable(pObj)
	if isIndexMissing(err) {
		return true, nil
	}
	return managed, err
}

// LookupVirtual returns an empty name if the index is not registered.
func (c *clusterScoped) LookupVirtual(pObj client.Object) (types.NamespacedName, error) {
	key, err := c.markTranslator.LookupVirtual(pObj)
	if isIndexMissing(err) {
		return types.NamespacedName{}, nil
	}
	return key, err
}

// isIndexMissing reports whether a list failed because there is no such index. Caches
// have no error type for that; an API server returns a bad request.
func isIndexMissing(err error) bool {
	return apierrors.IsBadRequest(err) || err != nil && strings.Contains(strings.ToLower(err.Error()), "index with name")
}

func (c *clusterScoped) VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName {
	return types.NamespacedName{Name: c.nameTranslator(req.Name, vObj)}
}

func (c *clusterScoped) TranslateMetadata(vObj client.Object) client.Object {
	return c.marks.create(vObj, types.NamespacedName{Name: c.nameTranslator(vObj.GetName(), vObj)})
}
