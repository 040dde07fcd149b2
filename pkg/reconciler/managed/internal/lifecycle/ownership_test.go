package lifecycle

import "testing"

func TestAllowed(t *testing.T) {
	anything := [5]Adoption{AdoptDefault, AdoptNever, AdoptUnowned, AdoptMatching, AdoptForce}
	unforced := [5]Adoption{AdoptDefault, AdoptNever, AdoptUnowned, AdoptMatching, AdoptNever}
	nothing := [5]Adoption{AdoptDefault, AdoptNever, AdoptNever, AdoptNever, AdoptNever}
	cases := []struct {
		reason  string
		by      Adoptions
		owner   Owner
		near    bool
		allowed [5]Adoption // of no policy, never, if-unowned, if-matching, force
	}{
		{"by default, force takes over what belongs to an object of the same namespace", Adoptions{}, OwnerOther,
			true, anything},
		{"and not what belongs to another, or nobody knows to whom", Adoptions{}, OwnerOther, false, unforced},
		{"what is nobody's is in no namespace", Adoptions{}, OwnerNone, false, anything},
		{"nor is what cannot tell", Adoptions{}, OwnerUnknown, false, anything},
		{"what is listed is allowed, and nothing else", Adoptions{Listed: listed(AdoptMatching)}, OwnerNone, true,
			[5]Adoption{AdoptDefault, AdoptNever, AdoptNever, AdoptMatching, AdoptNever}},
		{"to take over less is always allowed", Adoptions{Listed: listed()}, OwnerUnknown, true, nothing},
		{"force that is listed takes over whatever there is", Adoptions{Listed: listed(AdoptForce)}, OwnerOther,
			false, [5]Adoption{AdoptDefault, AdoptNever, AdoptNever, AdoptNever, AdoptForce}},
		{"what an object gets that does not say, it may say", Adoptions{Default: AdoptUnowned, Listed: listed()},
			OwnerNone, false, [5]Adoption{AdoptDefault, AdoptNever, AdoptUnowned, AdoptNever, AdoptNever}},
		{"by default means within the same namespace, also for all", Adoptions{Default: AdoptForce}, OwnerOther,
			false, unforced},
		{"and beside a list", Adoptions{Default: AdoptForce, Listed: listed(AdoptUnowned)}, OwnerOther, false,
			[5]Adoption{AdoptDefault, AdoptNever, AdoptUnowned, AdoptNever, AdoptNever}},
		{"there it holds", Adoptions{Default: AdoptForce, Listed: listed()}, OwnerOther, true,
			[5]Adoption{AdoptDefault, AdoptNever, AdoptNever, AdoptNever, AdoptForce}},
	}
	for _, tc := range cases {
		for asked, want := range tc.allowed {
			if got := tc.by.Allowed(Adoption(asked), tc.owner, tc.near); got != want {
				t.Errorf("%s: %+v.Allowed(%d, %d, %t) = %d, want %d", tc.reason, tc.by, asked, tc.owner, tc.near,
					got, want)
			}
		}
	}
}

func listed(policies ...Adoption) map[Adoption]bool {
	out := map[Adoption]bool{}
	for _, p := range policies {
		out[p] = true
	}

	return out
}

// TestALimitAdoptsNothing verifies that a list of allowed policies never widens the policy of the object, and that a
// resource of an object in another namespace is never adopted unless force is listed.
func TestALimitAdoptsNothing(t *testing.T) {
	for bits := range 1 << 9 {
		by := Adoptions{Default: Adoption(bits & 3)}
		if bits&4 != 0 {
			by.Default = AdoptForce
		}
		if bits&8 != 0 {
			by.Listed = map[Adoption]bool{
				AdoptUnowned: bits&16 != 0, AdoptMatching: bits&32 != 0, AdoptForce: bits&64 != 0,
			}
		}
		near, matches := bits&128 != 0, bits&256 != 0
		for owner := range OwnerOther + 2 {
			for asked := range AdoptForce + 1 {
				allowed := by.Allowed(asked, owner, near)
				if NotOwned(owner, false, asked, matches) && !NotOwned(owner, false, allowed, matches) {
					t.Errorf("%+v.Allowed(%d, %d, %t) = %d takes over more", by, asked, owner, near, allowed)
				}
				if owner == OwnerOther && !near && !by.Listed[AdoptForce] && !NotOwned(owner, false, allowed, matches) {
					t.Errorf("%+v.Allowed(%d, %d, %t) = %d takes over what belongs to another namespace", by, asked,
						owner, near, allowed)
				}
			}
		}
	}
}
