package translator_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// ExampleNewNamespacedTranslator translates an object and maps it back by its
// annotations.
func ExampleNewNamespacedTranslator() {
	scheme := syncertesting.NewScheme()
	ctx := syncertesting.NewFakeRegisterContext(syncertesting.NewFakeClient(scheme), syncertesting.NewFakeClient(scheme))
	t := translator.NewNamespacedTranslator(ctx, "configmaps", &corev1.ConfigMap{})

	pObj := t.TranslateMetadata(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "config"}})
	fmt.Println(pObj.GetNamespace(), pObj.GetName())
	fmt.Println(t.PhysicalToVirtual(pObj))
	fmt.Println(t.IsManaged(pObj))
	// Output:
	// test config-x-default-x-suffix
	// default/config
	// true <nil>
}
