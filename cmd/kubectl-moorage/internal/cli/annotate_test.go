package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	keyPaused  = "krateo.io/paused"
	keyRequest = "moorage.dev/reconcile-requested-at"
)

func TestChanges(t *testing.T) {
	paused := func(o map[string]any) {
		set("true", "metadata", "annotations", keyPaused)(o)
		with("Synced", "False", "ReconcilePaused", "")(o)
	}
	theirs := func(o map[string]any) {
		set("true", "metadata", "annotations", "crossplane.io/paused")(o)
		with("Synced", "False", "ReconcilePaused", "paused by the annotation crossplane.io/paused: to resume, remove it")(o)
	}

	cases := map[string]struct {
		reason string
		stream map[string]any
		args   []string
		answer string
		code   int
		want   []string
		key    string
		value  string
		found  bool
	}{
		"Pause": {
			reason: "by our annotation", stream: stream("orders"), args: []string{"pause", "stream/orders"},
			want: []string{"stream/orders paused\n"}, key: keyPaused, value: "true", found: true,
		},
		"PauseAgain": {
			reason: "nothing is to be done", stream: stream("orders", paused), args: []string{"pause", "stream", "orders"},
			want: []string{"stream/orders already paused\n"}, key: keyPaused, value: "true", found: true,
		},
		"Resume": {
			reason: "the annotation is removed", stream: stream("orders", paused), args: []string{"resume", "stream/orders"},
			want: []string{"stream/orders resumed\n"}, key: keyPaused,
		},
		"ResumeAgain": {
			reason: "nothing is to be done", stream: stream("orders"), args: []string{"resume", "stream/orders"},
			want: []string{"stream/orders not paused\n"}, key: keyPaused,
		},
		"ResumeTheirs": {
			reason: "the annotation of another runtime is overridden", stream: stream("orders", theirs),
			args: []string{"resume", "stream/orders"},
			want: []string{"resumed", "still has the annotation crossplane.io/paused"},
			key:  keyPaused, value: "false", found: true,
		},
		"ResumePolicies": {
			reason: "an annotation does not help", stream: stream("orders", set([]any{}, "spec", "managementPolicies")),
			args: []string{"resume", "stream/orders"}, code: 1,
			want: []string{"paused by the empty list spec.managementPolicies"},
			key:  keyPaused,
		},
		"ResumePausedTwice": {
			reason: "the policies still pause it", stream: stream("orders", paused, set([]any{}, "spec", "managementPolicies")),
			args: []string{"resume", "stream/orders"}, code: 1,
			want: []string{"stream/orders is still paused by the empty list spec.managementPolicies: add the actions"},
			key:  keyPaused,
		},
		"ResumeOursAndTheirs": {
			reason: "without ours, the provider may heed that of another runtime",
			stream: stream("orders", paused, set("true", "metadata", "annotations", "crossplane.io/paused")),
			args:   []string{"resume", "stream/orders"}, want: []string{"still has the annotation crossplane.io/paused"},
			key: keyPaused, value: "false", found: true,
		},
		"Reconcile": {
			reason: "by the time", stream: stream("orders"), args: []string{"reconcile", "stream/orders"},
			want: []string{"stream/orders reconcile requested\n"}, key: keyRequest, value: "2026-11-28T12:00:00Z", found: true,
		},
		"ReconcilePaused": {
			reason: "a note says when", stream: stream("orders", paused), args: []string{"reconcile", "stream/orders"},
			want: []string{"is reconciled after it was resumed"}, key: keyRequest, value: "2026-11-28T12:00:00Z", found: true,
		},
		"AllConfirmed": {
			reason: "the number is asked back", stream: stream("orders"), args: []string{"pause", "streams", "--all"},
			answer: "y\n", want: []string{"pause 1 object (stream/orders)? [y/N]", "paused"}, key: keyPaused, value: "true",
			found: true,
		},
		"AllRefused": {
			reason: "no is the default", stream: stream("orders"), args: []string{"pause", "streams", "--all"},
			answer: "\n", code: 1, want: []string{"nothing was changed: it was not confirmed"}, key: keyPaused,
		},
		"NoAnswer": {
			reason: "the end of the input is a no", stream: stream("orders"), args: []string{"pause", "streams", "--all"},
			code: 1, want: []string{"(--yes does not ask)"}, key: keyPaused,
		},
		"AllYes": {
			reason: "without a question", stream: stream("orders"), args: []string{"pause", "streams", "--all", "--yes", "-A"},
			want: []string{"stream/orders in namespace sea paused\n"}, key: keyPaused, value: "true", found: true,
		},
		"Wide": {
			reason: "with group and namespace", stream: stream("orders"), args: []string{"pause", "stream/orders", "-o", "wide"},
			want: []string{"stream.nats.example.org/orders in namespace sea paused\n"}, key: keyPaused, value: "true",
			found: true,
		},
		"NoMatch": {
			reason: "an empty selection is an error", stream: stream("orders"),
			args: []string{"pause", "streams", "-l", "app=web"}, code: 1,
			want: []string{`no object was found in namespace "sea"`}, key: keyPaused,
		},
		"JSON": {
			reason: "for programs", stream: stream("orders"), args: []string{"pause", "stream/orders", "-o", "json"},
			want: []string{`"result": "paused"`, `"kind": "ChangeList"`}, key: keyPaused, value: "true", found: true,
		},
		"OneMissing": {
			reason: "the others are paused all the same", stream: stream("orders"),
			args: []string{"pause", "stream", "orders", "gone"}, code: 1,
			want: []string{"stream/orders paused\n", `there is no Stream "gone" in namespace "sea"`}, key: keyPaused,
			value: "true", found: true,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.add("streams.nats.example.org", tc.stream)

			got := s.run(tc.answer, tc.args...)
			if got.code != tc.code {
				t.Errorf("%s: exit code %d, want %d: %+v", tc.reason, got.code, tc.code, got)
			}

			for _, want := range tc.want {
				if !strings.Contains(got.out+got.err, want) {
					t.Errorf("%s: there is no %q in\n%s%s", tc.reason, want, got.out, got.err)
				}
			}

			if value, found := s.annotation(tc.key); value != tc.value || found != tc.found {
				t.Errorf("%s: %s is %q (%t), want %q", tc.reason, tc.key, value, found, tc.value)
			}
		})
	}
}

