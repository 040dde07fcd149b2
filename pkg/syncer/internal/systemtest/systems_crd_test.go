package systemtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestEnsureCRD verifies that a CRD is installed once from a file or from the host, and
// that a missing one is an error.
func TestEnsureCRD(t *testing.T) {
	crd := widgetCRD()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	crd.Name = "gadgets.widgets.example.org"
	crd.Spec.Names.Plural, crd.Spec.Names.Singular = "gadgets", "gadget"
	crd.Spec.Names.Kind, crd.Spec.Names.ListKind = "Gadget", "GadgetList"
	crd.Spec.Conversion = nil
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gadget.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: widgetKind.Group, Version: "v1", Kind: "Gadget"}

	if err := translate.EnsureCRDFromPhysicalCluster(
		t.Context(), hostPlane.config, tenantPlane.config, kind); !errors.Is(err, translate.ErrKindNotServed) {
		t.Errorf("a kind that no cluster serves: %v", err)
	}
	for _, path := range []string{file, "the file is not read again"} {
		if err := translate.EnsureCRDFromFile(t.Context(), hostPlane.config, path, kind); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := translate.EnsureCRDFromPhysicalCluster(
			t.Context(), hostPlane.config, tenantPlane.config, kind); err != nil {
			t.Fatal(err)
		}
	}
	resource, err := translate.ConvertKindToResource(tenantPlane.config, kind)
	if err != nil || resource != kind.GroupVersion().WithResource("gadgets") {
		t.Errorf("got %v, %v", resource, err)
	}
	if err := translate.EnsureCRDFromFile(
		t.Context(), tenantPlane.config, "missing", widgetKind.GroupVersion().WithKind("Missing")); !errors.Is(
		err, os.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
}

// copyCRD creates a CRD on the host, copies it to the tenant and returns the copy.
func copyCRD(
	t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, kind schema.GroupVersionKind,
) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	if err := hostPlane.api.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the host serves the kind", func() bool {
		served, err := translate.KindExists(hostPlane.config, kind)
		return served && err == nil
	})
	if err := translate.EnsureCRDFromPhysicalCluster(t.Context(), hostPlane.config, tenantPlane.config, kind); err != nil {
		t.Fatal(err)
	}
	copied := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}}
	if !exists(t, tenantPlane.api, copied) {
		t.Fatal("the kind was not copied")
	}

	return copied
}

// TestProtectedGroup verifies that the approval annotation of a protected API group is
// copied, and no other annotation.
func TestProtectedGroup(t *testing.T) {
	const group = "x.k8s.io"
	crd := widgetCRD()
	crd.Name, crd.Spec.Group, crd.Spec.Conversion = "widgets."+group, group, nil
	crd.Annotations = map[string]string{
		apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, test", "note": "the host's",
	}
	kind := widgetKind
	kind.Group = group
	copied := copyCRD(t, crd, kind)
	if got := copied.Annotations; len(got) != 1 || got[apiextensionsv1.KubeAPIApprovedAnnotation] != "unapproved, test" {
		t.Errorf("got annotations %v, want the approval alone", got)
	}
	b := newWidget(namespace(t, tenantPlane.api), "a", 12)
	b.SetGroupVersionKind(kind)
	if err := tenantPlane.api.Create(t.Context(), b); err != nil {
		t.Error(err)
	}
}

// TestConversionWebhook verifies that a conversion webhook is not copied, because the
// tenant cannot reach it: on the host another version than the stored one cannot be used
// without the webhook, in the tenant the requested version is the stored one.
func TestConversionWebhook(t *testing.T) {
	crd := widgetCRD()
	crd.Name = "gizmos.widgets.example.org"
	crd.Spec.Names.Plural, crd.Spec.Names.Singular = "gizmos", "gizmo"
	crd.Spec.Names.Kind, crd.Spec.Names.ListKind = "Gizmo", "GizmoList"
	older := crd.Spec.Versions[0]
	older.Name, older.Storage = "v1beta1", false
	crd.Spec.Versions = append(crd.Spec.Versions, older)
	if crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
		t.Fatal("the host's kind has no webhook")
	}
	kind := schema.GroupVersionKind{Group: widgetKind.Group, Version: "v1beta1", Kind: "Gizmo"}
	copied := copyCRD(t, crd, kind)
	if c := copied.Spec.Conversion; c.Strategy != apiextensionsv1.NoneConverter || c.Webhook != nil {
		t.Errorf("the conversion was copied: %v", c)
	}
	if v := copied.Spec.Versions; len(v) != 1 || v[0].Name != "v1beta1" || !v[0].Storage {
		t.Errorf("got versions %v, want the one that was asked for", v)
	}
	gizmo := func(p *controlPlane) *widget {
		b := newWidget(namespace(t, p.api), "a", 12)
		b.SetGroupVersionKind(kind)
		return b
	}
	if err := tenantPlane.api.Create(t.Context(), gizmo(tenantPlane)); err != nil {
		t.Errorf("in the tenant: %v", err)
	}
	if err := hostPlane.api.Create(t.Context(), gizmo(hostPlane)); err == nil ||
		!strings.Contains(err.Error(), "conversion webhook") {
		t.Errorf("on the host, whose webhook does not answer: %v", err)
	}
}
