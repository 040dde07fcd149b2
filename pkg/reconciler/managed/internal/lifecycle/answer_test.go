package lifecycle

import "testing"

func TestAnswer(t *testing.T) {
	cases := []struct {
		reason   string
		question Question
		want     Answer
	}{
		{"nobody was asked, whatever is gone", Question{}, Unanswered},
		{"nobody was asked since", Question{Noted: true}, Unanswered},
		{"the id alone is left of what nobody asked about", Question{Begun: true}, Unanswered},
		{"the record is there as it was", Question{Asked: true, Recorded: true, Noted: true, Begun: true}, Unanswered},
		{"the record of another runtime has no id, and no note yet", Question{Asked: true, Recorded: true}, Unanswered},
		{"a user removed what the condition names", Question{Asked: true, Noted: true, InStatus: true, HasFinalizers: true},
			GivenUp},
		{"the same, and the finalizer is gone", Question{Asked: true, Noted: true, InStatus: true}, GivenUp},
		{"a user removed the time alone", Question{Asked: true, Begun: true, InStatus: true}, GivenUp},
		{"a replace leaves the finalizer alone", Question{Asked: true, InStatus: true, HasFinalizers: true}, Taken},
		{"or nothing", Question{Asked: true, InStatus: true}, Taken},
		{"of another runtime's attempt there is no note", Question{Asked: true, HasFinalizers: true}, GivenUp},
		{"a user does not remove its finalizer", Question{Asked: true}, Taken},
		{"what was given up is back", Question{GaveUp: true, Recorded: true, Ended: true}, Answered},
		{"the same, and the condition asks", Question{Asked: true, GaveUp: true, Recorded: true, Ended: true},
			Answered},
		{"another may have been begun since", Question{GaveUp: true, Recorded: true, New: true}, Overruled},
		{"another was begun since", Question{GaveUp: true, Recorded: true}, Unanswered},
		{"the same, and it is asked already", Question{Asked: true, GaveUp: true, Recorded: true, New: true},
			Overruled},
		{"what is recorded came later", Question{Recorded: true, Ended: true}, Unanswered},
		{"nothing is back", Question{GaveUp: true, Ended: true}, Unanswered},
	}
	for _, tc := range cases {
		if got := tc.question.Answer(); got != tc.want {
			t.Errorf("%s: %+v.Answer() = %d, want %d", tc.reason, tc.question, got, tc.want)
		}
	}
}

// TestAnAttemptIsAbandonedOnlyIfSomethingIsLeft verifies over all facts that no attempt is abandoned that left nothing,
// or whose result is recorded.
func TestAnAttemptIsAbandonedOnlyIfSomethingIsLeft(t *testing.T) {
	for bits := range 512 {
		q := Question{
			Asked: bits&1 != 0, Recorded: bits&2 != 0, Noted: bits&4 != 0, Begun: bits&8 != 0, InStatus: bits&16 != 0,
			HasFinalizers: bits&32 != 0,
			GaveUp:        bits&64 != 0, Ended: bits&128 != 0, New: bits&256 != 0,
		}
		if q.Answer() == GivenUp && (!q.Asked || q.Recorded || q.InStatus && !q.Noted && !q.Begun) {
			t.Errorf("%+v is given up", q)
		}
		if q.Answer() == Answered && !(q.GaveUp && q.Recorded && q.Ended) {
			t.Errorf("%+v was answered before", q)
		}
		if q.Answer() == Overruled && (!q.GaveUp || !q.Recorded || q.Ended || !q.New) {
			t.Errorf("%+v overrules an answer", q)
		}
	}
}
