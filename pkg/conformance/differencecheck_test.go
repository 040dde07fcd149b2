package conformance

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	fielddiff "github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A telling changes the differences of an observation of a client that is otherwise correct.
type telling func(v *volume.Volume, o *managed.ExternalObservation)

// tellingSuite returns the suite of a client that names differences.
func tellingSuite(change telling) Suite {
	d := newDiskService(Named)
	d.stamped = true
	type fields struct {
		SizeGiB int64  `json:"sizeGiB"`
		Tier    string `json:"tier"`
	}
	s := d.suite(&wreck{diskClient: &diskClient{d}, observe: func(
		ctx context.Context, p *diskClient, v *volume.Volume,
	) (managed.ExternalObservation, error) {
		o, err := p.Observe(ctx, v)
		if x, getErr := p.get(ctx, v.GetName()); getErr == nil && o.ResourceExists && o.Owner != managed.OwnerOther {
			o.Differences, _ = fielddiff.Between(fields{v.Spec.SizeGiB, v.Spec.Tier}, fields{x.size, x.tier},
				fielddiff.Immutable("tier"))
			change(v, &o)
		}

		return o, err
	}})
	s.Within = time.Nanosecond

	return s
}

// replaced returns a telling that replaces the differences if there are some.
func replaced(by ...commonv1.Difference) telling {
	return func(_ *volume.Volume, o *managed.ExternalObservation) {
		if len(o.Differences) > 0 {
			o.Differences = by
		}
	}
}

// at returns a telling that changes the difference with a path.
func at(path string, change func(v *volume.Volume, d *commonv1.Difference)) telling {
	return func(v *volume.Volume, o *managed.ExternalObservation) {
		for i := range o.Differences {
			if o.Differences[i].Path == path {
				change(v, &o.Differences[i])
			}
		}
	}
}

// TestNamedDifferences: what a client says of its differences is judged.
func TestNamedDifferences(t *testing.T) {
	calls, stale := 0, 0
	cases := map[string]struct {
		reason   string
		tell     telling
		property string // empty: there is no finding
		says     string // part of the finding, or of a warning
	}{
		"Right": {reason: "a correct client passes", tell: func(*volume.Volume, *managed.ExternalObservation) {}},
		"Never": {reason: "a client need not name differences", tell: replaced()},
		"NotOfDrift": {
			"a change of the spec is named, and one by others is not", func(v *volume.Volume, o *managed.ExternalObservation) {
				if v.Spec.SizeGiB == 10 && v.Spec.Tier == "fast" {
					o.Differences = nil
				}
			}, namesDifferences, "after Probe.Drift, Observe of vol says that its resource is not up to date, and names no",
		},
		"NotOfAMutation": {
			"a change by others is named, and one of the spec is not", func(v *volume.Volume, o *managed.ExternalObservation) {
				if v.Spec.SizeGiB == 20 || v.Spec.Tier == "slow" {
					o.Differences = nil
				}
			}, namesDifferences, "after the mutation grow, Observe of vol says that its resource is not up to date",
		},
		"StaysAfterUpdate": {
			reason: "a difference that no Update corrects is ignored, and a warning",
			tell: func(_ *volume.Volume, o *managed.ExternalObservation) {
				o.Differences = append(o.Differences, commonv1.Difference{Path: "tier", Desired: `"a"`, Observed: `"b"`})
			}, says: "Observe of vol says that its resource is up to date, and that it differs in \"tier\"",
		},
		"StaleReplica": {
			reason: "each second observation of the first ones is old",
			tell: func(_ *volume.Volume, o *managed.ExternalObservation) {
				if len(o.Differences) == 0 {
					return
				}
				if stale++; stale%2 == 0 && stale < 6 {
					o.Differences = append(o.Differences, commonv1.Difference{Path: "tier", Desired: `"a"`, Observed: `"b"`})
				}
			},
		},
		"EachTimeAnother": {
			"a list of which only the next field is named", func(_ *volume.Volume, o *managed.ExternalObservation) {
				if calls++; len(o.Differences) > 0 {
					o.Differences[0].Desired = strconv.Itoa(calls)
				}
			}, namesDifferences, `names the differences "sizeGiB", and at once after that`,
		},
		"WrongField": {
			"the field that has changed is not the one that is named",
			replaced(commonv1.Difference{Path: "tier", Desired: `"a"`, Observed: `"b"`}), namesDifferences,
			`the mutation grow of vol changes "sizeGiB", and Observe names the difference "tier"`,
		},
		"EqualValues": {
			"both values are that of the spec", at("sizeGiB", func(_ *volume.Volume, d *commonv1.Difference) {
				d.Observed = d.Desired
			}), namesDifferences, `the desired and the observed value of "sizeGiB" are both "20"`,
		},
		"NoPath": {
			"a difference of no field", replaced(commonv1.Difference{Desired: "1", Observed: "2"}), namesDifferences,
			"a difference without a Path",
		},
		"NotImmutable": {
			"a field that no update changes looks as if it would be corrected",
			at("tier", func(_ *volume.Volume, d *commonv1.Difference) { d.Immutable = false }), namesDifferences,
			`does not say that the difference "tier" is Immutable`,
		},
		"NotMutable": {
			"a field that each update changes looks as if it could not be corrected",
			at("sizeGiB", func(_ *volume.Volume, d *commonv1.Difference) { d.Immutable = true }), namesDifferences,
			`says that the difference "sizeGiB" is Immutable, and the mutation grow is one that an update makes`,
		},
		"SecretOfTheProvider": {
			"a difference shows the credentials of the provider", at("sizeGiB", func(_ *volume.Volume, d *commonv1.Difference) {
				d.Observed = `"set by hunter2"`
			}), "secrets-are-kept", `the difference "sizeGiB" of vol shows one`,
		},
		"GeneratedPassword": {
			"a difference shows a password that was published", func(v *volume.Volume, o *managed.ExternalObservation) {
				o.ConnectionDetails = managed.ConnectionDetails{"password": []byte("correct horse")}
				at("sizeGiB", func(_ *volume.Volume, d *commonv1.Difference) { d.Observed = `"correct horse"` })(v, o)
			}, "secrets-are-kept", `the difference "sizeGiB" of vol shows one`,
		},
		"OtherNames": {
			reason: "the names of the external system are no finding, and a warning",
			tell: at("sizeGiB", func(_ *volume.Volume, d *commonv1.Difference) {
				d.Path = "capacity"
			}), says: `Observe of vol names the difference "capacity", which is no field of spec`,
		},
		"NoValues": {
			reason: "a difference without values is no finding, and a warning",
			tell: at("sizeGiB", func(_ *volume.Volume, d *commonv1.Difference) {
				d.Desired, d.Observed = "", ""
			}), says: `the difference "sizeGiB" of vol has neither Desired nor Observed`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := examine(t, tellingSuite(c.tell))
			if c.property != "" && !k.findings.says(c.property, c.says) {
				t.Errorf("%s: %s is not found with %q", c.reason, c.property, c.says)
			}
			for _, f := range k.findings.list {
				if f.property != c.property {
					t.Errorf("%s: another finding: %s", c.reason, f)
				}
			}
			if k.schedulesRun > soon {
				t.Errorf("%s: it took %d schedules to find out", c.reason, k.schedulesRun)
			}
			warnings := slices.DeleteFunc(k.notes, func(n string) bool { return !strings.HasPrefix(n, "warning: ") })
			if warned := strings.Contains(strings.Join(warnings, "\n"), c.says); c.property == "" && c.says != "" && !warned ||
				c.says == "" && len(warnings) > 0 {
				t.Errorf("%s: the warnings are %q", c.reason, warnings)
			}
		})
	}
}

