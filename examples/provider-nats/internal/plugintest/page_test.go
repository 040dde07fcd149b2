package plugintest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
)

// A block is a fenced block of the page.
type block struct{ kind, text string }

var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

func blocks(t *testing.T, page string) (out []block) {
	t.Helper()

	text, err := os.ReadFile(page)
	must(t, err)

	for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
		out = append(out, block{m[1], m[2]})
	}

	return out
}

// What differs between two runs: times and gaps of tables.
var (
	durations = regexp.MustCompile(`\b(\d+[hms])+\b`)
	gaps      = regexp.MustCompile(` +`)
)

// comparable returns an output without ages.
func comparable(s string) string {
	const values = `"`

	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		parts := strings.Split(line, values) // values of fields are compared as they are
		if strings.HasPrefix(line, "The provider answers: ") {
			parts = []string{line}
		}

		for j := 0; j < len(parts); j += 2 {
			parts[j] = gaps.ReplaceAllString(durations.ReplaceAllString(parts[j], "5m"), " ")
		}

		lines[i] = strings.TrimSpace(strings.Join(parts, values))
	}

	return strings.Join(lines, "\n")
}

// TestPage runs the blocks of docs/kubectl.md in their order, and compares what they print. The command that installs
// the plugin is run by the tests of the plugin.
func TestPage(t *testing.T) {
	w := newWorld(t)
	all, shells := blocks(t, page), 0

	for i, b := range all {
		if b.kind != "sh" || strings.HasPrefix(b.text, "go install ") {
			continue
		}

		shells++

		code, out := w.run(w.kubeconfig, b.text)
		if want := exitCode(b.text); code != want {
			t.Errorf("exit code %d, want %d, of\n%s\n%s", code, want, b.text, out)
		}

		if i+1 < len(all) && all[i+1].kind == "text" {
			if diff := cmp.Diff(comparable(all[i+1].text), comparable(out)); diff != "" {
				t.Errorf("the output of\n%s\nis, -page, +printed:\n%s\n%s", b.text, diff, out)
			}
		}
	}

	if shells < 7 {
		t.Errorf("%d blocks were run: were they found?", shells)
	}

	w.users(all)
}

// exitCode returns the exit code of a block: 2 if something differs.
func exitCode(text string) int {
	if strings.TrimSpace(text) == "kubectl moorage drift" {
		return 2
	}

	return 0
}

// users runs commands as users with fewer rights: with the role of the page, the same without patch, and none.
func (w *world) users(all []block) {
	w.Helper()

	role := &rbacv1.Role{}

	for _, b := range all {
		if b.kind == "yaml" {
			must(w.T, yaml.UnmarshalStrict([]byte(b.text), role))
		}
	}

	w.grant("user", role)

	reader := role.DeepCopy()
	reader.ObjectMeta = metav1.ObjectMeta{Namespace: devenv.Namespace, Name: "reader"}
	reader.Rules[0].Verbs = []string{"get", "list", "watch"}
	w.grant("reader", reader)

	viewer := reader.DeepCopy()
	viewer.ObjectMeta = metav1.ObjectMeta{Namespace: devenv.Namespace, Name: "viewer"}
	viewer.Rules = viewer.Rules[:1] // no events
	w.grant("viewer", viewer)

	const in = " -n " + devenv.Namespace

	for _, tc := range []struct {
		user, line string
		code       int
		want       string
	}{
		{"user", "kubectl-moorage why stream orders" + in, 0, "Handled the request for a reconcile: Tolerate."},
		{"reader", "kubectl-moorage why stream orders" + in, 0, `you may not patch Stream "orders" in namespace "default"`},
		{"reader", "kubectl-moorage why stream orders" + in, 0, "Change the policy, or the spec."},
		{"reader", "kubectl-moorage drift" + in, 2, "stream/orders"},
		{"reader", "kubectl-moorage drift -A", 1, "only with -n in those of your namespaces (Forbidden)"},
		{"reader", "kubectl-moorage history stream/orders" + in, 0, "Normal ReconcileRequestHandled"},
		{"reader", "kubectl-moorage wait stream/orders" + in, 0, "stream/orders is ready"},
		{"reader", "kubectl-moorage pause stream/orders" + in, 1, "you may not patch Stream"},
		{"viewer", "kubectl-moorage drift" + in, 2, "stream/orders"},
		{"viewer", "kubectl-moorage why stream/orders" + in, 0, `you may not patch Stream "orders" in namespace`},
		{"viewer", "kubectl-moorage why stream/orders" + in, 0, "Change the policy, or the spec."},
		{"viewer", "kubectl-moorage history stream/orders" + in, 0, "UpToDate is False (UpdateRestricted)"},
		{"viewer", "kubectl-moorage history stream/orders" + in, 0, `Not known: events: you may not list events`},
		{"viewer", "kubectl-moorage wait stream/orders" + in, 0, "stream/orders is ready"},
		{"viewer", "kubectl-moorage wait stream/orders --for applied" + in, 2, "UpToDate is False (UpdateRestricted)"},
		{"viewer", "kubectl-moorage pause stream/orders" + in, 1, `you may not patch Stream "orders" in namespace "default"`},
		{"viewer", "kubectl-moorage resume stream/orders" + in, 0, "stream/orders not paused"},
		{"viewer", "kubectl-moorage reconcile streams --all -y" + in, 1, `you may not patch Stream "orders" in`},
		{"viewer", "kubectl-moorage __complete why" + in + " stream o", 0, "orders\n:4"},
		{"viewer", "kubectl-moorage version", 0, "kubectl moorage devel"},
		{"stranded", "kubectl-moorage why stream/orders" + in, 1, "you may not get Stream"},
		{"stranded", "kubectl-moorage drift" + in, 1, "you may not list streams.nats.moorage.dev"},
		{"user", "kubectl-moorage why stream/none" + in, 1, `there is no Stream "none" in namespace "default"`},
		{"user", "kubectl-moorage why strem/orders" + in, 1, `no kind "strem"; kinds of managed resources are`},
		{"admin", "kubectl-moorage why namespace/default", 1, "namespace/default is no managed resource"},
	} {
		kubeconfig := w.kubeconfig
		if tc.user != "admin" {
			kubeconfig = w.access(tc.user)
		}

		code, out := w.run(kubeconfig, tc.line)
		if code != tc.code || !strings.Contains(out, tc.want) {
			w.Errorf("%s as %s: exit code %d, want %d and %q in\n%s", tc.line, tc.user, code, tc.code, tc.want, out)
		}
	}
}

// grant gives a user a role.
func (w *world) grant(user string, role *rbacv1.Role) {
	w.Helper()
	must(w.T, w.Client.Create(w.Context(), role))
	must(w.T, w.Client.Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: role.Namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
}