func TestForbiddenChange(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))
	s.forbid["patch streams.nats.example.org"] = true

	got := s.run("", "pause", "stream/orders")
	want := `kubectl moorage: you may not patch Stream "orders" in namespace "sea" (Forbidden): ` +
		`streams.nats.example.org is forbidden: User "reader" cannot patch resource "streams.nats.example.org"` + "\n"

	if got.code != 1 || got.err != want {
		t.Errorf("exit code %d, want\n%s, got\n%s", got.code, want, got.err)
	}
}

// TestAnnotationNotStored checks that a success without an effect is an error.
func TestAnnotationNotStored(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))
	s.drop = true

	check(t, s.run("", "pause", "stream/orders"), "the API server did not store the annotation "+keyPaused)
}

// TestResumeDependsOnWhatWasRead checks that a value is not written if the object has changed since it was chosen.
func TestResumeDependsOnWhatWasRead(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", set("true", "metadata", "annotations", "crossplane.io/paused"),
		with("Synced", "False", "ReconcilePaused", "paused by the annotation crossplane.io/paused")))
	s.run("", "resume", "stream/orders")

	if patch := s.patches["streams.nats.example.org|sea|orders"]; !strings.Contains(patch, `"resourceVersion":"1"`) {
		t.Errorf("the patch is %s", patch)
	}
}

// TestResumeSeesPauseOfMeanwhile checks that a pause of another runtime is overridden which was added after the object
// was read.
func TestResumeSeesPauseOfMeanwhile(t *testing.T) {
	paused := set("true", "metadata", "annotations", keyPaused)
	theirs := set("true", "metadata", "annotations", "crossplane.io/paused")

	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", paused))

	added := false
	s.before = func(r *http.Request) {
		if r.Method == http.MethodPatch && !added {
			added = true
			s.add("streams.nats.example.org", stream("orders", paused, theirs))
		}
	}

	got := s.run("", "resume", "stream/orders")
	if value, _ := s.annotation(keyPaused); got.code != 0 || value != "false" {
		t.Errorf("%s is %q: %+v", keyPaused, value, got)
	}
}

