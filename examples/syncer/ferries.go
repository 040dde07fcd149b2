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

var ferryKind = schema.GroupVersionKind{Group: "harbour.example.org", Version: "v1", Kind: "Ferry"}

// A ferry is a custom resource of the host. Tenants may have some, too.
type ferry = unstructured.Unstructured

func newFerry(namespace, name, route string) *ferry {
	f := &ferry{Object: map[string]any{}}
	f.SetGroupVersionKind(ferryKind)
	f.SetNamespace(namespace)
	f.SetName(name)
	if route != "" {
		f.Object["spec"] = map[string]any{"route": route}
	}
	return f
}

// ferries brings what tenants want down to the host, and what becomes of it up.
type ferries struct{ translator.Namespaced }

func newFerries(ctx *synccontext.RegisterContext) syncer.Syncer {
	empty := newFerry("", "", "")
	return syncer.FromTyped(empty, ferries{translator.NewNamespaced(ctx, "ferries", empty)})
}

// Init copies the kind from the host into the tenant, before anything is watched.
func (s ferries) Init(ctx *synccontext.RegisterContext) error {
	return translate.EnsureCRDFromPhysicalCluster(ctx.Context, ctx.PhysicalManager.GetConfig(), ctx.VirtualManager.GetConfig(), ferryKind)
}

// SyncerOptions lets several ferries be synced at a time.
func (s ferries) SyncerOptions() syncer.Options { return syncer.Options{MaxConcurrentReconciles: 4} }

// SyncDown makes the host's ferry.
func (s ferries) SyncDown(ctx *synccontext.SyncContext, vObj *ferry) (ctrl.Result, error) {
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj))
}

// Sync brings the status up and the rest down. What does not differ is not sent.
func (s ferries) Sync(ctx *synccontext.SyncContext, pObj, vObj *ferry) (ctrl.Result, error) {
	if !equality.Semantic.DeepEqual(pObj.Object["status"], vObj.Object["status"]) {
		before := vObj.DeepCopy()
		vObj.Object["status"] = pObj.Object["status"]
		if err := ctx.VirtualClient.Status().Patch(ctx.Context, vObj, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	updated := &ferry{Object: maps.Clone(pObj.DeepCopy().Object)}
	_, annotations, labels := s.TranslateMetadataUpdate(vObj, pObj)
	updated.SetAnnotations(annotations)
	updated.SetLabels(labels)
	updated.Object["spec"] = vObj.Object["spec"]
	return s.SyncDownUpdate(ctx, vObj, updated)
}

// ferryDefinition is what the host has installed.
func ferryDefinition() *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	schema := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   object(map[string]apiextensionsv1.JSONSchemaProps{"route": text}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"position": text}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "ferries.harbour.example.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: ferryKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "ferries", Singular: "ferry", Kind: "Ferry", ListKind: "FerryList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
