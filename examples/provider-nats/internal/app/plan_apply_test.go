package app_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// kubectlTested lets TestPlanApplied send the requests of kubectl by this kubectl instead.
const kubectlTested = "PLAN_TEST_KUBECTL"

// An applying user applies manifests to an API server.
type applying struct {
	*testing.T

	env     *devenv.Env
	planner *managed.Planner
}

func newApplying(t *testing.T) *applying {
	t.Helper()

	server := natstest.Start(t)

	env, err := devenv.Start(t.Context(), devenv.Options{NATSURL: server.ClientURL(), Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})

	p, err := provider.Plan(provider.DefaultOptions(), func(string) (*rest.Config, error) {
		return env.Cluster.RESTConfig()
	})
	if err != nil {
		t.Fatal(err)
	}

	cfg, err := p.Config("")
	if err != nil {
		t.Fatal(err)
	}

	planner, err := managed.NewPlanner(cfg, p.Manager(nil))
	if err != nil {
		t.Fatal(err)
	}

	if err := p.Setup(t.Context(), planner.Manager()); err != nil {
		t.Fatal(err)
	}

	return &applying{T: t, env: env, planner: planner}
}

func (a *applying) must(err error) {
	a.Helper()

	if err != nil {
		a.Fatal(err)
	}
}

// manifest returns the manifest of a stream with a spec.
func (a *applying) manifest(name, spec string) *unstructured.Unstructured {
	a.Helper()

	u := &unstructured.Unstructured{}
	a.must(yaml.Unmarshal([]byte("apiVersion: nats.moorage.dev/v1alpha1\nkind: Stream\nmetadata: {namespace: "+
		devenv.Namespace+", name: "+name+"}\nspec: "+spec), &u.Object))

	return u
}

// annotated returns a manifest with the annotation of kubectl apply.
func (a *applying) annotated(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	a.Helper()

	image, err := json.Marshal(manifest)
	a.must(err)

	u := manifest.DeepCopy()
	u.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(image) + "\n"})

	return u
}

// create creates an object as kubectl apply does.
func (a *applying) create(manifest *unstructured.Unstructured) {
	a.Helper()

	a.must(a.env.Client.Create(a.Context(), a.annotated(manifest), client.FieldOwner("kubectl-client-side-apply")))
}

// send sends a manifest by server-side apply.
func (a *applying) send(manifest *unstructured.Unstructured, manager string, force bool) error {
	options := []client.ApplyOption{client.FieldOwner(manager)}
	if force {
		options = append(options, client.ForceOwnership)
	}

	return a.env.Client.Apply(a.Context(), client.ApplyConfigurationFromUnstructured(manifest.DeepCopy()), options...)
}

// serverSide sends the requests of kubectl apply --server-side.
func (a *applying) serverSide(manifest *unstructured.Unstructured, force bool) {
	a.Helper()

	a.must(a.send(manifest, "kubectl", force))

	patch, err := csaupgrade.UpgradeManagedFieldsPatch(a.stored(manifest.GetName()),
		sets.New("kubectl-client-side-apply"), "kubectl")
	a.must(err)

	if patch == nil {
		return
	}

	a.must(a.env.Client.Patch(a.Context(), a.stored(manifest.GetName()), client.RawPatch(types.JSONPatchType, patch)))
	a.must(a.send(manifest, "kubectl", force))
}

// kubectl runs a kubectl, and reports whether there is one to be tested.
func (a *applying) kubectl(manifest *unstructured.Unstructured, how managed.Apply) bool {
	a.Helper()

	program := os.Getenv(kubectlTested)
	if program == "" {
		return false
	}

	image, err := json.Marshal(manifest)
	a.must(err)

	path := filepath.Join(a.TempDir(), "manifest.json")
	a.must(os.WriteFile(path, image, 0o600))

	args := []string{"--kubeconfig", a.env.Cluster.Kubeconfig, "apply", "-f", path}
	if how.ServerSide {
		args = append(args, "--server-side")
	}

	if how.Force {
		args = append(args, "--force-conflicts")
	}

	out, err := exec.CommandContext(a.Context(), program, args...).CombinedOutput()
	if err != nil {
		a.Errorf("%v: %s", err, out)
	}

	return true
}

// stored returns a stream as it is stored.
func (a *applying) stored(name string) *unstructured.Unstructured {
	a.Helper()

	u := a.manifest(name, "{}")
	a.must(a.env.Client.Get(a.Context(), client.ObjectKeyFromObject(u), u))

	return u
}

