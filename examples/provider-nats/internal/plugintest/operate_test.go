package plugintest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/provider"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// operatePage is the page for engineers on call, from here.
const operatePage = "../../../../docs/operate.md"

// commands is a kubectl for a machine without pods: the provider runs in the test.
const commands = `#!/bin/sh
case "$1" in
logs) exec cat "$CHANGES" ;;
scale) echo "deployment.apps/provider-nats scaled" ;;
moorage) shift && exec kubectl-moorage "$@" ;;
*) echo "the test of the page has no kubectl $1" >&2 && exit 1 ;;
esac
`

// TestOperatePage runs the blocks of docs/operate.md in their order, and compares what they print. A block of YAML is
// applied.
func TestOperatePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "changes.json")
	sink, err := changelog.OpenFile(file)
	must(t, err)
	t.Cleanup(func() { must(t, sink.Close()) })

	all, shells := blocks(t, operatePage), 0
	w := newWorld(t, func(o *provider.Options) { o.ChangeLog = sink })
	w.prepare(file)

	for i, b := range all {
		switch b.kind {
		case "yaml":
			w.apply(b.text)
		case "sh":
			shells++

			code, out := w.run(w.kubeconfig, b.text)
			if want := operateExit(b.text); code != want {
				t.Errorf("exit code %d, want %d, of\n%s\n%s", code, want, b.text, out)
			}

			if i+1 < len(all) && all[i+1].kind == "text" {
				if diff := cmp.Diff(timeless(all[i+1].text), timeless(out)); diff != "" {
					t.Errorf("the output of\n%s\nis, -page, +printed:\n%s\n%s", b.text, diff, out)
				}
			}
		}
	}

	if shells < 10 {
		t.Errorf("%d blocks were run: were they found?", shells)
	}
}

// operateExit returns the exit code of a block: 1 if an object cannot be judged, and 2 if something differs or would be
// changed.
func operateExit(text string) int {
	switch {
	case strings.HasPrefix(text, "kubectl moorage drift"):
		return 1
	case strings.Contains(text, "plan -f"), strings.Contains(text, "|| kubectl moorage drift"):
		return 2
	default:
		return 0
	}
}

// What differs between two runs, besides what [comparable] knows: times, and durations in other units.
var (
	calls     = regexp.MustCompile(`\d+ calls? to list and \d+ to look`)
	instants  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	fractions = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`)
)

// timeless returns an output without times and without the number of calls.
func timeless(s string) string {
	s = calls.ReplaceAllString(s, "n calls")

	return comparable(fractions.ReplaceAllString(instants.ReplaceAllString(s, "TIME"), "5m"))
}

// prepare makes the streams of the page besides "orders": "audit", which another client has changed and the provider
// has corrected, and "payments", which NATS refuses because its subjects are those of "orders".
func (w *world) prepare(changes string) {
	w.Helper()
	w.Setenv("CHANGES", changes)
	must(w.T, os.WriteFile(filepath.Join(w.bin, "kubectl"), []byte(commands), 0o700))

	cmd := exec.CommandContext(w.Context(), "go", "build", "-o", filepath.Join(w.bin, "provider-nats"),
		"github.com/moorage-dev/moorage/examples/provider-nats")

	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("cannot build the provider: %v\n%s", err, out)
	}

	w.Chdir(w.TempDir()) // blocks write files

	audit := w.stream("audit", 24*time.Hour)
	w.await(audit, commonv1.TypeReady, metav1.ConditionTrue)

	stream, err := w.js.Stream(w.Context(), "audit")
	must(w.T, err)

	cfg := stream.CachedInfo().Config
	cfg.MaxAge = time.Hour
	_, err = w.js.UpdateStream(w.Context(), cfg)
	must(w.T, err)

	before := client.MergeFrom(audit.DeepCopy())
	meta.AddAnnotations(audit, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "audit"})
	must(w.T, w.Client.Patch(w.Context(), audit, before))
	wait.Until(w.T, "the change log has the correction", func() bool {
		lines, err := os.ReadFile(changes)
		must(w.T, err)

		return strings.Contains(string(lines), `"cause":"drift"`)
	})

	payments := w.stream("payments", 0, "orders")
	w.await(payments, commonv1.TypeSynced, metav1.ConditionFalse)
}

// stream creates a stream.
func (w *world) stream(name string, age time.Duration, subjects ...string) *v1alpha1.Stream {
	w.Helper()

	s := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: devenv.Namespace, Name: name}}
	s.Spec.ForProvider.Subjects = slices.Clone(subjects)

	if age > 0 {
		s.Spec.ForProvider.MaxAge = &v1alpha1.Duration{Duration: metav1.Duration{Duration: age}}
	}

	must(w.T, w.Client.Create(w.Context(), s))

	return s
}

// apply applies the annotations and the spec of a stream.
func (w *world) apply(manifest string) {
	w.Helper()

	s := &v1alpha1.Stream{}
	must(w.T, yaml.UnmarshalStrict([]byte(manifest), s))

	stored := &v1alpha1.Stream{}
	must(w.T, w.Client.Get(w.Context(), client.ObjectKeyFromObject(s), stored))

	before := client.MergeFrom(stored.DeepCopy())
	stored.Spec = s.Spec
	meta.AddAnnotations(stored, s.Annotations)
	must(w.T, w.Client.Patch(w.Context(), stored, before))
}
