package syncer_test

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// settings synchronizes ConfigMaps without type assertions.
type settings struct{ translator.Namespaced }

func (s settings) SyncDown(ctx *synccontext.SyncContext, vObj *corev1.ConfigMap) (ctrl.Result, error) {
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj))
}

func (s settings) Sync(ctx *synccontext.SyncContext, pObj, vObj *corev1.ConfigMap) (ctrl.Result, error) {
	changed, annotations, labels := s.TranslateMetadataUpdate(vObj, pObj)
	if !changed && maps.Equal(pObj.Data, vObj.Data) {
		return ctrl.Result{}, nil
	}
	updated := pObj.DeepCopy()
	updated.Annotations, updated.Labels, updated.Data = annotations, labels, vObj.Data
	return s.SyncDownUpdate(ctx, vObj, updated)
}

// Example calls a syncer as a Runner does, for one pair of objects.
func Example() {
	scheme := syncertesting.NewScheme()
	host, tenant := syncertesting.NewFakeClient(scheme), syncertesting.NewFakeClient(scheme)
	reg := syncertesting.NewFakeRegisterContext(host, tenant)
	ctx := synccontext.ConvertContext(reg, "settings")
	s := syncer.FromTyped(&corev1.ConfigMap{}, settings{translator.NewNamespaced(reg, "settings", &corev1.ConfigMap{})})

	vObj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "colours"},
		Data:       map[string]string{"sky": "blue"},
	}
	if _, err := s.SyncDown(ctx, vObj); err != nil {
		fmt.Println(err)
	}
	list := &corev1.ConfigMapList{}
	if err := host.List(ctx.Context, list); err != nil {
		fmt.Println(err)
	}
	for _, pObj := range list.Items {
		fmt.Println(pObj.Namespace, pObj.Name, pObj.Data)
	}
	// Output: test colours-x-default-x-suffix map[sky:blue]
}
