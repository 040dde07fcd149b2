package xp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/xp"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		if err := kubectl(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		os.Exit(0)
	}

	os.Exit(m.Run())
}

// kubectl stands in for the program of that name, which not every machine has: it gets and
// patches roles.
func kubectl(ctx context.Context, args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}

	c, err := client.New(config, client.Options{Scheme: scheme()})
	if err != nil {
		return err
	}

	if args[0] == "get" {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gv.WithKind("RoleList"))

		if err := c.List(ctx, list); err != nil {
			return err
		}

		return json.NewEncoder(os.Stdout).Encode(list)
	}

	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gv.WithKind("Role"))
	o.SetName(args[2])

	for _, arg := range args {
		if namespace, ok := strings.CutPrefix(arg, "--namespace="); ok {
			o.SetNamespace(namespace)
		}
	}

	patch := []byte(strings.TrimPrefix(args[len(args)-1], "--patch="))
	if slices.Contains(args, "--subresource=status") {
		return c.Status().Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch))
	}

	return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
}

// TestTakeOver takes over objects as crossplane-runtime leaves them, on a real API server, with
// moorage migrate objects: nothing is created twice, what was paused is not changed, and the
// finalizer of before goes when ours is there.
func TestTakeOver(t *testing.T) {
	kube, migrate := system(t)
	server := &paces{server: server{names: map[string]bool{"reader_1": true, "writer_1": true}}}
	r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: kube.Scheme()}, resource.ManagedKind(gv.WithKind("Role")), xp.WithExternalConnecter(server))

	reader := left(t, kube, "reader", nil)
	writer := left(t, kube, "writer", map[string]string{"crossplane.io/paused": "true"})

	if out := migrate(); !strings.Contains(out, "2 objects were changed") {
		t.Errorf("it says\n%s", out)
	}

	passes(t, r, reader)
	passes(t, r, writer)

	if len(server.names) != 2 || slices.Contains(server.updated, "writer_1") || !slices.Contains(server.updated, "reader_1") {
		t.Errorf("there are %v, and updated were %v", server.names, server.updated)
	}

	migrate()
	holds(t, kube, reader, managed.FinalizerName)
	holds(t, kube, writer, xp.FinalizerName) // paused: ours is not there yet

	patch(t, kube, writer, `{"metadata":{"annotations":{"krateo.io/paused":"false"}}}`)
	passes(t, r, writer)
	migrate()
	holds(t, kube, writer, managed.FinalizerName)

	if !slices.Contains(server.updated, "writer_1") {
		t.Error("what is not paused any more was not updated")
	}

	if err := kube.Delete(t.Context(), reader); err != nil {
		t.Fatal(err)
	}

	passes(t, r, reader)

	if server.names["reader_1"] {
		t.Error("the resource of the deleted object is still there")
	}

	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(reader), reader); !resource.IsNotFound(err) {
		t.Errorf("the deleted object is still there: %v", err)
	}
}

