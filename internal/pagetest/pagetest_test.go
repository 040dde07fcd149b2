package pagetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/internal/pagetest"
)

func TestCommands(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# Page\n\n## Before\n\n    kubectl get x\n\n## Back\n\nFirst:\n\n    kubectl get cars " +
		"--selector='a=b'\n\n    make demo\n    kubectl annotate cars x-\n\n```sh\nkubectl get z\n```\n\nIn text:\n" +
		"kubectl get t\n\n```yaml\nkubectl get u\n```\n\n### After\n\n    kubectl get y\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := pagetest.Commands(page, "## Back", "cars", "buckets")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"kubectl get buckets --selector='a=b'", "kubectl annotate buckets x-", "kubectl get z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, heading := range []string{"## Nowhere", "# Page"} {
		if got, err := pagetest.Commands(page, heading); err == nil {
			t.Errorf("%s: want an error, got %v", heading, got)
		}
	}
}

// newClient returns a fake client that knows the resources of the core.
func newClient(objects ...client.Object) client.Client {
	mapper := testrestmapper.TestOnlyStaticRESTMapper(clientgoscheme.Scheme)

	return fake.NewClientBuilder().WithRESTMapper(mapper).WithObjects(objects...).Build()
}

func TestKubectl(t *testing.T) {
	of := func(namespace, name, mark string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"mark": mark},
			Annotations: map[string]string{"a": "1", "b": "2", "c": "3"},
		}}
	}
	c := newClient(of("one", "x", "red"), of("one", "y", "blue"), of("two", "z", "red"))
	k := pagetest.Kubectl{Client: c}
	run := func(command string) string {
		t.Helper()
		out, err := k.Run(t.Context(), command)
		if err != nil {
			t.Fatal(err)
		}

		return out
	}
	if got := run("kubectl get configmaps --all-namespaces --selector=mark=red --output=go-template=" +
		`'{{range .items}}{{.metadata.namespace}} {{.metadata.name}}{{"\n"}}{{end}}'`); got != "one x\ntwo z\n" {
		t.Errorf("got %q", got)
	}
	run("kubectl annotate configmaps --namespace=one --selector=mark=red a- c-")
	list := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var bare []string
	for _, m := range list.Items {
		if len(m.Annotations) == 1 && m.Annotations["b"] == "2" {
			bare = append(bare, client.ObjectKeyFromObject(&m).String())
		}
	}
	if !slices.Equal(bare, []string{"one/x"}) {
		t.Errorf("annotations were taken off %v", bare)
	}
}

// TestKubectlOfOneObject checks the commands about one object, in the namespace of the Kubectl.
func TestKubectlOfOneObject(t *testing.T) {
	marked := func(namespace, name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: map[string]string{"a": "1"},
		}}
	}
	about := func(name, kind, object string) *eventsv1.Event {
		return &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: name}, Type: "Normal", Reason: "Seen", Note: name,
			Regarding: corev1.ObjectReference{Kind: kind, Name: object},
		}
	}
	c := newClient(marked("one", "x"), marked("one", "y"), marked("two", "x"),
		about("right", "ConfigMap", "x"), about("of another object", "ConfigMap", "y"),
		about("of another kind", "Secret", "x"))
	k := pagetest.Kubectl{Client: c, Namespace: "one"}
	if _, err := k.Run(t.Context(), `kubectl annotate configmap x --overwrite a="b $(date +%s)" c='d'`); err != nil {
		t.Fatal(err)
	}
	list := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Items {
		var after int64
		_, err := fmt.Sscanf(m.Annotations["a"], "b %d", &after)
		changed := err == nil && after > 1e9 && m.Annotations["c"] == "d"
		if key := client.ObjectKeyFromObject(&m).String(); changed != (key == "one/x") {
			t.Errorf("%s: annotations %v", key, m.Annotations)
		}
	}
	got, err := k.Run(t.Context(), "kubectl events --for configmap/x")
	if want := "Normal Seen ConfigMap/x right\n"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, command := range []string{"kubectl annotate configmap z --overwrite a=b", "kubectl events --for unknown/x"} {
		if _, err := k.Run(t.Context(), command); err == nil || !strings.Contains(err.Error(), command) {
			t.Errorf("%s: want an error, got %v", command, err)
		}
	}
}

// TestKubectlRefuses checks that a Kubectl refuses the commands that it does not run as kubectl would.
func TestKubectlRefuses(t *testing.T) {
	k := pagetest.Kubectl{Client: newClient()}
	for _, command := range []string{
		"make demo", "kubectl get", "kubectl delete configmaps --namespace=one",
		"kubectl get configmaps --namespace=one",
		"kubectl get configmaps --output=go-template={{.}}",
		"kubectl get configmaps --namespace=one --all-namespaces --output=go-template={{.}}",
		"kubectl get configmaps --namespace=one --output=go-template={{",
		"kubectl get configmaps --namespace=one --selector=! --output=go-template={{.}}",
		"kubectl get unknown --namespace=one --output=go-template={{.}}",
		"kubectl annotate configmaps --namespace=one a=b",
		"kubectl annotate configmaps --namespace=one",
		"kubectl annotate configmaps x --namespace=one a=b",
		"kubectl annotate configmaps --namespace=one --overwrite a=b",
		"kubectl get configmaps x --namespace=one --output=go-template={{.}}",
		"kubectl events --for configmap/x",
		"kubectl annotate configmaps --namespace=one --output=go-template={{.}} a-",
	} {
		if out, err := k.Run(t.Context(), command); err == nil || !strings.Contains(err.Error(), command) {
			t.Errorf("%s: want an error that says of what, got %q, %v", command, out, err)
		}
	}
}
