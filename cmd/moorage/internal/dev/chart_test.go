//go:build !race

// What is tested here are other programs, which the race detector does not see: once is
// enough.

package dev

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/pinned"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

const repository = "../../../.."

// provider makes a provider with one kind in a folder.
func provider(t *testing.T) (dir string) {
	t.Helper()

	checkout, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}

	plan, err := scaffold.Plan(scaffold.Input{After: scaffold.Project{
		Template: scaffold.Template, Module: "example.org/provider-dock", Group: "dock.example.org",
		Moorage: scaffold.Source{Version: "v0.0.0", Checkout: checkout},
		Kinds:   []scaffold.Kind{{Kind: "Berth", Version: "v1alpha1", Class: scaffold.Named}},
	}})
	if err != nil {
		t.Fatal(err)
	}

	dir = t.TempDir()

	verdicts, err := scaffold.Judge(dir, plan)
	if err != nil {
		t.Fatal(err)
	}

	if err := scaffold.Apply(dir, verdicts, false); err != nil {
		t.Fatal(err)
	}

	return dir
}

// TestChartOnCluster installs the chart of a provider by Helm, changes it, and takes it
// away: the kind stays, and the rest goes.
func TestChartOnCluster(t *testing.T) {
	var said bytes.Buffer

	s := &session{Options: Options{Dir: provider(t), Out: &locked{to: &said}}}
	s.kubeconfig = filepath.Join(s.Dir, "cluster", "kubeconfig")

	if err := s.run(t.Context(), "make", "generate"); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}

	server, err := s.startServer(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	defer server.stop()

	program, err := pinned.Tool(filepath.Join("..", "scaffold", "testdata", "helm"), "helm")
	if err != nil {
		t.Fatal(err)
	}

	helm := func(args ...string) {
		t.Helper()

		if out, err := exec.Command(program, append(args, "--kubeconfig", s.kubeconfig, "--namespace", "harbour")...).CombinedOutput(); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	there := func(path string) bool {
		t.Helper()

		err := s.cluster.call(t.Context(), http.MethodGet, path, nil, nil)
		if err != nil && !strings.Contains(err.Error(), "404") {
			t.Fatal(err)
		}

		return err == nil
	}

	const (
		deployment = "/apis/apps/v1/namespaces/harbour/deployments/dock-provider-dock"
		role       = "/apis/rbac.authorization.k8s.io/v1/clusterroles/dock-provider-dock"
		local      = "/apis/rbac.authorization.k8s.io/v1/namespaces/harbour/roles/dock-provider-dock"
		crd        = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/berths.dock.example.org"
	)

	chart := filepath.Join(s.Dir, "deploy", "chart")

	helm("install", "dock", chart, "--create-namespace")

	if !there(deployment) || !there(role) || !there(crd) || there(local) {
		t.Error("the chart is installed, and not all of it is there")
	}

	helm("upgrade", "dock", chart, "--set", "rbac.namespaced=true,networkPolicy.enabled=true,metrics.secure=true")

	if !there(local) || !there("/apis/networking.k8s.io/v1/namespaces/harbour/networkpolicies/dock-provider-dock") {
		t.Error("values were changed, and what is there did not")
	}

	helm("uninstall", "dock")

	if there(deployment) || there(role) {
		t.Error("the release is gone, and its objects are not")
	}

	if !there(crd) {
		t.Error("the release took its kind along, and with it all objects there are")
	}
}