// written returns what users have written into an object, and what the API server has set as a default.
func written(mg *v1alpha1.Stream) any {
	annotations := maps.Clone(mg.Annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation)

	return []any{mg.Spec, mg.Labels, slices.Sorted(maps.Keys(annotations)), mg.Finalizers}
}

// TestPlanApplied compares what a plan is made for with the result of the requests that kubectl sends.
func TestPlanApplied(t *testing.T) {
	a := newApplying(t)

	const (
		before = `{forProvider: {subjects: [a.>], maxAge: 1h, description: old, maxBytes: 7, metadata: {a: b, c: d},
  sources: [{name: one, filterSubject: x}, {name: two}]}}`
		after = `{forProvider: {subjects: [a.>], maxBytes: 8, metadata: {a: e}, sources: [{name: one}]}}`
	)

	for name, c := range map[string]struct {
		before, after string
		how           managed.Apply
		meanwhile     func(name string) // the change of another field manager
		patch         string            // of kubectl apply
	}{
		"removed": {
			before: before, after: after,
			patch: `{"spec":{"forProvider":{"maxAge":null,"description":null,"maxBytes":8,"metadata":{"a":"e","c":null},
				"sources":[{"name":"one"}]}}}`,
		},
		"removed-defaults": {
			before: `{forProvider: {subjects: [a.>], retention: interest}}`, after: `{forProvider: {subjects: [a.>]}}`,
			patch: `{"spec":{"forProvider":{"retention":null}}}`,
		},
		"of-others": {
			before: before, after: after,
			meanwhile: func(name string) {
				a.must(a.send(a.manifest(name, `{forProvider: {maxAge: 2h, storage: memory}}`), "ops", true))
			},
			patch: `{"spec":{"forProvider":{"maxAge":null,"description":null,"maxBytes":8,"metadata":{"a":"e","c":null},
				"sources":[{"name":"one"}]}}}`,
		},
		"server-removed": {before: before, after: after, how: managed.Apply{ServerSide: true}},
		"server-removed-defaults": {
			before: `{forProvider: {subjects: [a.>], retention: interest}}`, after: `{forProvider: {subjects: [a.>]}}`,
			how: managed.Apply{ServerSide: true},
		},
		"server-of-others": {
			before: before, after: after, how: managed.Apply{ServerSide: true},
			meanwhile: func(name string) {
				a.must(a.send(a.manifest(name, `{forProvider: {maxAge: 1h, storage: memory, metadata: {c: d}}}`), "ops", false))
			},
		},
		"server-forced": {
			before: before, after: after, how: managed.Apply{ServerSide: true, Force: true},
			meanwhile: func(name string) {
				a.must(a.send(a.manifest(name, `{forProvider: {maxBytes: 9}}`), "ops", true))
			},
		},
		"server-again": {
			before: before, after: after, how: managed.Apply{ServerSide: true},
			meanwhile: func(name string) { a.serverSide(a.manifest(name, before), false) },
		},
		"new":        {after: after},
		"server-new": {after: after, how: managed.Apply{ServerSide: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.before != "" {
				a.create(a.manifest(name, c.before))
			}

			if c.meanwhile != nil {
				c.meanwhile(name)
			}

			mg, validated, err := a.planner.Applied(t.Context(), a.manifest(name, c.after), c.how)
			if err != nil || !validated {
				t.Fatalf("validated %t, %v", validated, err)
			}

			switch manifest := a.manifest(name, c.after); {
			case a.kubectl(manifest, c.how):
			case c.how.ServerSide:
				a.serverSide(manifest, c.how.Force)
			case c.before == "":
				a.create(manifest)
			default:
				a.must(a.env.Client.Patch(t.Context(), a.stored(name), client.RawPatch(types.MergePatchType, []byte(c.patch))))
			}

			want := &v1alpha1.Stream{}
			a.must(a.env.Client.Get(t.Context(), client.ObjectKeyFromObject(mg), want))

			got := mg.(*v1alpha1.Stream) // its kind is that of the manifest
			if diff := cmp.Diff(written(want), written(got)); diff != "" || (got.UID == "") != (c.before == "") {
				t.Errorf("UID %q; -want, +got:\n%s", got.UID, diff)
			}
		})
	}
}
