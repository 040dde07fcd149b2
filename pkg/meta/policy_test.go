package meta

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A may has all permissions that policies determine, so that a row shows all of them.
type may struct {
	Create, Update, Delete, OnlyObserve bool
	Actions                             string
	Valid                               bool
}

func permissions(o metav1.Object) may {
	m := may{
		Create: ShouldCreate(o), Update: ShouldUpdate(o), Delete: ShouldDelete(o), OnlyObserve: ShouldOnlyObserve(o),
		Valid: ValidatePolicies(o) == nil,
	}

	for _, a := range []string{ActionCreate, ActionUpdate, ActionDelete, "rename"} {
		if IsActionAllowed(o, a) {
			m.Actions += a[:1]
		}
	}

	return m
}

func TestPolicies(t *testing.T) {
	const (
		management = AnnotationKeyManagementPolicy
		deletion   = AnnotationKeyDeletionPolicy
		adoption   = AnnotationKeyAdoptionPolicy
	)

	all := may{Create: true, Update: true, Delete: true, Actions: "cud", Valid: true}
	orphan := may{Create: true, Update: true, Actions: "cud", Valid: true}
	onlyLook := may{OnlyObserve: true, Valid: true}

	cases := map[string]struct {
		reason string
		o      *metav1.ObjectMeta
		want   may
	}{
		"None": {reason: "Without policies everything is allowed.", o: &metav1.ObjectMeta{}, want: all},
		"Empty": {
			reason: "An empty policy is none.",
			o:      annotated(management, "", deletion, "", adoption, ""), want: all,
		},
		"Default": {
			reason: "The default can be spelt out.",
			o:      annotated(management, "default", deletion, "delete"), want: all,
		},
		"Orphan": {reason: "Orphan forbids to delete.", o: annotated(deletion, "orphan"), want: orphan},
		"ObserveCreateUpdate": {
			reason: "All but delete.",
			o:      annotated(management, "observe-create-update", deletion, "delete"),
			want:   may{Create: true, Update: true, Actions: "cu", Valid: true},
		},
		"ObserveDelete": {
			reason: "Delete only.", o: annotated(management, "observe-delete"),
			want: may{Delete: true, Actions: "d", Valid: true},
		},
		"ObserveDeleteOrphan": {
			reason: "Orphan wins over observe-delete.",
			o:      annotated(management, "observe-delete", deletion, "orphan"),
			want:   may{Actions: "d", Valid: true},
		},
		"Observe": {reason: "Look and nothing else.", o: annotated(management, "observe"), want: onlyLook},
		"ObserveOrphan": {
			reason: "Looking deletes nothing anyway.",
			o:      annotated(management, "observe", deletion, "orphan"), want: onlyLook,
		},
		"UnknownManagement": {
			reason: "Case counts; a misspelt policy allows nothing.",
			o:      annotated(management, "Default"), want: may{},
		},
		"UnknownDeletion": {
			reason: "A misspelt deletion policy allows nothing.", o: annotated(deletion, "Orphan"),
			want: may{},
		},
		"UnknownAdoption": {
			reason: "A misspelt adoption policy allows nothing.", o: annotated(adoption, "always"),
			want: may{},
		},
		"ObserveUnknown": {
			reason: "One misspelt policy is enough.",
			o:      annotated(management, "observe", deletion, "keep"), want: may{},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, permissions(tc.o)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnknownAllowsNothing tries every combination of known and unknown values.
func TestUnknownAllowsNothing(t *testing.T) {
	for _, m := range append([]string{"", "bogus"}, policies[0].values...) {
		for _, d := range append([]string{"", "bogus"}, policies[1].values...) {
			for _, a := range append([]string{"", "bogus"}, policies[2].values...) {
				o := annotated(AnnotationKeyManagementPolicy, m, AnnotationKeyDeletionPolicy, d,
					AnnotationKeyAdoptionPolicy, a)
				got := permissions(o)

				if unknown := m == "bogus" || d == "bogus" || a == "bogus"; unknown &&
					(got != may{} || ShouldAdopt(o)) {
					t.Errorf("%q, %q, %q allow %+v, want nothing", m, d, a, got)
				} else if unknown == got.Valid {
					t.Errorf("%q, %q, %q are valid: %t", m, d, a, got.Valid)
				}

				if d == DeletionPolicyOrphan && got.Delete {
					t.Errorf("%q, %q, %q allow to delete what is orphaned", m, d, a)
				}
			}
		}
	}
}

func TestShouldAdopt(t *testing.T) {
	for value, want := range map[string]bool{"": false, "never": false, "if-unowned": true, "If-Unowned": false} {
		if got := ShouldAdopt(annotated(AnnotationKeyAdoptionPolicy, value)); got != want {
			t.Errorf("ShouldAdopt(%q) = %t, want %t", value, got, want)
		}
	}
}

func TestValidatePoliciesMessage(t *testing.T) {
	cases := map[string]struct {
		reason string
		o      *metav1.ObjectMeta
		want   string
	}{
		"Management": {
			reason: "The user sees what to write instead.",
			o:      annotated(AnnotationKeyManagementPolicy, "Observe"),
			want: `annotation krateo.io/management-policy has the unknown value "Observe"; ` +
				`allowed are default, observe-create-update, observe-delete, observe`,
		},
		"Deletion": {
			reason: "Control characters are made visible.",
			o:      annotated(AnnotationKeyDeletionPolicy, "keep\n"),
			want:   `annotation krateo.io/deletion-policy has the unknown value "keep\n"; allowed are delete, orphan`,
		},
		"Adoption": {
			reason: "A long value is cut.",
			o:      annotated(AnnotationKeyAdoptionPolicy, strings.Repeat("x", 1<<20)),
			want: `annotation moorage.dev/adoption-policy has the unknown value "` + strings.Repeat("x", 63) +
				`…"; allowed are never, if-unowned, if-matching, force`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ValidatePolicies(tc.o).Error()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestQuotedIsBounded(t *testing.T) {
	for name, v := range map[string]string{
		"Wide":    strings.Repeat("🚢", 1000),
		"Broken":  strings.Repeat("\xff", 1000),
		"JustFit": strings.Repeat("ä", 64),
	} {
		got := quoted(v)
		if !utf8.ValidString(got) || len(got) > 64*utf8.UTFMax+8 {
			t.Errorf("%s: %d bytes, valid %t", name, len(got), utf8.ValidString(got))
		}
	}

	if want := `"` + strings.Repeat("ä", 64) + `"`; quoted(strings.Repeat("ä", 64)) != want {
		t.Error("A value of exactly 64 characters must not be cut")
	}
}

func TestGetPollInterval(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  string
		want   time.Duration
		set    bool
		err    string
	}{
		"None": {reason: "There is no annotation."},
		"Set":  {reason: "A Go duration is taken.", value: "1m30s", want: 90 * time.Second, set: true},
		"Number": {
			reason: "A unit is needed.", value: "90", set: true,
			err: `annotation moorage.dev/poll-interval has the value "90"; ` +
				`it must be a positive duration such as "90s" or "10m"`,
		},
		"Zero": {
			reason: "Zero would be a hot loop.", value: "0s", set: true,
			err: `annotation moorage.dev/poll-interval has the value "0s"; ` +
				`it must be a positive duration such as "90s" or "10m"`,
		},
		"Negative": {
			reason: "There is no time before.", value: "-1h", set: true,
			err: `annotation moorage.dev/poll-interval has the value "-1h"; ` +
				`it must be a positive duration such as "90s" or "10m"`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, set, err := GetPollInterval(annotated(AnnotationKeyPollInterval, tc.value))
			if got != tc.want || set != tc.set {
				t.Errorf("%s\nGetPollInterval(...) = %s, %t, want %s, %t", tc.reason, got, set, tc.want, tc.set)
			}

			text := ""
			if err != nil {
				text = err.Error()
			}

			if diff := cmp.Diff(tc.err, text); diff != "" {
				t.Errorf("%s\n-want error, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSwitches(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": false, "false": false, "": false, "1": false} {
		if got := IsPaused(annotated("krateo.io/paused", value)); got != want {
			t.Errorf("IsPaused(%q) = %t, want %t", value, got, want)
		}

		if got := IsVerbose(annotated("krateo.io/connector-verbose", value)); got != want {
			t.Errorf("IsVerbose(%q) = %t, want %t", value, got, want)
		}
	}
}