// A driftVolume is a volume whose status has a place for differences.
type driftVolume struct {
	volume.Volume
	commonv1.DriftStatus
}

// TestDriftReporter: if the status of the kind has a place for differences, a client that never names any
// is found.
func TestDriftReporter(t *testing.T) {
	differs := managed.ExternalObservation{ResourceExists: true}
	named := differs
	named.Differences = []commonv1.Difference{{Path: "sizeGiB", Desired: "1", Observed: "2"}}
	foreign := differs
	foreign.Owner = managed.OwnerOther
	cases := map[string]struct {
		reason   string
		reporter bool
		o        managed.ExternalObservation
		found    bool
	}{
		"Silent":  {"the place stays empty", true, differs, true},
		"Named":   {"the place has them", true, named, false},
		"NoPlace": {"a kind need not have the place", false, differs, false},
		"Absent":  {"there is nothing to compare", true, managed.ExternalObservation{}, false},
		"Foreign": {"what others own is not compared", true, foreign, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := &directChecks{runner: &runner{ledger: &ledger{}}, sample: sample("vol")}
			if c.reporter {
				m.sample = &driftVolume{Volume: *sample("vol")}
			}
			if got := m.checkDifferences(sample("vol"), c.o, "a change"); (got != nil) != c.found {
				t.Errorf("%s: %v", c.reason, got)
			}
		})
	}
}

// TestEqualValues: different values whose shown texts are equal, as package difference returns them, are no finding.
// TestNamedDifferences has values that are equal.
func TestEqualValues(t *testing.T) {
	long := strings.Repeat("ä", fielddiff.MaxLength)
	many := func(end string) map[string]string {
		out := map[string]string{}
		for i := range fielddiff.MaxFields {
			out["field"+strconv.Itoa(i)] = strconv.Itoa(i) + strings.Repeat("x", 10*fielddiff.MaxLength) + end
		}

		return out
	}
	cases := map[string]struct {
		reason            string
		desired, observed map[string]string
	}{
		"Userinfo": {"both passwords are masked", map[string]string{"url": "https://me:secret-one@example.org"},
			map[string]string{"url": "https://me:secret-two@example.org"}},
		"Unread": {"only the first values of a long list are read", many("1"), many("2")},
		"Cut": {"an odd number of bytes is cut", map[string]string{"text": long + "1"},
			map[string]string{"text": long + "2"}},
		"CutEarlier": {"a rune is cut in two", map[string]string{"text": "a" + long + "1"},
			map[string]string{"text": "a" + long + "2"}},
		"Replaced": {"both characters cannot be printed", map[string]string{"text": "a\u200bb"},
			map[string]string{"text": "a\u200cb"}},
		"Space": {"both characters are shown as a space", map[string]string{"text": "a b"},
			map[string]string{"text": "a\u00a0b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			differences, err := fielddiff.Between(c.desired, c.observed)
			if err != nil || !slices.ContainsFunc(differences, func(d commonv1.Difference) bool {
				return d.Desired == d.Observed && d.Desired != ""
			}) {
				t.Fatalf("%s: no texts are equal: %v, %v", c.reason, differences, err)
			}
			r := &recorder{ledger: &ledger{
				later: func(_, text string) { t.Errorf("%s: %s", c.reason, text) }, warn: func(text string) { t.Error(text) },
			}}
			r.judgeValues(sample("vol"), differences)
		})
	}
}
