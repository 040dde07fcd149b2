package managed

import "testing"

// TestOwnersByName verifies that an owner has a one-word text.
func TestOwnersByName(t *testing.T) {
	for owner, want := range map[Owner]string{
		OwnerUnknown: "unknown", OwnerOurs: "ours", OwnerNone: "nobody", OwnerOther: "other", -1: "invalid",
		4: "invalid",
	} {
		if got := owner.String(); got != want {
			t.Errorf("owner %d is %q, want %q", int(owner), got, want)
		}
	}
}
