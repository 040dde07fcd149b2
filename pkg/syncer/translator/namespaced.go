package translator

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/translate"
)

var (
	_ NamespacedTranslator = &namespaced{}
	_ NameLookup           = &namespaced{}
)

// NewNamespacedTranslator returns a translator for a namespaced kind. All host objects are in the target namespace. The
// name of a host object consists of the virtual name, the virtual namespace and the suffix of the virtual cluster.
// Annotations whose keys are in the argument excludedAnnotations are not copied.
func NewNamespacedTranslator(
	ctx *synccontext.RegisterContext, name string, obj client.Object, excludedAnnotations ...string,
) NamespacedTranslator {
	return newNamespaced(ctx, name, obj, excludedAnnotations)
}

// newNamespaced returns the translator of NewNamespacedTranslator and NewNamespaced.
func newNamespaced(
	ctx *synccontext.RegisterContext, name string, obj client.Object, excludedAnnotations []string,
) *namespaced {
	names := synccontext.NamesOf(ctx)
	return &namespaced{
		markTranslator: markTranslator{
			name: name, obj: obj, virtualClient: ctx.VirtualManager.GetClient(),
			marks: marks{names: names, marker: names.Suffix, excluded: slices.Clone(excludedAnnotations)},
		},
		target: ctx.TargetNamespace,
		//nolint:staticcheck // EventRecorder returns a recorder of the older API, which plugins know
		recorder: ctx.VirtualManager.GetEventRecorderFor(name + "-syncer"),
	}
}

// A namespaced is a translator whose host objects are namespaced.
type namespaced struct {
	markTranslator

	target   string
	recorder record.EventRecorder
}

// IsManaged reports whether the host object has the label of the virtual cluster and its virtual
// name can be looked up.
func (n *namespaced) IsManaged(pObj client.Object) (bool, error) {
	if !n.marks.names.IsManaged(pObj) {
		return false, nil
	}
	return n.isResolvable(pObj)
}

func (n *namespaced) VirtualToPhysical(req types.NamespacedName, _ client.Object) types.NamespacedName {
	return n.hostKey(req.Name, req.Namespace)
}

func (n *namespaced) TranslateMetadata(vObj client.Object) client.Object {
	return n.marks.create(vObj, n.hostKey(vObj.GetName(), vObj.GetNamespace()))
}

func (n *namespaced) EventRecorder() record.EventRecorder { return n.recorder }

func (n *namespaced) RegisterIndices(ctx *synccontext.RegisterContext) error {
	byHostName := func(o client.Object) []string {
		return []string{n.hostKey(o.GetName(), o.GetNamespace()).Name}
	}
	return ctx.VirtualManager.GetFieldIndexer().IndexField(ctx.Context, n.Resource(), IndexByPhysicalName, byHostName)
}

func (n *namespaced) SyncDownCreate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error) {
	return n.reportError(ctx, vObj, newWriter(ctx, n.name).create(pObj))
}

func (n *namespaced) SyncDownUpdate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error) {
	if translate.Absent(pObj) {
		return ctrl.Result{}, nil
	}
	return n.reportError(ctx, vObj, newWriter(ctx, n.name).update(pObj))
}

// hostKey returns the host name of a virtual name.
func (n *namespaced) hostKey(name, namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: n.target, Name: n.marks.names.PhysicalName(name, namespace)}
}

// A markTranslator is the common part of translators that map host objects to virtual
// names by their ownership marks.
type markTranslator struct {
	name          string
	obj           client.Object
	virtualClient client.Client
	marks         marks
}

func (o *markTranslator) Name() string { return o.name }

func (o *markTranslator) Resource() client.Object { return o.obj.DeepCopyObject().(client.Object) }

func (o *markTranslator) TranslateMetadataUpdate(
	vObj, pObj client.Object,
) (changed bool, annotations, labels map[string]string) {
	return o.marks.update(vObj, pObj)
}

// PhysicalToVirtual returns the virtual name of a host object, or an empty name if the lookup
// fails: see NameLookup.
func (o *markTranslator) PhysicalToVirtual(pObj client.Object) types.NamespacedName {
	key, _ := o.LookupVirtual(pObj) // the signature has no error: see NameLookup
	return key
}

// LookupVirtual returns the virtual name in the annotations of a host object. If there is none, it
// looks up the virtual name in the index IndexByPhysicalName.
func (o *markTranslator) LookupVirtual(pObj client.Object) (types.NamespacedName, error) {
	if key, ok := nameFromAnnotations(pObj); ok {
		return key, nil
	}
	keys, err := o.lookupByHostName(pObj)
	if err != nil || len(keys) != 1 {
		return types.NamespacedName{}, errors.Wrap(err, "cannot look up the virtual object")
	}
	return keys[0], nil
}

// isResolvable reports whether a host object has at most one virtual name. If the lookup fails, it
// returns the error, which PhysicalToVirtual cannot return. If two virtual objects have the host
// name, neither manages the host object.
func (o *markTranslator) isResolvable(pObj client.Object) (bool, error) {
	if _, ok := nameFromAnnotations(pObj); ok {
		return true, nil
	}
	keys, err := o.lookupByHostName(pObj)
	return err == nil && len(keys) <= 1, errors.Wrap(err, "cannot look up the virtual object")
}

// nameFromAnnotations returns the virtual name in the annotations of a host object. The second
// result is false if there is none.
func nameFromAnnotations(pObj client.Object) (types.NamespacedName, bool) {
	a := pObj.GetAnnotations()
	return types.NamespacedName{Namespace: a[NamespaceAnnotation], Name: a[NameAnnotation]}, a[NameAnnotation] != ""
}

// lookupByHostName returns the names of the virtual objects that are translated to the name of
// pObj. It finds the owners of host objects without annotations, which earlier versions wrote.
func (o *markTranslator) lookupByHostName(pObj client.Object) ([]types.NamespacedName, error) {
	list, err := emptyList(o.virtualClient, o.obj)
	if err != nil {
		return nil, err
	}
	if err := o.virtualClient.List(
		context.Background(), list, client.MatchingFields{IndexByPhysicalName: pObj.GetName()}); err != nil {
		return nil, err
	}
	var keys []types.NamespacedName
	err = meta.EachListItem(list, func(item runtime.Object) error {
		a, err := meta.Accessor(item)
		if err == nil {
			keys = append(keys, types.NamespacedName{Namespace: a.GetNamespace(), Name: a.GetName()})
		}
		return err
	})
	return keys, err
}

// emptyList returns an empty list of a kind, typed unless the object is unstructured.
func emptyList(c client.Client, obj client.Object) (client.ObjectList, error) {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return nil, err
	}
	return newList(c.Scheme(), obj, gvk.GroupVersion().WithKind(gvk.Kind+"List"))
}
