package objects_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/migrate/objects"
)

const (
	theirs           = "finalizer.managedresource.crossplane.io"
	ours             = "finalizer.managedresource.krateo.io"
	theirsInUse      = "in-use.crossplane.io"
	oursInUse        = "in-use.moorage.dev"
	foreignFinalizer = "example.org/keep"

	early = "2026-01-02T03:04:05Z"
	late  = "2026-02-02T03:04:05Z"
)

// begunSince is the conflict of an object for which the predecessor has begun a creation since.
const begunSince = `crossplane.io/external-create-pending is later than the last mark of Moorage, and has no result: ` +
	`the runtime before has begun a creation since; if it has led to a resource, set krateo.io/external-name and ` +
	`crossplane.io/external-name to its name, then remove crossplane.io/external-create-pending; ` +
	`nothing of the object is changed before`

// TestDecide has a row for each thing that a predecessor leaves on an object.
func TestDecide(t *testing.T) {
	for _, row := range []struct {
		why         string
		role        objects.Role
		annotations map[string]string
		finalizers  []string
		policy      string
		deleted     string
		created     string // the reason of a condition of that name
		want        objects.Change
	}{
		{why: "an object that the predecessor did not touch is left alone"},
		{
			why:         "the external name is carried over",
			annotations: map[string]string{"crossplane.io/external-name": "a"},
			want:        objects.Change{Annotations: map[string]string{"krateo.io/external-name": "a"}},
		},
		{
			why:         "what is carried over already is not written again",
			annotations: map[string]string{"crossplane.io/external-name": "a", "krateo.io/external-name": "a"},
		},
		{
			why:         "two names are two resources: a person decides, and the finalizer stays until then",
			annotations: map[string]string{"crossplane.io/external-name": "a", "krateo.io/external-name": "b"},
			finalizers:  []string{theirs, ours},
			want: objects.Change{Conflicts: []string{
				`krateo.io/external-name is "b" and crossplane.io/external-name is "a": look which resource is meant, and set ` +
					`both to its name; nothing of the object is changed before`,
			}},
		},
		{
			why: "nothing else is set beside a name that may be that of another resource",
			annotations: map[string]string{
				"crossplane.io/external-name": "a", "krateo.io/external-name": "b", "crossplane.io/paused": "true",
				"crossplane.io/external-create-pending": "2026-01-02T03:04:05Z",
			},
			policy: "Orphan",
			want: objects.Change{Conflicts: []string{
				`krateo.io/external-name is "b" and crossplane.io/external-name is "a": look which resource is meant, and set ` +
					`both to its name; nothing of the object is changed before`,
			}},
		},
		{
			why: "what somebody removed since Moorage keeps the object is not set again",
			annotations: map[string]string{
				"crossplane.io/external-name": "a", "krateo.io/external-name": "a", "crossplane.io/paused": "true",
				"crossplane.io/external-create-pending": "2026-01-02T03:04:05Z", "crossplane.io/poll-interval": "1h",
			},
			finalizers: []string{ours},
		},
		{
			why:         "nor on an object that Moorage keeps without a finalizer, because it may not delete",
			annotations: map[string]string{"crossplane.io/paused": "true", "moorage.dev/create-attempt": "x/succeeded"},
		},
		{
			why: "an annotation without a value says as much as none",
			annotations: map[string]string{
				"crossplane.io/paused": "true", "krateo.io/paused": "",
				"crossplane.io/external-name": "a", "krateo.io/external-name": "",
				"krateo.io/deletion-policy": "",
			},
			policy: "Orphan",
			want: objects.Change{Annotations: map[string]string{
				"krateo.io/paused": "true", "krateo.io/external-name": "a",
				"krateo.io/deletion-policy": "orphan",
			}},
		},
		{
			why: "here or there",
			annotations: map[string]string{
				"crossplane.io/external-name": "", "krateo.io/external-name": "a",
				"crossplane.io/poll-interval": "",
			},
		},
		{
			why:         "a pause is carried over, so that nothing is changed that was paused",
			annotations: map[string]string{"crossplane.io/paused": "true"},
			want:        objects.Change{Annotations: map[string]string{"krateo.io/paused": "true"}},
		},
		{
			why:         "a pause that somebody ended here stays ended, and it is told that theirs has no effect",
			annotations: map[string]string{"crossplane.io/paused": "true", "krateo.io/paused": "false"},
			want: objects.Change{
				Notes: []string{`crossplane.io/paused is "true", and has no effect: krateo.io/paused is "false"`}},
		},
		{
			why:         "what is no pause there is none here",
			annotations: map[string]string{"crossplane.io/paused": "false"},
		},
		{
			why: "marks of a creation are carried over, so that an interrupted one is seen",
			annotations: map[string]string{
				"crossplane.io/external-create-pending":   "2026-01-02T03:04:05Z",
				"crossplane.io/external-create-succeeded": "2026-01-02T03:04:04Z",
				"crossplane.io/external-create-failed":    "2026-01-02T03:04:03Z",
			},
			want: objects.Change{Annotations: map[string]string{
				"krateo.io/external-create-pending":   "2026-01-02T03:04:05Z",
				"krateo.io/external-create-succeeded": "2026-01-02T03:04:04Z",
				"krateo.io/external-create-failed":    "2026-01-02T03:04:03Z",
			}},
		},
		{
			why: "marks that are newer here stay",
			annotations: map[string]string{
				"crossplane.io/external-create-pending": "2026-01-02T03:04:05Z",
				"krateo.io/external-create-pending":     "2026-02-02T03:04:05Z",
			},
		},
		{
			why:        "a deletion policy becomes the annotation, also if the finalizer before was the same",
			policy:     "Orphan",
			finalizers: []string{ours},
			want:       objects.Change{Annotations: map[string]string{"krateo.io/deletion-policy": "orphan"}},
		},
		{why: "the other policy is what happens anyway", policy: "Delete"},
		{
			why:         "a policy that was said here stays",
			policy:      "Orphan",
			annotations: map[string]string{"krateo.io/deletion-policy": "delete"},
		},
		{
			why:        "a finalizer goes once ours is there, and no other goes with it",
			finalizers: []string{foreignFinalizer, theirs, ours},
			want:       objects.Change{Take: []string{theirs}, Finalizers: []string{foreignFinalizer, ours}},
		},
		{
			why:        "it does not go before",
			finalizers: []string{theirs},
			want:       objects.Change{Pending: []string{theirs}},
		},
		{
			why: "nor does that of a configuration", role: objects.Configuration,
			finalizers: []string{theirsInUse},
			want:       objects.Change{Pending: []string{theirsInUse}},
		},
		{
			why: "which goes once ours is there, too", role: objects.Configuration,
			finalizers: []string{theirsInUse, oursInUse},
			want:       objects.Change{Take: []string{theirsInUse}, Finalizers: []string{oursInUse}},
		},
		{
			why:        "nobody can add our finalizer to an object that is being deleted: a person decides",
			finalizers: []string{theirs}, deleted: "2026-01-02T03:04:05Z",
			want: objects.Change{Conflicts: []string{objects.Leaving(objects.Managed)}},
		},
		{
			why: "nor to a configuration, which would stay for ever", role: objects.Configuration,
			finalizers: []string{theirsInUse}, deleted: "2026-01-02T03:04:05Z",
			want: objects.Change{Conflicts: []string{
				objects.Leaving(objects.Configuration),
			}},
		},
		{
			why:        "with our finalizer, a deletion goes its way",
			finalizers: []string{theirs, ours}, deleted: "2026-01-02T03:04:05Z",
			want: objects.Change{Take: []string{theirs}, Finalizers: []string{ours}},
		},
		{
			why: "a configuration has no external name", role: objects.Configuration,
			annotations: map[string]string{"crossplane.io/external-name": "a"},
		},
		{
			why: "the predecessor ran again, and has a name for what it created",
			annotations: map[string]string{
				"krateo.io/external-create-pending": early, "krateo.io/external-create-failed": early,
				"moorage.dev/create-attempt":  "1/failed",
				"crossplane.io/external-name": "vol-0", "crossplane.io/external-create-pending": late,
				"crossplane.io/external-create-succeeded": late,
			},
			finalizers: []string{ours, theirs},
			want: objects.Change{Conflicts: []string{
				`crossplane.io/external-name is "vol-0", and krateo.io/external-name is not set although Moorage has kept the ` +
					`object: the runtime before has created a resource since, or somebody has removed the annotation; ` +
					`look which resource is meant, and set both to its name; nothing of the object is changed before`,
			}},
		},
		{
			why: "the predecessor ran again, and created another one",
			annotations: map[string]string{
				"krateo.io/external-name": "vol-0", "krateo.io/external-create-pending": early,
				"krateo.io/external-create-succeeded": early,
				"crossplane.io/external-name":         "vol-7", "crossplane.io/external-create-pending": late,
				"crossplane.io/external-create-succeeded": late,
			},
			finalizers: []string{ours}, created: "Observed",
			want: objects.Change{Conflicts: []string{
				`krateo.io/external-name is "vol-0" and crossplane.io/external-name is "vol-7", which the runtime before ` +
					`created later than the last mark of Moorage: ` +
					`there may be two resources; look which one is meant, and set both to its name; nothing of the object is ` +
					`changed before`,
			}},
		},
		{
			why: "the predecessor ran again, and nobody knows what its creation led to",
			annotations: map[string]string{
				"krateo.io/external-name": "a", "krateo.io/external-create-pending": early,
				"krateo.io/external-create-succeeded": early,
				"crossplane.io/external-name":         "a", "crossplane.io/external-create-pending": late,
				"crossplane.io/external-create-succeeded": early,
			},
			finalizers: []string{ours},
			want:       objects.Change{Conflicts: []string{begunSince}},
		},
		{
			why: "a creation that was carried over, and that a user has answered for, is no later one",
			annotations: map[string]string{
				"krateo.io/external-create-failed": early, "crossplane.io/external-create-failed": early,
				"crossplane.io/external-create-pending": late,
				"moorage.dev/was-unresolved":            "asked",
			},
			finalizers: []string{ours},
		},
		{
			why: "a user was asked once, and all is well since: what the predecessor has begun then is reported",
			annotations: map[string]string{
				"krateo.io/external-name": "a", "krateo.io/external-create-pending": early,
				"krateo.io/external-create-succeeded":   early,
				"crossplane.io/external-create-pending": late,
				"moorage.dev/was-unresolved":            "asked",
			},
			finalizers: []string{ours, theirs}, created: "Observed",
			want: objects.Change{Conflicts: []string{begunSince}},
		},
		{
			why: "so it is if nothing was created here since the answer",
			annotations: map[string]string{
				"crossplane.io/external-create-pending": late,
				"moorage.dev/was-unresolved":            "asked/" + early,
			},
			finalizers: []string{ours, theirs},
			want:       objects.Change{Conflicts: []string{begunSince}},
		},
		{
			why: "or the question is open",
			annotations: map[string]string{
				"krateo.io/external-create-pending":     early,
				"crossplane.io/external-create-pending": late,
				"moorage.dev/was-unresolved":            "asked-again/" + early,
			},
			finalizers: []string{ours, theirs},
			want:       objects.Change{Conflicts: []string{begunSince}},
		},
		{
			why: "the answer about a creation that was carried over holds for the predecessor's mark of it",
			annotations: map[string]string{
				"krateo.io/external-create-failed": early, "crossplane.io/external-create-failed": early,
				"crossplane.io/external-create-pending": late,
				"moorage.dev/was-unresolved":            "asked/" + late,
			},
			finalizers: []string{ours},
		},
		{
			why: "a note without a time does not tell which creation the user has answered about",
			annotations: map[string]string{
				"crossplane.io/external-create-pending": late,
				"moorage.dev/was-unresolved":            "asked",
			},
			finalizers: []string{ours},
		},
		{
			why: "somebody edited the predecessor's name after the takeover, which has no effect",
			annotations: map[string]string{
				"crossplane.io/external-name": "b", "krateo.io/external-name": "a",
				"krateo.io/external-create-succeeded":     early,
				"crossplane.io/external-create-succeeded": early,
			},
			finalizers: []string{ours}, created: "Observed",
			want: objects.Change{Conflicts: []string{
				`krateo.io/external-name is "a" and crossplane.io/external-name is "b": look which resource is meant, and set ` +
					`both to its name; nothing of the object is changed before`,
			}},
		},
		{
			why: "a user was asked about an object in deletion, and has answered: the mark does not come back",
			annotations: map[string]string{
				"moorage.dev/was-unresolved":            "asked",
				"crossplane.io/external-create-pending": early,
			},
			finalizers: []string{theirs}, deleted: late,
			want: objects.Change{Conflicts: []string{objects.Leaving(objects.Managed)}},
		},
		{
			why:         "a condition Created of the provider's own says nothing of Moorage",
			annotations: map[string]string{"crossplane.io/external-name": "vol-0", "crossplane.io/paused": "true"},
			created:     "VolumeCreated",
			want: objects.Change{Annotations: map[string]string{
				"krateo.io/external-name": "vol-0", "krateo.io/paused": "true",
			}},
		},
	} {
		var o objects.Object

		o.Metadata.Annotations, o.Metadata.Finalizers, o.Spec.DeletionPolicy = row.annotations, row.finalizers, row.policy
		o.Metadata.Deleted = row.deleted

		if row.created != "" {
			o.Status.Conditions = []objects.Condition{{Type: "Created", Status: "True", Reason: row.created}}
		}

		if diff := cmp.Diff(row.want, objects.Decide("", row.role, o), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", row.why, diff)
		}
	}
}

