package systemtest

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

var boatKind = schema.GroupVersionKind{Group: "harbour.example.org", Version: "v1", Kind: "Boat"}

type boat = unstructured.Unstructured

func emptyBoat() *boat {
	b := &boat{}
	b.SetGroupVersionKind(boatKind)
	return b
}

func boatList() *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(boatKind.GroupVersion().WithKind("BoatList"))
	return l
}

func newBoat(namespace, name string, length int64) *boat {
	b := emptyBoat()
	b.SetNamespace(namespace)
	b.SetName(name)
	b.Object["spec"] = map[string]any{"length": length}
	return b
}

// boatSyncer brings specs down and statuses up.
type boatSyncer struct {
	translator.NamespacedTranslator

	options syncer.Options
}

func newBoatSyncer(ctx *synccontext.RegisterContext, o syncer.Options) syncer.Syncer {
	return syncer.FromTyped(emptyBoat(), boatSyncer{translator.NewNamespacedTranslator(ctx, "boats", emptyBoat()), o})
}

func (s boatSyncer) SyncerOptions() syncer.Options { return s.options }

// Init copies the kind from the host.
func (s boatSyncer) Init(ctx *synccontext.RegisterContext) error {
	return translate.EnsureCRDFromPhysicalCluster(ctx.Context, ctx.PhysicalManager.GetConfig(), ctx.VirtualManager.GetConfig(), boatKind)
}

func (s boatSyncer) SyncDown(ctx *synccontext.SyncContext, vObj *boat) (ctrl.Result, error) {
	pObj := s.TranslateMetadata(vObj).(*boat)
	delete(pObj.Object, "status")
	return s.SyncDownCreate(ctx, vObj, pObj)
}

func (s boatSyncer) Sync(ctx *synccontext.SyncContext, pObj, vObj *boat) (ctrl.Result, error) {
	if status := pObj.Object["status"]; !equality.Semantic.DeepEqual(status, vObj.Object["status"]) {
		before := vObj.DeepCopy()
		vObj.Object["status"] = status
		if err := ctx.VirtualClient.Status().Patch(ctx.Context, vObj, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	updated := pObj.DeepCopy()
	_, annotations, labels := s.TranslateMetadataUpdate(vObj, pObj)
	updated.SetAnnotations(annotations)
	updated.SetLabels(labels)
	updated.Object["spec"] = vObj.Object["spec"]
	return s.SyncDownUpdate(ctx, vObj, updated)
}
