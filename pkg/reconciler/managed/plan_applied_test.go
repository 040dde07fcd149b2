package managed_test

import (
	"context"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// apply returns what a manifest of the volume leads to if a function answers the dry run.
func (w *world) apply(answer func(metav1.Object) error) (mg resource.Managed, validated bool, err error) {
	w.Helper()
	answering := interceptor.NewClient(w.API, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			sent, ok := o.(metav1.Object)
			if !ok {
				return errors.Errorf("a manifest is a %T", o)
			}

			return answer(sent)
		},
	})
	p := w.setUp(startable{reader: reader{w.m, w.listener()}, client: answering})

	return p.Applied(w.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": volume.GroupVersion.String(), "kind": "Volume",
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
		"spec":     map[string]any{"sizeGiB": int64(5)},
	}}, "kubectl")
}

// TestAppliedRefused verifies that only a missing permission leads to a plan of a manifest that is not validated. Every
// other refusal is one that the user would get, too.
func TestAppliedRefused(t *testing.T) {
	volumes := schema.GroupResource{Group: volume.GroupVersion.Group, Resource: "volumes"}
	forbidden := func(message string) error {
		return kerrors.NewForbidden(volumes, key.Name, errors.New(message))
	}
	webhook := kerrors.NewForbidden(schema.GroupResource{}, "", nil)
	webhook.ErrStatus.Message = `admission webhook "a.example.org" denied the request: User "a" cannot patch resource "b"`
	const in = ` resource "volumes" in API group "example.org" in the namespace "default"`
	for name, c := range map[string]struct {
		answer error
		want   string // of the error; none: the manifest is planned as it is
	}{
		"no permission to patch":  {answer: forbidden(`User "system:serviceaccount:a:b" cannot patch` + in)},
		"no permission to create": {answer: forbidden(`User "a \"b\"" cannot create` + in + ": no rule")},
		"wrapped":                 {answer: errors.Wrap(forbidden(`User "a" cannot patch`+in), "cannot apply")},
		"another verb":            {answer: forbidden(`User "a" cannot update` + in), want: "cannot update"},
		"webhook":                 {answer: webhook, want: "denied the request"},
		"quota": {
			answer: forbidden("exceeded quota: few, requested: count/volumes=1"), want: "exceeded quota",
		},
		"policy": {
			answer: forbidden("ValidatingAdmissionPolicy 'a' with binding 'b' denied request: " +
				`User "a" cannot patch resource "b"`),
			want: "denied request",
		},
		"namespace": {
			answer: forbidden("unable to create new content in namespace default because it is being terminated"),
			want:   "being terminated",
		},
		"proxy": {answer: kerrors.NewForbidden(schema.GroupResource{}, "", nil), want: "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			mg, validated, err := newWorld(t).apply(func(metav1.Object) error { return c.answer })
			switch {
			case c.want == "" && (err != nil || validated || mg.GetName() != key.Name):
				t.Errorf("%+v, validated %t, error %v", mg, validated, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestAppliedUID verifies that only an object that is stored keeps the UID of the answer to a dry run.
func TestAppliedUID(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		want    types.UID
	}{
		"new": {}, "stored": {version: "7", want: "answered"},
	} {
		mg, validated, err := newWorld(t).apply(func(answer metav1.Object) error {
			answer.SetUID("answered")
			answer.SetGeneration(1)
			answer.SetCreationTimestamp(metav1.Now())
			answer.SetResourceVersion(c.version)

			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		created, made := mg.GetCreationTimestamp(), c.want == ""
		if !validated || mg.GetUID() != c.want || created.IsZero() != made || (mg.GetGeneration() == 0) != made {
			t.Errorf("%s: %+v, validated %t", name, mg, validated)
		}
	}
}