// A server stands in for kubectl and what is behind it: it patches objects of one kind if
// their version is the one that was read.
type server struct {
	items  []map[string]any
	before func() // called before a patch
}

func (s *server) kubectl(_ context.Context, args ...string) ([]byte, error) {
	if args[0] == "get" {
		return json.Marshal(map[string]any{"items": s.items})
	}

	if s.before != nil {
		s.before()
	}

	patch := map[string]map[string]any{}
	if err := json.Unmarshal([]byte(args[len(args)-1][len("--patch="):]), &patch); err != nil {
		return nil, err
	}

	metadata := s.items[0]["metadata"].(map[string]any)
	if patch["metadata"]["resourceVersion"] != metadata["resourceVersion"] {
		return nil, errors.New("the object has been modified")
	}

	if f, ok := patch["metadata"]["finalizers"]; ok {
		metadata["finalizers"] = f
	}

	for key, value := range patch["metadata"]["annotations"].(map[string]any) {
		metadata["annotations"].(map[string]any)[key] = value
	}

	metadata["resourceVersion"] = metadata["resourceVersion"].(string) + "1"

	return nil, nil
}

// TestResumes applies a plan that a concurrent write made stale: nothing is overwritten, and the next plan has the
// rest.
func TestResumes(t *testing.T) {
	metadata := map[string]any{
		"name": "reader", "namespace": "db", "resourceVersion": "1",
		"annotations": map[string]any{"crossplane.io/external-name": "it's", "crossplane.io/paused": "true"},
		"finalizers":  []any{theirs},
	}
	s := &server{items: []map[string]any{{"metadata": metadata}}}

	plan := func() []objects.Change {
		t.Helper()

		changes, err := objects.Plan(t.Context(), s.kubectl, "roles.example.org", objects.Managed)
		if err != nil {
			t.Fatal(err)
		}

		return changes
	}

	stale := plan()
	if want := `kubectl patch roles.example.org reader --namespace=db --type=merge ` +
		`'--patch={"metadata":{"annotations":{"krateo.io/external-name":"it'\''s","krateo.io/paused":"true"},` +
		`"resourceVersion":"1"}}'`; stale[0].Command() != want {
		t.Errorf("the command is\n%s, not\n%s", stale[0].Command(), want)
	}

	s.before = func() { metadata["resourceVersion"] = "2" }
	if err := objects.Apply(t.Context(), s.kubectl, stale[0]); err == nil {
		t.Error("a stale change was made")
	}

	s.before = nil
	if err := objects.Apply(t.Context(), s.kubectl, plan()[0]); err != nil {
		t.Fatal(err)
	}

	left := plan()
	if len(left) != 1 || !left[0].Empty() || !slices.Equal(left[0].Pending, []string{theirs}) {
		t.Errorf("what is left is %+v", left)
	}
}

