package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A lacking is an external system in which every object lacks something.
type lacking struct{ *extSystem }

func (lacking) Lacks(resource.Managed) string { return "a bucket" }

// TestTrial checks that a scenario for another external system is judged like one of this package, with its own pace
// and patience.
func TestTrial(t *testing.T) {
	type want struct {
		Violated []string
		Paced    bool
		Asked    int
		Drifted  int
	}
	cases := map[string]struct {
		reason  string
		outside func(*extSystem) ExternalSystem
		faults  []Fault
		secret  string
		want    want
	}{
		"Well": {
			reason:  "a correct system",
			outside: func(h *extSystem) ExternalSystem { return h },
			faults:  []Fault{{Op: "Create", N: 1, Kind: Lost}},
			want:    want{Paced: true},
		},
		"Impatient": {
			reason:  "who waits twice more for what does not come says so after that",
			outside: func(h *extSystem) ExternalSystem { return lacking{h} },
			want:    want{Violated: []string{"L1"}, Paced: true, Asked: 3},
		},
		"Drift": {
			reason:  "what a fault asks for is done as the author says",
			outside: func(h *extSystem) ExternalSystem { return h },
			faults:  []Fault{{Op: "Observe", N: 3, Kind: Drift}},
			want:    want{Paced: true, Drifted: 1},
		},
		"Secret": {
			reason:  "the author's secrets are not seen either",
			outside: func(h *extSystem) ExternalSystem { return h },
			secret:  "first",
			want:    want{Violated: []string{"S10"}, Paced: true},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			synctest.Test(t, func(*testing.T) {
				h := &extSystem{class: classes["named"], created: map[types.UID]int{}}
				trial := Trial{
					Config:   Config{Kind: bucket.Kind, Scheme: theScheme(), Connecter: h, Options: h.class.options},
					External: c.outside(h),
					Schedule: Schedule{Scenario: "story", Class: "system", Faults: c.faults},
					Pace:     func(time.Duration) { got.Paced = true },
					Patient:  func() bool { got.Asked++; return got.Asked < 3 },
					Drift:    func() { got.Drifted++ },
					Salt:     7,
					Script: func(w *World) {
						b := newBucket("first")
						if uid := w.Create(b); uid[:8] != "00000007" {
							t.Errorf("the UID %s has no salt", uid)
						}
						w.Settle()
						w.Rest()
					},
				}
				if c.secret != "" {
					trial.Secrets = []string{c.secret}
				}
				seen := map[string]bool{}
				for _, v := range shared.Try(trial, false).Violations {
					if !seen[v.Property] {
						got.Violated = append(got.Violated, v.Property)
					}
					seen[v.Property] = true
				}
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", c.reason, diff)
			}
		})
	}
}
