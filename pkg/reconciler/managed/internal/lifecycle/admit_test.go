package lifecycle

import "testing"

func TestAdmit(t *testing.T) {
	cases := []struct {
		reason string
		facts  AdmitFacts
		want   Admission
	}{
		{"nothing is read after a restore of the API server", AdmitFacts{Restored: true}, AwaitRestart},
		{"nor is anything done with what was read before", AdmitFacts{Restored: true, Reading: Found}, AwaitRestart},
		{"an error of the read is no absence", AdmitFacts{}, ReturnError},
		{"and says nothing of what may remain", AdmitFacts{MayRemain: true, Deferrable: true}, ReturnError},
		{"a stale cache is waited for", AdmitFacts{Reading: DeletedButCached}, AwaitCache},
		{"an absence that may leave something is confirmed first", AdmitFacts{Reading: NotFound, MayRemain: true},
			AwaitCache},
		{"an object that is gone is forgotten", AdmitFacts{Reading: NotFound}, Forget},
		{"there is nothing to defer", AdmitFacts{Reading: NotFound, Deferrable: true}, Forget},
		{"a healthy object is reconciled later", AdmitFacts{Reading: Found, Deferrable: true}, Defer},
		{"an object is reconciled", AdmitFacts{Reading: Found}, Reconcile},
	}
	for _, tc := range cases {
		if got := Admit(tc.facts); got != tc.want {
			t.Errorf("%s: Admit(%+v) = %d, want %d", tc.reason, tc.facts, got, tc.want)
		}
	}
}

// TestAdmitInvariants goes through all facts: an object is forgotten only if it was not found and leaves nothing, and
// it is reconciled only if it was found.
func TestAdmitInvariants(t *testing.T) {
	for bits := range 8 {
		for reading := NotRead; reading <= DeletedButCached; reading++ {
			f := AdmitFacts{Reading: reading, Restored: bits&1 != 0, MayRemain: bits&2 != 0, Deferrable: bits&4 != 0}
			switch a := Admit(f); {
			case a == Forget && (reading != NotFound || f.MayRemain || f.Restored):
				t.Errorf("%+v is forgotten", f)
			case (a == Reconcile || a == Defer) && (reading != Found || f.Restored || f.MayRemain):
				t.Errorf("%+v is reconciled", f)
			}
		}
	}
}
