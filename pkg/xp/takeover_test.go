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

	patch := strings.TrimPrefix(args[len(args)-1], "--patch=")

	return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
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
func system(t *testing.T) (kube client.Client, migrate func() string) {
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

	return kube, func() string {
		t.Helper()

		var out bytes.Buffer

		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "moorage"), "migrate", "objects", "roles."+gv.Group, "--apply")
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Env = append(os.Environ(), "PATH="+bin, "KUBECONFIG="+cluster.Kubeconfig)

		if err := cmd.Run(); err != nil {
			t.Fatalf("moorage migrate objects: %v\n%s", err, &out)
		}

		return out.String()
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
