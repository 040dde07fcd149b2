//go:build !race

// The tests run other programs, which the race detector does not see: once is enough.

package dev

import (
	"bytes"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/pinned"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

const repository = "../../../.."

// compiling is the additional time for the compiler: the provider has to be compiled, and the first time the API
// server.
const compiling = 10 * time.Minute

// provider generates a provider with one kind in a folder.
func provider(t *testing.T) (dir string) {
	t.Helper()

	checkout, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}

	plan, err := scaffold.Plan(scaffold.Input{After: scaffold.Project{
		Template: scaffold.Template, Module: "example.org/provider-cloud", Group: "cloud.example.org",
		Moorage: scaffold.Source{Version: "v0.0.0", Checkout: checkout},
		Kinds:   []scaffold.Kind{{Kind: "Bucket", Version: "v1alpha1", Class: scaffold.Named}},
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

// works runs the provider as the chart does, with the rights of its service account alone, until an object of the
// namespace is Ready and its probes and, with that scheme and token, its metrics are answered.
func works(t *testing.T, s *session, account, namespace, scheme, token string) {
	t.Helper()

	var said bytes.Buffer

	p := inPod(t, s)
	// a pod knows its namespace
	args := slices.Concat(p.Args, []string{"--leader-election-namespace", "providers"}, p.flags)

	c, err := start(&locked{to: &said}, s.Dir, "provider", append(s.env(), "KUBECONFIG="+account),
		filepath.Join(s.Dir, "bin", "provider"), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()

	o := newBucket(cloud, namespace, "in-"+namespace) // the fake knows no namespaces

	if err := s.cluster.apply(t.Context(), []object{o}); err != nil {
		t.Fatal(err)
	}

	if err := c.awaits(t.Context(), wait.Budget(t), func() error {
		if s.cluster.ready(t.Context(), o) != nil {
			return errors.New("the object is not ready")
		}

		return nil
	}); err != nil {
		c.stop()
		t.Fatalf("%v\n%s", err, &said)
	}

	p.asked(t, c, scheme, token)

	where, err := s.cluster.await(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	var found struct {
		Metadata struct{ Finalizers []string }
	}
	if err := s.cluster.call(t.Context(), http.MethodGet, where, nil, &found); err != nil {
		t.Fatal(err)
	}

	if slices.Contains(found.Metadata.Finalizers, unclaimed) || len(found.Metadata.Finalizers) != 1 {
		t.Errorf("the object was claimed, and its finalizers are %q", found.Metadata.Finalizers)
	}
}

// cloud is the API group of the provider.
const cloud = "cloud.example.org"

// newBucket returns an object as a user writes it.
func newBucket(group, namespace, name string) object {
	o := object{APIVersion: group + "/v1alpha1", Kind: "Bucket"}
	o.Metadata.Name, o.Metadata.Namespace = name, namespace
	o.text = []byte("{apiVersion: " + o.APIVersion + ", kind: Bucket, metadata: {name: " + name + ", namespace: " +
		namespace + "}, spec: {forProvider: {size: 40}}}")

	return o
}

// born returns the finalizers that an object gets at creation, by a dry run.
func born(t *testing.T, s *session, o object) ([]string, error) {
	t.Helper()

	where, err := s.cluster.await(t.Context(), o)
	if err != nil {
		return nil, err
	}

	var made struct {
		Metadata struct{ Finalizers []string }
	}
	err = s.cluster.call(t.Context(), http.MethodPatch, where+"?fieldManager=test&force=true&dryRun=All", o.text, &made)

	return made.Metadata.Finalizers, err
}

// awaitBorn waits until such objects are created with these finalizers: the API server applies a policy some time
// after it was stored, and refuses objects until it serves their kind.
func awaitBorn(t *testing.T, s *session, o object, want ...string) {
	t.Helper()

	var (
		got []string
		err error
	)

	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("objects of %s in %s were born with the finalizers %q, want %q (%v)", o.APIVersion, o.Metadata.Namespace, got,
				want, err)
		}
	})
	wait.Until(t, "objects are born with their finalizers", func() bool {
		got, err = born(t, s, o)

		return err == nil && slices.Equal(got, want)
	})
}

// unclaimed is the finalizer that the policy adds.
const unclaimed = "moorage.dev/unclaimed"

// elsewhere returns an object outside the policies of the provider: its kind has the same name in another group.
func elsewhere(t *testing.T, s *session) object {
	t.Helper()

	const group = "gateway.example.org"

	kinds, err := read(filepath.Join(s.Dir, "package", "crds", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	for i := range kinds {
		kinds[i].Metadata.Name = "buckets." + group
		kinds[i].text = bytes.ReplaceAll(kinds[i].text, []byte("cloud.example.org"), []byte(group))
	}

	if err := s.cluster.apply(t.Context(), kinds); err != nil {
		t.Fatal(err)
	}

	return newBucket(group, "default", "elsewhere")
}

// TestChartOnCluster installs the chart of a provider by Helm, changes it, and uninstalls it: its rights are enough,
// the kind stays, and the rest is removed.
func TestChartOnCluster(t *testing.T) {
	wait.Allow(t, compiling)

	var said bytes.Buffer

	s := &session{Options: Options{Dir: provider(t), Out: &locked{to: &said}, Fake: freeAddress(t)}}
	s.kubeconfig = filepath.Join(s.Dir, "cluster", "kubeconfig")

	if err := s.run(t.Context(), "make", "generate"); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}

	server, err := s.startServer(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	defer server.stop()

	if err := s.renewFake(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	defer s.fake.stop()

	program, err := pinned.Tool(filepath.Join("..", "scaffold", "testdata", "helm"), "helm")
	if err != nil {
		t.Fatal(err)
	}

	helm := func(args ...string) {
		t.Helper()

		if out, err := exec.Command(program,
			append(args, "--kubeconfig", s.kubeconfig, "--namespace", "providers")...).CombinedOutput(); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	there := func(path string) bool { return there(t, s, path) }

	const (
		policy     = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/cloud-provider-cloud"
		deployment = "/apis/apps/v1/namespaces/providers/deployments/cloud-provider-cloud"
		role       = "/apis/rbac.authorization.k8s.io/v1/clusterroles/cloud-provider-cloud"
		local      = "/apis/rbac.authorization.k8s.io/v1/namespaces/providers/roles/cloud-provider-cloud"
		crd        = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/buckets.cloud.example.org"
	)

	chart := filepath.Join(s.Dir, "deploy", "chart")

	withoutKind(t, s)

	helm("install", "cloud", chart, "--create-namespace",
		"--set",
		"metrics.readers[0].kind=ServiceAccount,metrics.readers[0].name=scraper,metrics.readers[0].namespace=providers")

	if !there(deployment) || !there(role) || !there(crd) || !there(policy) || there(local) {
		t.Error("the chart is installed, and not all of it is there")
	}

	other := elsewhere(t, s)
	probe := func(namespace string) object { return newBucket(cloud, namespace, "probe") }

	awaitBorn(t, s, probe("default"), unclaimed)
	awaitBorn(t, s, probe("providers"), unclaimed)
	awaitBorn(t, s, other)

	account := serviceAccount(t, s)
	awaitRights(t, account, map[string]bool{buckets: true, "/namespaces/providers" + buckets: true})

	works(t, s, account, "default", "https", scraper(t, s))

	plansUpgrades(t, s, program, chart)

	helm("upgrade", "cloud", chart, "--set",
		"rbac.namespaced=true,rbac.namespaces={kube-public},networkPolicy.enabled=true,metrics.secure=false")

	if !there(local) || !there("/apis/networking.k8s.io/v1/namespaces/providers/networkpolicies/cloud-provider-cloud") {
		t.Error("values were changed, and what is there did not")
	}

	// In other namespaces no provider would remove it.
	awaitBorn(t, s, probe("default"))
	awaitBorn(t, s, probe("providers"), unclaimed)

	awaitRights(t, account, map[string]bool{buckets: false, "/namespaces/providers" + buckets: true})

	works(t, s, account, "providers", "http", "")

	installs(t, s, helm)

	helm("uninstall", "cloud")

	if there(deployment) || there(role) || there(policy) {
		t.Error("the release is gone, and its objects are not")
	}

	if !there(crd) {
		t.Error("the release took its kind along, and with it all objects there are")
	}
}

// there reports whether an object exists at a path of the API server.
func there(t *testing.T, s *session, path string) bool {
	t.Helper()

	err := s.cluster.call(t.Context(), http.MethodGet, path, nil, nil)
	if err != nil && !strings.Contains(err.Error(), "404") {
		t.Fatal(err)
	}

	return err == nil
}

// installs installs the chart of the golden project, which has other kinds and rights, and uninstalls it.
func installs(t *testing.T, s *session, helm func(args ...string)) {
	t.Helper()

	const (
		policy = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/provider-nats"
		role   = "/apis/rbac.authorization.k8s.io/v1/clusterroles/provider-nats"
		crd    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/streams.nats.moorage.dev"
	)

	chart, err := filepath.Abs(filepath.Join(repository, "examples", "provider-nats", "deploy", "chart"))
	if err != nil {
		t.Fatal(err)
	}

	helm("install", "provider-nats", chart)

	if !there(t, s, "/apis/apps/v1/namespaces/providers/deployments/provider-nats") || !there(t, s, role) ||
		!there(t, s, policy) || !there(t, s, crd) {
		t.Error("the chart of the example is installed, and not all of it is there")
	}

	stream := object{APIVersion: "nats.moorage.dev/v1alpha1", Kind: "Stream"}
	stream.Metadata.Name, stream.Metadata.Namespace = "probe", "default"
	stream.text = []byte(
		"{apiVersion: nats.moorage.dev/v1alpha1, kind: Stream, metadata: {name: probe, namespace: default}, spec: " +
			"{forProvider: {subjects: [probe]}}}")
	awaitBorn(t, s, stream, unclaimed)

	helm("uninstall", "provider-nats")

	if there(t, s, role) || there(t, s, policy) || !there(t, s, crd) {
		t.Error("the release of the example is gone: so should be its rights, but not its kinds")
	}
}
