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

// NewNamespacedTranslator returns the translator of a namespaced kind: all host
// objects are in the target namespace, their names made of the virtual names and
// the suffix. The excluded annotations are not copied.
func NewNamespacedTranslator(ctx *synccontext.RegisterContext, name string, obj client.Object, excludedAnnotations ...string) NamespacedTranslator {
	return newNamespaced(ctx, name, obj, excludedAnnotations)
}

func newNamespaced(ctx *synccontext.RegisterContext, name string, obj client.Object, excludedAnnotations []string) *namespaced {
	names := synccontext.NamesOf(ctx)
	return &namespaced{
		origin: origin{
			name: name, obj: obj, virtual: ctx.VirtualManager.GetClient(),
			marks: marks{names: names, marker: names.Suffix, excluded: slices.Clone(excludedAnnotations)},
		},
		target: ctx.TargetNamespace,
		//nolint:staticcheck // EventRecorder returns a recorder of the older API, which plugins know
		recorder: ctx.VirtualManager.GetEventRecorderFor(name + "-syncer"),
	}
}

type namespaced struct {
	origin

	target   string
	recorder record.EventRecorder
}

func (n *namespaced) IsManaged(pObj client.Object) (bool, error) {
	if !n.marks.names.IsManaged(pObj) {
		return false, nil
	}
	return n.traceable(pObj)
}

func (n *namespaced) VirtualToPhysical(req types.NamespacedName, _ client.Object) types.NamespacedName {
	return n.host(req.Name, req.Namespace)
}

func (n *namespaced) TranslateMetadata(vObj client.Object) client.Object {
	return n.marks.create(vObj, n.host(vObj.GetName(), vObj.GetNamespace()))
}

func (n *namespaced) EventRecorder() record.EventRecorder { return n.recorder }

func (n *namespaced) RegisterIndices(ctx *synccontext.RegisterContext) error {
	return ctx.VirtualManager.GetFieldIndexer().IndexField(ctx.Context, n.Resource(), IndexByPhysicalName, func(o client.Object) []string {
		return []string{n.host(o.GetName(), o.GetNamespace()).Name}
	})
}

func (n *namespaced) SyncDownCreate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error) {
	return n.told(ctx, vObj, newWriter(ctx, n.name).create(pObj))
}

func (n *namespaced) SyncDownUpdate(ctx *synccontext.SyncContext, vObj, pObj client.Object) (ctrl.Result, error) {
	if translate.Absent(pObj) {
		return ctrl.Result{}, nil
	}
	return n.told(ctx, vObj, newWriter(ctx, n.name).update(pObj))
}

func (n *namespaced) host(name, namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: n.target, Name: n.marks.names.PhysicalName(name, namespace)}
}

// origin is what translators have in common that mark host objects with where they
// come from.
type origin struct {
	name    string
	obj     client.Object
	virtual client.Client
	marks   marks
}

func (o *origin) Name() string { return o.name }

func (o *origin) Resource() client.Object { return o.obj.DeepCopyObject().(client.Object) }

func (o *origin) TranslateMetadataUpdate(vObj, pObj client.Object) (changed bool, annotations, labels map[string]string) {
	return o.marks.update(vObj, pObj)
}

func (o *origin) PhysicalToVirtual(pObj client.Object) types.NamespacedName {
	key, _ := o.LookupVirtual(pObj) // the signature has no error: see NameLookup
	return key
}

func (o *origin) LookupVirtual(pObj client.Object) (types.NamespacedName, error) {
	if key, told := annotated(pObj); told {
		return key, nil
	}
	keys, err := o.candidates(pObj)
	if err != nil || len(keys) != 1 {
		return types.NamespacedName{}, errors.Wrap(err, "cannot look up the virtual object")
	}
	return keys[0], nil
}

// traceable turns what PhysicalToVirtual cannot say into an error: without one, the
// event would be dropped and nobody would ask again. An object that is claimed by
// two virtual ones belongs to neither.
func (o *origin) traceable(pObj client.Object) (bool, error) {
	if _, told := annotated(pObj); told {
		return true, nil
	}
	keys, err := o.candidates(pObj)
	return err == nil && len(keys) <= 1, errors.Wrap(err, "cannot look up the virtual object")
}

// annotated returns the virtual name that the annotations tell.
func annotated(pObj client.Object) (types.NamespacedName, bool) {
	a := pObj.GetAnnotations()
	return types.NamespacedName{Namespace: a[NamespaceAnnotation], Name: a[NameAnnotation]}, a[NameAnnotation] != ""
}

// candidates returns the virtual objects whose host name this is. Objects of older
// versions are found so, which have no annotations.
func (o *origin) candidates(pObj client.Object) ([]types.NamespacedName, error) {
	list, err := emptyList(o.virtual, o.obj)
	if err != nil {
		return nil, err
	}
	if err := o.virtual.List(context.Background(), list, client.MatchingFields{IndexByPhysicalName: pObj.GetName()}); err != nil {
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

// emptyList returns a list for objects of the kind, typed if the scheme knows it.
func emptyList(c client.Client, obj client.Object) (client.ObjectList, error) {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return nil, err
	}
	return newList(c.Scheme(), obj, gvk.GroupVersion().WithKind(gvk.Kind+"List"))
}