// TestResumeOfReplacedObject checks that an object is not resumed in place of the one that was read.
func TestResumeOfReplacedObject(t *testing.T) {
	paused := set("true", "metadata", "annotations", keyPaused)

	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", paused))
	s.before = func(r *http.Request) {
		if r.Method == http.MethodPatch {
			s.add("streams.nats.example.org", stream("orders", paused, set("another", "metadata", "uid")))
		}
	}

	check(t, s.run("", "resume", "stream/orders"), "it was changed or replaced meanwhile")
}

// TestPatchNamesTheObject checks that an object of the same name is not changed in place of the one that was read.
func TestPatchNamesTheObject(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))
	s.run("", "pause", "stream/orders")

	if patch := s.patches["streams.nats.example.org|sea|orders"]; !strings.Contains(patch, `"uid":"uid-orders"`) {
		t.Errorf("the patch is %s", patch)
	}
}

// TestNothingIsChangedWithoutTheWholeList checks that objects which were not named stay as they are if one of the kinds
// cannot be listed: the question would not be about all of them.
func TestNothingIsChangedWithoutTheWholeList(t *testing.T) {
	for name, args := range map[string][]string{
		"Asked":    {"pause", "streams,disks", "--all"},
		"NotAsked": {"pause", "streams,disks", "--all", "--yes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.add("streams.nats.example.org", stream("orders"))
			s.forbid["list disks.disk.example.org"] = true

			check(t, s.run("y\n", args...), "nothing was changed: you may not list disks.disk.example.org (Forbidden)")

			if value, found := s.annotation(keyPaused); found {
				t.Errorf("%s is %q", keyPaused, value)
			}
		})
	}
}

// TestInterruptEndsTheChange checks that the objects that are left are not tried after an interrupt.
func TestInterruptEndsTheChange(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())

	s := newServer(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.add("streams.nats.example.org", stream(name))
	}

	end := make(chan struct{})
	t.Cleanup(func() { close(end) })

	s.before = func(r *http.Request) {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/b") {
			interrupt()
			<-end
		}
	}

	var out, stderr strings.Builder

	code := run(ctx, []string{"reconcile", "streams", "--all", "--yes", "--kubeconfig", s.kubeconfig},
		&console{in: strings.NewReader(""), out: &out, err: &stderr, now: time.Now, limit: limit})
	want := "kubectl moorage: interrupted: 3 of 4 objects may be unchanged (stream/b, stream/c, stream/d)\n"

	if code != 1 || out.String() != "stream/a reconcile requested\n" || stderr.String() != want {
		t.Errorf("exit code %d, want\n%s, got\n%s%s", code, want, &out, &stderr)
	}
}

// TestInterruptEndsTheQuestion checks that a question is not waited for after an interrupt.
func TestInterruptEndsTheQuestion(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))

	got := s.runInterrupted("pause", "streams", "--all")
	if got.code != 1 || !strings.Contains(got.err, "kubectl moorage: interrupted: nothing was changed\n") {
		t.Errorf("got %+v", got)
	}

	if value, found := s.annotation(keyPaused); found {
		t.Errorf("%s is %q", keyPaused, value)
	}
}

// runInterrupted runs a command that a user interrupts instead of answering it.
func (s *server) runInterrupted(args ...string) result {
	s.Helper()

	ctx, interrupt := context.WithCancel(s.Context())
	in := interruptedInput{interrupt, make(chan struct{})}

	s.Cleanup(func() { close(in.end) })

	var out, stderr strings.Builder

	code := run(ctx, append(args, "--kubeconfig", s.kubeconfig),
		&console{in: in, out: &out, err: &stderr, now: time.Now, limit: limit})

	return result{code: code, out: out.String(), err: stderr.String()}
}

// An interruptedInput is an input without an answer, whose user interrupts the command.
type interruptedInput struct {
	interrupt func()
	end       chan struct{}
}

func (i interruptedInput) Read([]byte) (int, error) {
	i.interrupt()
	<-i.end

	return 0, io.EOF
}