// TestGoBack takes objects over and gives them back, on a real API server. A reconciler that does what
// crossplane-runtime does with marks, pauses and finalizers goes on with them: nothing is created twice, what is
// paused is not changed, and a deletion ends with the resource gone.
func TestGoBack(t *testing.T) {
	kube, migrate := system(t)
	server := &paces{server: server{names: map[string]bool{"kept_1": true, "still_1": true, "dropped_1": true}}}
	r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: kube.Scheme()}, resource.ManagedKind(gv.WithKind("Role")), xp.WithExternalConnecter(server))

	marks := map[string]string{"crossplane.io/external-create-pending": "2026-01-02T03:04:05Z", "crossplane.io/external-create-succeeded": "2026-01-02T03:04:06Z"}
	kept := left(t, kube, "kept", marks)
	dropped := left(t, kube, "dropped", marks)
	still := left(t, kube, "still", marks)

	migrate()

	for _, mg := range []*role{kept, dropped, still} {
		passes(t, r, mg)
	}

	migrate()
	patch(t, kube, still, `{"metadata":{"annotations":{"krateo.io/paused":"true"}}}`)

	if out := migrate("--back-to", "crossplane-v2"); !strings.Contains(out, "3 objects were changed") {
		t.Errorf("it says\n%s", out)
	}

	for _, mg := range []*role{kept, dropped, still} {
		holds(t, kube, mg, xp.FinalizerName)

		for key := range mg.GetAnnotations() {
			if strings.HasPrefix(key, "krateo.io/") || strings.HasPrefix(key, "moorage.dev/") {
				t.Errorf("%s still has the annotation %s", mg.GetName(), key)
			}
		}

		if c := mg.GetCondition("Created"); c.Reason != "" {
			t.Errorf("%s still has the condition %v", mg.GetName(), c)
		}
	}

	if out := migrate("--back-to", "crossplane-v2"); !strings.Contains(out, "0 objects were changed") {
		t.Errorf("asked again, it says\n%s", out)
	}

	for _, mg := range []*role{dropped, still} {
		if err := kube.Delete(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}

	was := &former{kube: kube, names: server.names}
	for range 3 {
		for _, mg := range []*role{kept, dropped, still} {
			was.pass(t, mg)
		}
	}

	if len(was.created) > 0 || !server.names["kept_1"] || !server.names["still_1"] || server.names["dropped_1"] {
		t.Errorf("created were %v, and there are %v", was.created, server.names)
	}

	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(dropped), dropped); !resource.IsNotFound(err) {
		t.Errorf("the deleted object is still there: %v", err)
	}

	holds(t, kube, still, xp.FinalizerName)
	patch(t, kube, still, `{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
	was.pass(t, still)
	was.pass(t, still)

	if server.names["still_1"] {
		t.Error("the deletion of what is not paused any more did not go on")
	}
}

// A former is a reconciler that does with marks, pauses and finalizers what crossplane-runtime does.
type former struct {
	kube    client.Client
	names   map[string]bool
	created []string
}

// pass looks at an object once.
func (f *former) pass(t *testing.T, mg *role) {
	t.Helper()

	if err := f.kube.Get(t.Context(), client.ObjectKeyFromObject(mg), mg); resource.IsNotFound(err) {
		return
	} else if err != nil {
		t.Fatal(err)
	}

	have := mg.GetAnnotations()
	begun, ended := have["crossplane.io/external-create-pending"], max(have["crossplane.io/external-create-succeeded"], have["crossplane.io/external-create-failed"])
	name := have["crossplane.io/external-name"]

	switch {
	case have["crossplane.io/paused"] == "true":
	case begun > ended:
		t.Errorf("%s: the result of a creation is not known", mg.GetName())
	case mg.DeletionTimestamp != nil && f.names[name]:
		if len(mg.Finalizers) > 1 {
			t.Errorf("%s: other finalizers delay the deletion: %v", mg.GetName(), mg.Finalizers)
		} else {
			delete(f.names, name)
		}
	case mg.DeletionTimestamp != nil:
		patch(t, f.kube, mg, `{"metadata":{"finalizers":[]}}`)
	case !f.names[name]:
		f.created = append(f.created, name)
		f.names[name] = true
	}
}

// paces is a server whose resources are not up to date until they were updated.
type paces struct {
	server

	updated []string
}

func (p *paces) Connect(context.Context, resource.Managed) (xp.ExternalClient, error) { return p, nil }

func (p *paces) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := p.server.Observe(ctx, mg)
	o.ResourceUpToDate = slices.Contains(p.updated, meta.GetExternalName(mg))

	return o, err
}

func (p *paces) Update(_ context.Context, mg resource.Managed) (xp.ExternalUpdate, error) {
	p.updated = append(p.updated, meta.GetExternalName(mg))

	return xp.ExternalUpdate{}, nil
}

// system returns a client of an API server that has the kind, and moorage migrate objects.
func system(t *testing.T) (kube client.Client, migrate func(options ...string) string) {
	t.Helper()

	cluster := devcluster.Shared(t)

	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}

	open := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "roles." + gv.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gv.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "roles", Singular: "role", Kind: "Role", ListKind: "RoleList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gv.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}},
			}},
		},
	}

	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}

	if kube, err = client.New(config, client.Options{Scheme: scheme()}); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { forgetRoles(t, kube) })

	bin := t.TempDir()

	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(test, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}

	build := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("..", "..", "cmd", "moorage"), "-o", bin, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return kube, func(options ...string) string {
		t.Helper()

		var out bytes.Buffer

		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "moorage"), append([]string{"migrate", "objects", "roles." + gv.Group, "--apply"}, options...)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Env = append(os.Environ(), "PATH="+bin, "KUBECONFIG="+cluster.Kubeconfig)

		if err := cmd.Run(); err != nil {
			t.Fatalf("moorage migrate objects: %v\n%s", err, &out)
		}

		return out.String()
	}
}

// forgetRoles deletes what a test made: the next has the same API server.
func forgetRoles(t *testing.T, kube client.Client) {
	t.Helper()

	var roles unstructured.UnstructuredList
	roles.SetGroupVersionKind(gv.WithKind("RoleList"))

	if err := kube.List(context.Background(), &roles); err != nil {
		t.Fatal(err)
	}

	for i := range roles.Items {
		o := &roles.Items[i]
		if err := kube.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}

		if err := kube.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

// left returns an object as crossplane-runtime leaves it.
func left(t *testing.T, kube client.Client, name string, annotations map[string]string) *role {
	t.Helper()

	mg := &role{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Finalizers: []string{xp.FinalizerName}}}
	mg.SetAnnotations(map[string]string{"crossplane.io/external-name": name + "_1"})
	meta.AddAnnotations(mg, annotations)

	if err := kube.Create(t.Context(), mg); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { // the API server is that of other tests, too
		_ = kube.Patch(context.Background(), mg, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`)))
		_ = kube.Delete(context.Background(), mg)
	})

	return mg
}

// holds says that an object has one finalizer, and which.
func holds(t *testing.T, kube client.Client, mg *role, finalizer string) {
	t.Helper()

	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(mg), mg); err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(mg.GetFinalizers(), []string{finalizer}) {
		t.Errorf("%s has the finalizers %v, and not %s alone", mg.GetName(), mg.GetFinalizers(), finalizer)
	}
}

func patch(t *testing.T, kube client.Client, mg *role, text string) {
	t.Helper()

	if err := kube.Patch(t.Context(), mg, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}
