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

// NewClusterTranslator returns a Translator for a kind whose host objects are cluster-scoped. The argument
// nameTranslator is a function that returns the names of the host objects; its argument vObj is nil if the virtual
// object does not exist. Annotations whose keys are in the argument excludedAnnotations are not copied. If a syncer has
// registered the index IndexByPhysicalName, the Translator uses it to look up virtual names.
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

// A clusterScoped is a translator whose host objects are cluster-scoped.
type clusterScoped struct {
	markTranslator

	target         string
	nameTranslator PhysicalNameTranslator
}

// IsManaged reports whether the host object has the label of the virtual cluster and its virtual name can be looked up.
// If the index IndexByPhysicalName is not registered, IsManaged checks only the label.
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

// LookupVirtual returns the virtual name of a host object. If a lookup needs the index IndexByPhysicalName, and this
// index is not registered, LookupVirtual returns an empty name.
func (c *clusterScoped) LookupVirtual(pObj client.Object) (types.NamespacedName, error) {
	key, err := c.markTranslator.LookupVirtual(pObj)
	if isIndexMissing(err) {
		return types.NamespacedName{}, nil
	}
	return key, err
}

// isIndexMissing reports whether a list failed because the index does not exist. Caches have no
// error type for a missing index. An API server returns a bad request.
func isIndexMissing(err error) bool {
	return apierrors.IsBadRequest(err) || err != nil && strings.Contains(strings.ToLower(err.Error()), "index with name")
}

func (c *clusterScoped) VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName {
	return types.NamespacedName{Name: c.nameTranslator(req.Name, vObj)}
}

func (c *clusterScoped) TranslateMetadata(vObj client.Object) client.Object {
	return c.marks.create(vObj, types.NamespacedName{Name: c.nameTranslator(vObj.GetName(), vObj)})
}
