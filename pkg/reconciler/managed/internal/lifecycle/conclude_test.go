package lifecycle

import "testing"

func TestConclude(t *testing.T) {
	cases := []struct {
		reason string
		facts  ConcludeFacts
		want   Conclusion
	}{
		{"an outcome is written", ConcludeFacts{}, WriteStatus},
		{"so is a failure", ConcludeFacts{Stop: Failed}, WriteStatus},
		{"also as the process stops, if a decision ended the pass", ConcludeFacts{Interrupted: true}, WriteStatus},
		{"once it is written, it is reported", ConcludeFacts{StatusWrite: Written}, Report},
		{"that of a failure, too", ConcludeFacts{Stop: Failed, StatusWrite: Written, Interrupted: true}, Report},
		{"a status that cannot be written is reported", ConcludeFacts{StatusWrite: StatusFailed}, Report},
		{"what was not tried writes nothing", ConcludeFacts{Stop: Later, Interrupted: true, Undoable: true}, Requeue},
		{"what was created for an object that is gone is deleted", ConcludeFacts{Stop: ObjectGone, Undoable: true},
			UndoCreate},
		{"whichever write has shown it", ConcludeFacts{StatusWrite: StatusObjectGone, Undoable: true}, UndoCreate},
		{"but not for an object that is there", ConcludeFacts{Stop: Failed, Undoable: true}, WriteStatus},
		{"of an object that is gone nothing is written", ConcludeFacts{Stop: ObjectGone}, Finish},
		{"whichever write has shown that", ConcludeFacts{StatusWrite: StatusObjectGone, ConflictsPersist: true},
			Finish},
		{"nor of one that was released", ConcludeFacts{Released: true}, Finish},
		{"one that could not be released says so", ConcludeFacts{Released: true, Stop: Failed}, WriteStatus},
		{"a conflict is silent", ConcludeFacts{Stop: Conflicted, Interrupted: true}, RequeueConflict},
		{"that of the status, too", ConcludeFacts{Stop: Failed, StatusWrite: StatusConflicted}, RequeueConflict},
		{"unless they do not end", ConcludeFacts{Stop: Conflicted, ConflictsPersist: true}, WriteStatus},
		{"then it is reported", ConcludeFacts{Stop: Conflicted, ConflictsPersist: true, StatusWrite: Written}, Report},
		{"and counts no more once the status is written", ConcludeFacts{Stop: Conflicted, StatusWrite: Written},
			Report},
		{"that of the status, too", ConcludeFacts{StatusWrite: StatusConflicted, ConflictsPersist: true}, Report},
		{"a fenced process leaves the status alone", ConcludeFacts{Stop: Fenced, Interrupted: true}, Fence},
		{"whichever call has shown that it is", ConcludeFacts{Stop: Failed, StatusWrite: StatusFenced}, Fence},
		{"a terminal error is not reported again", ConcludeFacts{Stop: CauseUnchanged, Interrupted: true}, AwaitChange},
		{"the first case that applies wins",
			ConcludeFacts{Stop: Later, StatusWrite: StatusObjectGone, Undoable: true}, Requeue},
		{"that the object is gone before a conflict", ConcludeFacts{Stop: ObjectGone, StatusWrite: StatusConflicted},
			Finish},
		{"a conflict before the fence", ConcludeFacts{Stop: Fenced, StatusWrite: StatusConflicted}, RequeueConflict},
		{"the fence before an old error", ConcludeFacts{Stop: CauseUnchanged, StatusWrite: StatusFenced}, Fence},
		{"what was cut off is no failure", ConcludeFacts{Stop: Failed, Interrupted: true}, Interrupt},
	}
	for _, tc := range cases {
		if got := Conclude(tc.facts); got != tc.want {
			t.Errorf("%s: Conclude(%+v) = %d, want %d", tc.reason, tc.facts, got, tc.want)
		}
	}
}

// TestConcludeInvariants goes through all facts: a status is written at most once and never of an object that is gone,
// nothing is undone for an object that is there, and every pass ends.
func TestConcludeInvariants(t *testing.T) {
	for bits := range 16 {
		for stop := NotStopped; stop <= CauseUnchanged; stop++ {
			for status := NotWritten; status <= StatusFenced; status++ {
				f := ConcludeFacts{
					Stop: stop, StatusWrite: status, Released: bits&1 != 0, ConflictsPersist: bits&2 != 0,
					Interrupted: bits&4 != 0, Undoable: bits&8 != 0,
				}
				gone := stop == ObjectGone || status == StatusObjectGone
				switch c := Conclude(f); {
				case c == WriteStatus && (gone || status != NotWritten):
					t.Errorf("%+v: the status is written", f)
				case c == UndoCreate && (!gone || !f.Undoable):
					t.Errorf("%+v: a creation is undone", f)
				case c == Report && status == NotWritten:
					t.Errorf("%+v: it is reported before it is written", f)
				case c == Interrupt && (!f.Interrupted || stop == NotStopped):
					t.Errorf("%+v: it was interrupted by nothing", f)
				}
			}
		}
	}
}
