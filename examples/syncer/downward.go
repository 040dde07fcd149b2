package main

import (
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

var (
	shipmentKind = schema.GroupVersionKind{Group: "logistics.example.org", Version: "v1", Kind: "Shipment"}
	depotKind    = schema.GroupVersionKind{Group: "logistics.example.org", Version: "v1", Kind: "Depot"}
)

// A custom is a custom resource of the host, a Shipment or a Depot. Tenants may have some, too.
type custom = unstructured.Unstructured

func newObject(kind schema.GroupVersionKind, namespace, name, route string) *custom {
	o := &custom{Object: map[string]any{}}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	if route != "" {
		o.Object["spec"] = map[string]any{"route": route}
	}
	return o
}

// downward syncs tenants' objects down to the host, and their status up.
type downward struct {
	translator.Namespaced

	kind       schema.GroupVersionKind
	onConflict syncer.ConflictPolicy
}

// newShipments returns a syncer of shipments. If the host has its own object under a name that a tenant wants, it is
// left alone: that is the default.
func newShipments(ctx *synccontext.RegisterContext) syncer.Syncer {
	return newDownward(ctx, "shipments", shipmentKind, syncer.ConflictError)
}

// newDepots returns a syncer of depots. It adopts an object that the host had before, if it has no marker.
func newDepots(ctx *synccontext.RegisterContext) syncer.Syncer {
	return newDownward(ctx, "depots", depotKind, syncer.ConflictAdopt)
}

func newDownward(ctx *synccontext.RegisterContext, name string, kind schema.GroupVersionKind,
	onConflict syncer.ConflictPolicy) syncer.Syncer {
	empty := newObject(kind, "", "", "")
	return syncer.FromTyped(empty, downward{translator.NewNamespaced(ctx, name, empty), kind, onConflict})
}

// Init copies the definition of the kind from the host to the tenant, before anything is watched.
func (s downward) Init(ctx *synccontext.RegisterContext) error {
	return translate.EnsureCRDFromPhysicalCluster(ctx.Context, ctx.PhysicalManager.GetConfig(),
		ctx.VirtualManager.GetConfig(), s.kind)
}

// SyncerOptions returns options with which several objects are synced at a time.
func (s downward) SyncerOptions() syncer.Options {
	return syncer.Options{MaxConcurrentReconciles: 4, OnConflict: s.onConflict}
}

// SyncDown creates the object on the host.
func (s downward) SyncDown(ctx *synccontext.SyncContext, vObj *custom) (ctrl.Result, error) {
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj))
}

// Sync copies the status up and everything else down. It writes only differences.
func (s downward) Sync(ctx *synccontext.SyncContext, pObj, vObj *custom) (ctrl.Result, error) {
	if !equality.Semantic.DeepEqual(pObj.Object["status"], vObj.Object["status"]) {
		before := vObj.DeepCopy()
		vObj.Object["status"] = pObj.Object["status"]
		if err := ctx.VirtualClient.Status().Patch(ctx.Context, vObj, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	updated := &custom{Object: maps.Clone(pObj.DeepCopy().Object)}
	_, annotations, labels := s.TranslateMetadataUpdate(vObj, pObj)
	updated.SetAnnotations(annotations)
	updated.SetLabels(labels)
	updated.Object["spec"] = vObj.Object["spec"]
	return s.SyncDownUpdate(ctx, vObj, updated)
}

// definition returns the CustomResourceDefinition of a kind on the host.
func definition(kind schema.GroupVersionKind, plural string) *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	schema := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   object(map[string]apiextensionsv1.JSONSchemaProps{"route": text}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"position": text}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind.Kind, ListKind: kind.Kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
			}},
		},
	}
}
