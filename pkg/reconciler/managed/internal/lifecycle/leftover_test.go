package lifecycle

import "testing"

func TestBond(t *testing.T) {
	deletes := Permissions{Delete: true}
	cases := []struct {
		reason string
		facts  Facts
		want   Leftover
	}{
		{"what is paused is not looked at", Facts{May: deletes, Paused: true, Presence: Present}, Unchanged},
		{"and stays if the policy says so", Facts{Paused: true}, NoneRemains},
		{"nor what has a policy that nobody knows", Facts{Invalid: true}, Unchanged},
		{"the policy says that it stays", Facts{Presence: Present}, NoneRemains},
		{"and before it was looked at", Facts{}, NoneRemains},
		{"nobody has looked", Facts{May: deletes}, Unchanged},
		{"nobody has looked but a list", Facts{May: deletes, Presence: Listed}, Unchanged},
		{"it is somebody else's", Facts{May: deletes, Presence: Present, Ownership: Foreign}, NoneRemains},
		{"it is ours", Facts{May: deletes, Presence: Present}, MayRemain},
		{"it was not found", Facts{May: deletes, Presence: Absent}, NoneRemains},
		{"whose it is tells nobody of what was not found", Facts{
			May: deletes, Presence: Absent, Ownership: Foreign, Doubt: Grace,
		}, MayRemain},
		{"it was not found, and may not show yet", Facts{May: deletes, Presence: Absent, Doubt: Grace}, MayRemain},
		{"that is not believed yet", Facts{May: deletes, Presence: Absent, Doubt: Unconfirmed}, MayRemain},
		{"the last attempt may have made one", Facts{May: deletes, Presence: Absent, Attempt: Unknown}, MayRemain},
		{"what was made never showed", Facts{May: deletes, Presence: Absent, Attempt: CreatedUnobserved}, MayRemain},
		{"it exists, whatever the attempt", Facts{
			May: deletes, Presence: Present, Attempt: Settled, Doubt: NoDoubt,
		}, MayRemain},
	}
	for _, tc := range cases {
		if got := tc.facts.Leftover(); got != tc.want {
			t.Errorf("%s: %+v.Bond() = %d, want %d", tc.reason, tc.facts, got, tc.want)
		}
	}
}
