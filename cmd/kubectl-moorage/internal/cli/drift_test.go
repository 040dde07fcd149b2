package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDrift checks the table of the fields, and that secret values and control characters are not in it.
func TestDrift(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", differs))
	s.add("streams.nats.example.org", stream("well"))
	s.add("streams.nats.example.org", stream("broken", with("UpToDate", "Unknown", "ReconcileError", "")))

	got := s.run("", "drift")
	want := result{1, `OBJECT          SINCE   REASON             FIELD                 DESIRED       OBSERVED
stream/orders   5m      UpdateRestricted   maxAge                "24h0m0s"     "72h0m0s"
                                           password              (sensitive)   (sensitive)
                                           storage (immutable)   "file"        (none)
                                           ... and 3 more
`, "kubectl moorage: cannot judge 1 object (stream/broken): it is not known whether it differs; " +
		"see kubectl moorage why stream/broken -n sea\n"}

	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestDriftIsJSON(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", differs))

	got := s.run("", "drift", "st/orders", "-o", "json")

	var list driftList
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || got.code != 2 || got.err != "" {
		t.Fatalf("%v: %+v", err, got)
	}

	if len(list.Items) != 1 || list.Items[0].Name != "orders" || list.Items[0].More != 3 ||
		list.Items[0].Fields[0].Observed != `"72h0m0s"` {
		t.Errorf("the list is %+v", list)
	}
}

// TestPartialDriftIsJSON checks that a program sees which kinds were not read.
func TestPartialDriftIsJSON(t *testing.T) {
	s := newServer(t)
	s.forbid["discovery other.example.org"] = true

	got := s.run("", "drift", "-o", "json")

	var list driftList
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || got.code != 1 {
		t.Fatalf("%v: %+v", err, got)
	}

	if want := "the API server could not list the kinds of other.example.org/v1"; list.UnreadKinds != want {
		t.Errorf("unreadKinds is %q, want %q", list.UnreadKinds, want)
	}
}

// TestDriftReadsAllPages checks that a list of several responses is read to its end.
func TestDriftReadsAllPages(t *testing.T) {
	s := newServer(t)
	s.page = 2

	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.add("streams.nats.example.org", stream(name, differs))
	}

	if got := s.run("", "drift"); strings.Count(got.out, "stream/") != 5 {
		t.Errorf("got %+v", got)
	}
}

func TestDriftVariants(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(s *server)
		args    []string
		code    int
		want    []string // in the output or the messages
	}{
		"Nothing": {
			"that nothing differs is said", func(s *server) { s.add("streams.nats.example.org", stream("well")) },
			nil, 0, []string{`No object differs in namespace "sea"; 1 object looked at.`},
		},
		"Everywhere": {
			"the table has the namespaces", func(s *server) { s.add("streams.nats.example.org", stream("orders", differs)) },
			[]string{"streams", "-A"}, 2, []string{"NAMESPACE   OBJECT", "sea         stream/orders"},
		},
		"Labels": {
			"others are not looked at", func(s *server) { s.add("streams.nats.example.org", stream("orders", differs)) },
			[]string{"streams", "-l", "app=web"}, 0, []string{"0 objects looked at"},
		},
		"Wide": {
			"the message and whole values", func(s *server) { s.add("streams.nats.example.org", stream("orders", differs)) },
			[]string{"-o", "wide"}, 2, []string{"the external resource differs in maxAge[31m"},
		},
		"Cluster": {
			"kinds of the cluster have no namespace", func(s *server) {
				s.add("disks.disk.example.org", disk("d", differs))
			}, nil, 2, []string{"disk/d"},
		},
		"NotTold": {
			"a provider of another library may not have the condition", func(s *server) {
				s.add("streams.nats.example.org", stream("orders", withoutUpToDate))
				s.add("streams.nats.example.org", stream("logs", withoutUpToDate))
				s.add("streams.nats.example.org", stream("well"))
			}, nil, 1, []string{"kubectl moorage: cannot judge 2 objects (stream/logs, stream/orders): the provider does " +
				"not say whether they differ (no condition UpToDate)\n"},
		},
		"EarlierSpec": {
			"a difference of an earlier spec is marked", func(s *server) {
				s.add("streams.nats.example.org", stream("orders", differs, set(int64(3), "metadata", "generation")))
			}, nil, 2, []string{"UpdateRestricted (earlier spec)"},
		},
		"NotListed": {
			"a kind may list no fields", func(s *server) {
				s.add("streams.nats.example.org", stream("orders", with("UpToDate", "False", "UpdateFailed", "")))
			}, nil, 2, []string{"UpdateFailed   (not listed)"},
		},
		"OfAnotherForm": {
			"a status of another form is not read", func(s *server) {
				s.add("streams.nats.example.org", stream("orders", set("x", "status", "conditions")))
			}, nil, 1, []string{"cannot judge 1 object (stream/orders): it is not known whether it differs"},
		},
		"ForbiddenKind": {
			"what may be read is shown, and exit code 1 wins", func(s *server) {
				s.add("streams.nats.example.org", stream("orders", differs))
				s.forbid["list disks.disk.example.org"] = true
			}, nil, 1, []string{"stream/orders", "you may not list disks.disk.example.org (Forbidden)"},
		},
		"ForbiddenEverywhere": {
			"rights in one namespace are enough for -n", func(s *server) {
				s.forbid["list streams.nats.example.org"] = true
			}, []string{"streams", "-A"}, 1, []string{"only with -n"},
		},
		"PartOfTheKinds": {
			"an extension of the API server may be away", func(s *server) {
				s.add("streams.nats.example.org", stream("orders", differs))
				s.forbid["discovery other.example.org"] = true
			}, nil, 1, []string{"stream/orders", "the API server could not list the kinds of other.example.org/v1"},
		},
		"PartOfTheKindsWithAName": {
			"a kind that is named is read wholly", func(s *server) {
				s.add("streams.nats.example.org", stream("orders", differs))
				s.forbid["discovery other.example.org"] = true
			}, []string{"stream/orders"}, 2, []string{"stream/orders"},
		},
		"ByConditions": {
			"a kind without the category, whose objects have the conditions", func(s *server) {
				s.add("streams.other.example.org", stream("orders", differs, set("other.example.org/v1", "apiVersion")))
			}, []string{"streams.other.example.org"}, 2, []string{"stream/orders"},
		},
		"NoManagedKind": {
			"a pod is no managed resource", func(s *server) {
				s.add("pods", map[string]any{
					"apiVersion": "v1", "kind": "Pod",
					"metadata": map[string]any{"namespace": "sea", "name": "p", "uid": "u"},
				})
			}, []string{"pod", "p"}, 1, []string{"pod/p is no managed resource: its kind pods is not in the category managed"},
		},
		"NoManagedKinds": {
			"as a whole kind", func(*server) {}, []string{"pods"}, 1, []string{"pods is no kind of managed resources"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			tc.prepare(s)

			got := s.run("", append([]string{"drift"}, tc.args...)...)
			if got.code != tc.code {
				t.Errorf("%s: exit code %d, want %d: %+v", tc.reason, got.code, tc.code, got)
			}

			for _, want := range tc.want {
				if !strings.Contains(got.out+got.err, want) {
					t.Errorf("%s: there is no %q in\n%s%s", tc.reason, want, got.out, got.err)
				}
			}
		})
	}
}
