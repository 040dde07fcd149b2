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

var widgetKind = schema.GroupVersionKind{Group: "widgets.example.org", Version: "v1", Kind: "Widget"}

type widget = unstructured.Unstructured

func emptyWidget() *widget {
	b := &widget{}
	b.SetGroupVersionKind(widgetKind)
	return b
}

func widgetList() *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(widgetKind.GroupVersion().WithKind("WidgetList"))
	return l
}

func newWidget(namespace, name string, length int64) *widget {
	b := emptyWidget()
	b.SetNamespace(namespace)
	b.SetName(name)
	b.Object["spec"] = map[string]any{"length": length}
	return b
}

// A widgetSyncer copies the spec down and the status up.
type widgetSyncer struct {
	translator.NamespacedTranslator

	options syncer.Options
}

func newWidgetSyncer(ctx *synccontext.RegisterContext, o syncer.Options) syncer.Syncer {
	return syncer.FromTyped(emptyWidget(), widgetSyncer{
		translator.NewNamespacedTranslator(ctx, "widgets", emptyWidget()), o,
	})
}

func (s widgetSyncer) SyncerOptions() syncer.Options { return s.options }

// Init copies the CRD from the host.
func (s widgetSyncer) Init(ctx *synccontext.RegisterContext) error {
	return translate.EnsureCRDFromPhysicalCluster(
		ctx.Context, ctx.PhysicalManager.GetConfig(), ctx.VirtualManager.GetConfig(), widgetKind)
}

func (s widgetSyncer) SyncDown(ctx *synccontext.SyncContext, vObj *widget) (ctrl.Result, error) {
	pObj := s.TranslateMetadata(vObj).(*widget)
	delete(pObj.Object, "status")
	return s.SyncDownCreate(ctx, vObj, pObj)
}

func (s widgetSyncer) Sync(ctx *synccontext.SyncContext, pObj, vObj *widget) (ctrl.Result, error) {
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
