package lifecycle

import "testing"

func TestLeftoverOf(t *testing.T) {
	deletes := AdmitFacts{MayDelete: true}
	cases := []struct {
		reason   string
		admitted AdmitFacts
		facts    Facts
		want     Leftover
	}{
		{"a paused object is not observed", AdmitFacts{MayDelete: true, Paused: true}, Facts{Presence: Present}, Unchanged},
		{"and its resource stays if the policy says so", AdmitFacts{Paused: true}, Facts{}, NoneRemains},
		{"nor is one with an unknown policy, whatever the other policies say", AdmitFacts{Invalid: true}, Facts{}, Unchanged},
		{"even if its resource was observed before", AdmitFacts{Invalid: true, MayDelete: true},
			Facts{Presence: Present}, Unchanged},
		{"the policy says that the resource stays", AdmitFacts{}, Facts{Presence: Present}, NoneRemains},
		{"also before an observation", AdmitFacts{}, Facts{}, NoneRemains},
		{"there is no observation", deletes, Facts{}, Unchanged},
		{"there is only a list item", deletes, Facts{Presence: Listed}, Unchanged},
		{"a list is not complete", deletes, Facts{Presence: ListIncomplete}, Unchanged},
		{"the resource has another owner", deletes, Facts{Presence: Present, Ownership: Foreign}, NoneRemains},
		{"the resource is ours", deletes, Facts{Presence: Present}, MayRemain},
		{"it was not found", deletes, Facts{Presence: Absent}, NoneRemains},
		{"the owner of a resource that was not found does not matter", deletes, Facts{
			Presence: Absent, Ownership: Foreign, Doubt: Grace,
		}, MayRemain},
		{"it was not found, and may appear", deletes, Facts{Presence: Absent, Doubt: Grace}, MayRemain},
		{"its absence is not confirmed", deletes, Facts{Presence: Absent, Doubt: Unconfirmed}, MayRemain},
		{"the last attempt may have created one", deletes, Facts{Presence: Absent, Attempt: Unknown}, MayRemain},
		{"what was created was never observed", deletes, Facts{Presence: Absent, Attempt: CreatedUnobserved}, MayRemain},
		{"it exists, whatever the attempt", deletes, Facts{
			Presence: Present, Attempt: Settled, Doubt: NoDoubt,
		}, MayRemain},
	}
	for _, tc := range cases {
		if got := LeftoverOf(tc.admitted, tc.facts); got != tc.want {
			t.Errorf("%s: LeftoverOf(%+v, %+v) = %d, want %d", tc.reason, tc.admitted, tc.facts, got, tc.want)
		}
	}
}
