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
		{"also one that is paused", AdmitFacts{Reading: Found, Deferrable: true, Paused: true}, Defer},
		{"there is no object to pause", AdmitFacts{Reading: NotFound, Paused: true}, Forget},
		{"pause outranks everything else that the object says",
			AdmitFacts{Reading: Found, Paused: true, Invalid: true, Deleted: true}, Pause},
		{"without our finalizer nothing is left to do", AdmitFacts{Reading: Found, Deleted: true}, Ignore},
		{"even if a policy is not understood", AdmitFacts{Reading: Found, Invalid: true, Deleted: true}, Ignore},
		{"or allows Delete", AdmitFacts{Reading: Found, Deleted: true, MayDelete: true}, Ignore},
		{"a policy that is not understood keeps the finalizer",
			AdmitFacts{Reading: Found, Invalid: true, Deleted: true, HasFinalizer: true}, Reject},
		{"and nothing is done for an object that is not being deleted", AdmitFacts{Reading: Found, Invalid: true}, Reject},
		{"a policy that does not allow Delete needs no observation",
			AdmitFacts{Reading: Found, Deleted: true, HasFinalizer: true}, Orphan},
		{"a deleted object is reconciled",
			AdmitFacts{Reading: Found, Deleted: true, HasFinalizer: true, MayDelete: true}, Reconcile},
		{"an object is reconciled", AdmitFacts{Reading: Found}, Reconcile},
	}
	for _, tc := range cases {
		if got := Admit(tc.facts); got != tc.want {
			t.Errorf("%s: Admit(%+v) = %s, want %s", tc.reason, tc.facts, got, tc.want)
		}
	}
}

// TestAdmitInvariants goes through all facts.
func TestAdmitInvariants(t *testing.T) {
	invariants := map[string]func(AdmitFacts, Admission) bool{
		"an object is forgotten only if it was not found and leaves nothing": func(f AdmitFacts, a Admission) bool {
			return a != Forget || f.Reading == NotFound && !f.MayRemain && !f.Restored
		},
		"nothing is done with an object that was not found": func(f AdmitFacts, a Admission) bool {
			object := a == Reconcile || a == Defer || a == Pause || a == Ignore || a == Reject || a == Orphan

			return !object || f.Reading == Found && !f.Restored && !f.MayRemain
		},
		"nothing is observed while paused or while a policy is not understood": func(f AdmitFacts, a Admission) bool {
			return a != Reconcile || !f.Paused && !f.Invalid
		},
		"a deleted object is reconciled only if our finalizer keeps it and the policies allow Delete": func(f AdmitFacts,
			a Admission) bool {
			return a != Reconcile || !f.Deleted || f.HasFinalizer && f.MayDelete
		},
		"a resource is left behind only by a policy that is understood": func(f AdmitFacts, a Admission) bool {
			return a != Orphan || f.Deleted && f.HasFinalizer && !f.MayDelete && !f.Invalid && !f.Paused
		},
	}
	for bits := range 1 << 8 {
		flag := func(i int) bool { return bits>>i&1 != 0 }
		for reading := NotRead; reading <= DeletedButCached; reading++ {
			f := AdmitFacts{
				Reading: reading, Restored: flag(0), MayRemain: flag(1), Deferrable: flag(2), Paused: flag(3),
				Invalid: flag(4), Deleted: flag(5), HasFinalizer: flag(6), MayDelete: flag(7),
			}
			a := Admit(f)
			for name, holds := range invariants {
				if !holds(f, a) {
					t.Errorf("%s: violated by %s with %+v", name, a, f)
				}
			}
		}
	}
}

func TestEveryAdmissionHasAName(t *testing.T) {
	seen := map[string]bool{}
	for a := Reconcile; a <= Orphan; a++ {
		if a.String() == "invalid" || seen[a.String()] {
			t.Errorf("admission %d has the name %q, which is none or taken", a, a)
		}
		seen[a.String()] = true
	}
	for _, a := range []Admission{-1, Orphan + 1} {
		if a.String() != "invalid" {
			t.Errorf("admission %d has the name %q", int(a), a)
		}
	}
}
