package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell", "kubectl"} {
		if got := runCompletion(t, "completion", shell); !strings.Contains(got, "kubectl-moorage") {
			t.Errorf("the completion of %s is\n%s", shell, got)
		}
	}

	check(t, runWith(t, "completion", "ksh"), "name one of bash, zsh, fish, powershell and kubectl")
}

// runCompletion returns the output of a command, which may have tabs.
func runCompletion(t *testing.T, args ...string) string {
	t.Helper()

	var out strings.Builder
	if code := run(t.Context(), args, &console{in: strings.NewReader(""), out: &out, err: &out}); code != 0 {
		t.Errorf("%v: exit code %d\n%s", args, code, &out)
	}

	return out.String()
}

// TestCompletionReadsNames checks that a completion does not read whole objects.
func TestCompletionReadsNames(t *testing.T) {
	var accepted atomic.Value

	s := newServer(t)
	s.page = 1
	s.add("streams.nats.example.org", stream("orders"))
	s.add("streams.nats.example.org", stream("logs"))
	s.before = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/streams") {
			accepted.Store(r.Header.Get("Accept"))
		}
	}

	got := runCompletion(t, "__complete", "why", "stream", "--kubeconfig", s.kubeconfig, "")
	if !strings.HasPrefix(got, "logs\norders\n") || !strings.Contains(fmt.Sprint(accepted.Load()),
		"as=PartialObjectMetadataList") {
		t.Errorf("%v was accepted, and the proposals are\n%s", accepted.Load(), got)
	}
}

// TestAmbiguousKind checks that a name of two kinds is answered by the choices, and that completion and printed
// commands use the names that work.
func TestAmbiguousKind(t *testing.T) {
	s := newServer(t)
	for i := range s.resources {
		if s.resources[i].Group == "other.example.org" {
			s.resources[i].Categories = []string{"managed"}
		}
	}

	s.add("streams.nats.example.org", stream("orders", with("Ready", "False", "Creating", ""),
		set("true", "metadata", "annotations", keyPaused)))

	check(t, s.run("", "wait", "stream/orders"),
		`"stream" is the name of several kinds: write streams.nats.example.org or streams.other.example.org`)

	got := s.run("", "wait", "streams.nats.example.org/orders", "--timeout", "1h")
	want := "What to do: kubectl moorage resume stream.nats.example.org/orders -n sea\n"

	if !strings.Contains(got.err, want) {
		t.Errorf("there is no %q in %+v", want, got)
	}

	if got := s.run("", "resume", "stream.nats.example.org/orders", "-n", "sea"); got.code != 0 {
		t.Errorf("the command that was printed: %+v", got)
	}

	words := runCompletion(t, "__complete", "why", "--kubeconfig", s.kubeconfig, "")
	if want := "disks\nstreams.nats.example.org\nstreams.other.example.org\n"; !strings.HasPrefix(words, want) {
		t.Errorf("the proposals are\n%s", words)
	}
}

// TestCompletion checks what a shell proposes.
func TestCompletion(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))
	s.add("streams.nats.example.org", stream("logs"))

	cases := map[string]struct {
		words []string
		want  []string
	}{
		"Kinds":     {[]string{"why", ""}, []string{"disks", "streams"}},
		"Names":     {[]string{"why", "stream", ""}, []string{"logs", "orders"}},
		"NextNames": {[]string{"pause", "stream", "logs", ""}, []string{"orders"}},
		"Slash":     {[]string{"why", "stream/"}, []string{"stream/logs", "stream/orders"}},
		"States":    {[]string{"wait", "--for", ""}, []string{"ready", "applied", "gone"}},
		"Contexts":  {[]string{"drift", "--context", ""}, []string{"here"}},
		"Unknown":   {[]string{"why", "strem", ""}, nil},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			last := len(tc.words) - 1
			words := append(append([]string{"__complete"}, tc.words[:last]...), "--kubeconfig", s.kubeconfig)

			if strings.HasPrefix(tc.words[last-1], "--") {
				words = append([]string{"__complete", tc.words[0], "--kubeconfig", s.kubeconfig}, tc.words[1:last]...)
			}

			var got []string

			for line := range strings.Lines(runCompletion(t, append(words, tc.words[last])...)) {
				if strings.HasPrefix(line, ":") {
					break
				}

				got = append(got, strings.TrimSpace(line))
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
