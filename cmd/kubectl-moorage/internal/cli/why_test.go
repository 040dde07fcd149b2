package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWhy(t *testing.T) {
	handled := func(s *server, o *unstructured.Unstructured) {
		u := o.DeepCopy()
		set(u.GetAnnotations()["moorage.dev/reconcile-requested-at"], "status", "lastHandledReconcileAt")(u.Object)
		s.add("streams.nats.example.org", u.Object)
	}

	cases := map[string]struct {
		reason  string
		stream  map[string]any
		prepare func(s *server)
		args    []string
		want    []string
		patched bool
	}{
		"Answered": {
			"the answer, the conditions, the fields, and what to do", stream("orders", differs), func(s *server) {
				s.patched = answering("Handled the request: Tolerate.\nThe policies do not allow \"Update\".\x1b[0m")
			}, nil, []string{
				"stream/orders\nThe provider answers: " +
					`"Handled the request: Tolerate. The policies do not allow \"Update\".[0m"` + "\n",
				"UpToDate    False    5m      UpdateRestricted   the external resource differs in maxAge",
				"password              (sensitive)   (sensitive)",
				"What to do:\n  UpToDate (UpdateRestricted): Change the policy, or the spec.",
			}, true,
		},
		"ReadOnly": {
			"without the right to patch, what the object says", stream("orders", differs), func(s *server) {
				s.forbid["patch streams.nats.example.org"] = true
			}, nil, []string{
				`No answer of the provider: you may not patch Stream "orders" in namespace "sea" (Forbidden)`,
				"This is what the object says:", "UpdateRestricted", "Change the policy, or the spec.",
			}, false,
		},
		"NoEvents": {
			"without the right to read events, the status says when", stream("orders", differs), func(s *server) {
				s.forbid["list events"] = true
				s.patched = handled
			}, nil, []string{"has handled the request, and its answer cannot be read: you may not list events"}, true,
		},
		"Silent": {
			"a provider that does not answer", stream("orders"), func(*server) {}, []string{"--timeout", brief},
			[]string{"has not answered within 1s"}, true,
		},
		"NotAsked": {
			"nothing is changed", stream("orders"), func(*server) {}, []string{"--ask=false"},
			[]string{"was not asked (--ask=false)", "Available"}, false,
		},
		"Paused": {
			"a paused object gives no answer", stream("orders", set("true", "metadata", "annotations", "krateo.io/paused")),
			func(*server) {}, nil, []string{"the object is paused by the annotation krateo.io/paused"}, false,
		},
		"WhyPaused": {
			"the command that resumes it", stream("orders", set("true", "metadata", "annotations", "krateo.io/paused"),
				with("Synced", "False", "ReconcilePaused", "")), func(*server) {}, nil,
			[]string{"What to do:\n  Synced (ReconcilePaused): kubectl moorage resume stream/orders -n sea\n"}, false,
		},
		"PausedByPolicies": {
			"there is no annotation to remove", stream("orders", set([]any{}, "spec", "managementPolicies"),
				with("Synced", "False", "ReconcilePaused", "")), func(*server) {}, nil,
			[]string{"Synced (ReconcilePaused): List the actions that are allowed in spec.managementPolicies, such as \"*\"."},
			false,
		},
		"Resumed": {
			"the provider has not seen it yet", stream("orders", with("Synced", "False", "ReconcilePaused", "")),
			func(*server) {}, []string{"--ask=false"}, []string{"Synced (ReconcilePaused): Wait: nothing pauses the object any"},
			false,
		},
		"Deleting": {
			"since when, and what keeps it", stream("orders", set("2026-11-28T11:00:00Z", "metadata", "deletionTimestamp"),
				set([]any{"finalizer.moorage.dev"}, "metadata", "finalizers")), func(*server) {}, []string{"--ask=false"},
			[]string{"The deletion was requested 60m ago. Finalizers that keep the object: finalizer.moorage.dev."}, false,
		},
		"New": {
			"an object without a status", stream("orders", set(map[string]any{}, "status")), func(*server) {},
			[]string{"--ask=false"}, []string{"has no conditions: its provider has not reconciled it yet"}, false,
		},
		"OwnReason": {
			"a reason that the provider defines", stream("orders", with("Synced", "False", "QuotaExceeded", "too many")),
			func(*server) {}, []string{"--ask=false"}, []string{"Synced (QuotaExceeded): This reason is one of the provider"},
			false,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.add("streams.nats.example.org", tc.stream)
			tc.prepare(s)

			got := s.run("", append([]string{"why", "stream/orders"}, tc.args...)...)
			if got.code != 0 {
				t.Errorf("%s: exit code %d: %s", tc.reason, got.code, got.err)
			}

			for _, want := range tc.want {
				if !strings.Contains(got.out, want) {
					t.Errorf("%s: there is no %q in\n%s", tc.reason, want, got.out)
				}
			}

			if _, patched := s.annotation("moorage.dev/reconcile-requested-at"); patched != tc.patched {
				t.Errorf("%s: was the object patched: %t", tc.reason, patched)
			}
		})
	}
}

func TestWhyIsJSON(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", differs))
	s.patched = answering("Handled the request")

	got := s.run("", "why", "stream", "orders", "-o", "json")

	var e explanation
	if err := json.Unmarshal([]byte(got.out), &e); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}

	if e.Answer != "Handled the request" || len(e.Conditions) != 3 || e.Conditions[2].WhatToDo == "" ||
		e.Drift.Fields[1].Observed != "" {
		t.Errorf("the explanation is %+v", e)
	}
}

// TestWhyOfAnotherAnswer checks that the answer to another request does not count.
func TestWhyOfAnotherAnswer(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))
	s.patched = func(s *server, o *unstructured.Unstructured) {
		s.add("events", event(o, "other", "ReconcileRequestHandled", "the answer to another request", "yesterday"))
		answering("the answer to this request")(s, o)
	}

	if got := s.run("", "why", "stream/orders"); !strings.Contains(got.out, "the answer to this request") {
		t.Errorf("the answer is that to another request:\n%s", got.out)
	}
}

// TestWhyWithoutTheServer checks that the provider is not blamed if the API server is away.
func TestWhyWithoutTheServer(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))

	leave := s.leave()
	limit := func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := leave(ctx, d)
		context.AfterFunc(ctx, func() { s.away.Store(false) }) // it is back to say what the object says

		return ctx, cancel
	}

	got := runLimited(t, "", limit, "why", "stream/orders", "--kubeconfig", s.kubeconfig)
	want := "No answer of the provider: the connection to the API server was lost: cannot list events"

	if !strings.Contains(got.out, want) || strings.Contains(got.out, "not answered") {
		t.Errorf("want %q, got %+v", want, got)
	}
}