// TestCommandIsQuoted has words that a shell would read otherwise.
func TestCommandIsQuoted(t *testing.T) {
	c := objects.Change{Resource: "roles", Name: "a", Take: []string{theirs}}

	for option, want := range map[string]string{
		"--context=kind-dev":                "--context=kind-dev",
		"--context=arn:aws:eks:eu/a@b.c,d+": "--context=arn:aws:eks:eu/a@b.c,d+",
		"--context=a b":                     "'--context=a b'",
		"--context=it's":                    `'--context=it'\''s'`,
		"--context=a\n#b":                   "'--context=a\n#b'",
		"--context=[a-z]":                   "'--context=[a-z]'",
		"--context=!!":                      "'--context=!!'",
		"--kubeconfig=~/a":                  "'--kubeconfig=~/a'",
		"--kubeconfig=$HOME/a":              "'--kubeconfig=$HOME/a'",
		"":                                  "''",
	} {
		if line := c.Command(option); !strings.HasSuffix(line, "}' "+want) {
			t.Errorf("%q is written %s", option, line)
		}
	}
}

// TestPlanFails hands on what kubectl says.
func TestPlanFails(t *testing.T) {
	refused := errors.New("forbidden")

	_, err := objects.Plan(t.Context(), func(context.Context, ...string) ([]byte, error) { return nil, refused },
		"roles", objects.Managed)
	if !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
}

// TestPlanReadsEveryKind has objects whose spec means something else by the names of policies.
func TestPlanReadsEveryKind(t *testing.T) {
	for _, spec := range []string{`{"deletionPolicy":{"volumes":"Retain"}}`, `{"deletionPolicy":["Orphan"]}`,
		`{"managementPolicies":"all","deletionPolicy":"Orphan"}`, `"x"`, `null`} {
		changes, err := objects.Plan(t.Context(), func(context.Context, ...string) ([]byte, error) {
			return []byte(`{"items":[{"metadata":{"name":"a","annotations":{"crossplane.io/external-name":"x"}},"spec":` + spec +
				`}]}`), nil
		}, "roles", objects.Managed)
		if err != nil || len(changes) != 1 || changes[0].Annotations["krateo.io/external-name"] != "x" {
			t.Errorf("%s: %+v, %v", spec, changes, err)
		} else if got, want := changes[0].Annotations["krateo.io/deletion-policy"] == "orphan", spec[2] == 'm'; got != want {
			t.Errorf("%s: the deletion policy is carried over: %v, want %v", spec, got, want)
		}
	}
}
