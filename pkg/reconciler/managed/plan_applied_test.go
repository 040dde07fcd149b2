package managed_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// apply returns what a manifest of the volume leads to if a function answers the dry run.
func (w *world) apply(how managed.Apply, answer func(metav1.Object) error) (
	mg resource.Managed, validated bool, err error) {
	w.Helper()
	answering := interceptor.NewClient(w.API, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			sent, ok := o.(metav1.Object)
			if !ok {
				return errors.Errorf("a manifest is a %T", o)
			}

			return answer(sent)
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return answer(o)
		},
	})
	p := w.setUp(startable{reader: reader{w.m, w.listener()}, client: answering})

	return p.Applied(w.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": volume.GroupVersion.String(), "kind": "Volume",
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
		"spec":     map[string]any{"sizeGiB": int64(5)},
	}}, how)
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
			for how, stored := range map[managed.Apply]bool{{}: true, {ServerSide: true}: true, {FieldManager: "x"}: false} {
				w := newWorld(t)
				if stored {
					w.create(func(*volume.Volume) {})
				}
				mg, validated, err := w.apply(how, func(metav1.Object) error { return c.answer })
				switch {
				case c.want == "" && (err != nil || validated || mg.GetName() != key.Name || (mg.GetUID() != "") != stored):
					t.Errorf("%+v: %+v, validated %t, error %v", how, mg, validated, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("%+v: error %v, want %q", how, err, c.want)
				}
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
		mg, validated, err := newWorld(t).apply(managed.Apply{}, func(answer metav1.Object) error {
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

// TestApplied verifies which object a manifest leads to, with and without the right to send a dry run.
func TestApplied(t *testing.T) {
	w := newWorld(t)
	w.create(func(v *volume.Volume) { v.Labels = map[string]string{"team": "sea"} })
	w.pass()
	manifest := func(change map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": volume.GroupVersion.String(), "kind": "Volume",
			"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
			"spec":     map[string]any{"sizeGiB": int64(5)},
		}}
		maps.Copy(u.Object, change)

		return u
	}
	var dry []string
	may := errors.New("unset")
	answering := interceptor.NewClient(w.API, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			options := (&client.ApplyOptions{}).ApplyOptions(opts)
			dry = append(slices.Clone(options.DryRun), options.FieldManager)

			return may
		},
	})
	p := w.setUp(startable{reader: reader{w.m, w.listener()}, client: answering})

	may = kerrors.NewForbidden(schema.GroupResource{Resource: "volumes"}, key.Name,
		errors.New(`User "a" cannot patch resource "volumes" in API group "example.org" in the namespace "default"`))
	mg, validated, err := p.Applied(t.Context(), manifest(nil), managed.Apply{ServerSide: true})
	if v, ok := mg.(*volume.Volume); err != nil || validated || !ok || v.UID != "uid-1" || v.Spec.SizeGiB != 5 ||
		v.Generation != 2 || v.Status.ID != "vol-1" || v.Labels["team"] != "sea" || len(v.Finalizers) != 1 {
		t.Errorf("forbidden: %+v, %t, %v", mg, validated, err)
	}
	if diff := cmp.Diff([]string{"All", "kubectl"}, dry); diff != "" {
		t.Errorf("the dry run: -want, +got:\n%s", diff)
	}
	other := manifest(map[string]any{"metadata": map[string]any{"namespace": "default", "name": "other"}})
	if mg, _, err := p.Applied(t.Context(), other, managed.Apply{}); err != nil || mg.GetUID() != "" ||
		mg.GetName() != "other" {
		t.Errorf("of a new object: %+v, %v", mg, err)
	}
	may = nil
	serverSide := managed.Apply{ServerSide: true, FieldManager: "x"}
	if mg, validated, err := p.Applied(t.Context(), manifest(nil), serverSide); err != nil || !validated ||
		mg.GetName() != key.Name {
		t.Errorf("validated: %+v, %t, %v", mg, validated, err)
	}
	if _, _, err := p.Applied(t.Context(), manifest(map[string]any{"kind": "Bucket"}), serverSide); err == nil {
		t.Error("another kind is no error")
	}
	if _, _, err := p.Applied(t.Context(), manifest(map[string]any{"spec": "none"}), serverSide); err == nil {
		t.Error("a spec of another type is no error")
	}
	may = errors.New("boom")
	if _, _, err := p.Applied(t.Context(), manifest(nil), serverSide); err == nil {
		t.Error("an error is none")
	}
}

// TestAppliedUnvalidated verifies that kubectl apply removes a field of its last manifest, also if this process has no
// permission for the dry run.
func TestAppliedUnvalidated(t *testing.T) {
	for name, c := range map[string]struct {
		last string
		want map[string]string // labels
		err  string
	}{
		"no last manifest": {want: map[string]string{"team": "sea", "of": "others"}},
		"removed": {
			last: `{"metadata":{"labels":{"team":"sea"}}}`, // all labels, as the manifest has none
		},
		"not JSON": {last: "{", err: "correct or remove it"},
	} {
		w := newWorld(t)
		w.create(func(v *volume.Volume) {
			v.Labels = map[string]string{"team": "sea", "of": "others"}
			v.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: c.last}
		})
		mg, _, err := w.apply(managed.Apply{}, func(metav1.Object) error {
			return kerrors.NewForbidden(schema.GroupResource{Resource: "volumes"}, key.Name,
				errors.New(`User "a" cannot patch resource "volumes"`))
		})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", name, err, c.err)
			}

			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := mg.(*volume.Volume); !ok || !maps.Equal(v.Labels, c.want) || v.Spec.SizeGiB != 5 {
			t.Errorf("%s: %+v", name, mg)
		}
	}
}
