package v1_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// FuzzManagementPolicies: of any list of actions, an unknown action gives a short error, and two lists are equal if
// they allow the same.
func FuzzManagementPolicies(f *testing.F) {
	f.Add("", false)
	f.Add("", true)
	f.Add("*", true)
	f.Add("Observe,Create,Update,Delete,LateInitialize", true)
	f.Add("Create,Update", true)
	f.Add("observe,\xff,"+strings.Repeat("Ö", 100), true)
	f.Add(strings.Repeat("Create,", 300), true)
	f.Fuzz(func(t *testing.T, list string, set bool) {
		var p commonv1.ManagementPolicies
		if set {
			p = commonv1.ManagementPolicies{}
			for name := range strings.SplitSeq(list, ",") {
				if name != "" {
					p = append(p, commonv1.ManagementAction(name))
				}
			}
		}
		actions := []commonv1.ManagementAction{"Observe", "Create", "Update", "Delete", "LateInitialize"}
		err := p.Validate()
		if err != nil && (len(err.Error()) > 1024 || !utf8.ValidString(err.Error())) {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		for _, a := range actions {
			if want := p == nil || slices.Contains(p, "*") || slices.Contains(p, a); p.Allow(a) != want {
				t.Errorf("%v allows %s: %t", p, a, !want)
			}
			if err == nil && p.Allow(a) && !p.Allow("Observe") {
				t.Errorf("%v allows %s, but not to look", p, a)
			}
		}
		for _, a := range p {
			if err == nil && a != "*" && !slices.Contains(actions, a) {
				t.Errorf("%q is understood", a)
			}
		}
		if p.Paused() && slices.ContainsFunc(actions, p.Allow) {
			t.Errorf("%v is paused and allows something", p)
		}
		reversed := slices.Clone(p)
		slices.Reverse(reversed)
		if twice := append(reversed, p...); !p.Equal(p) || len(p) > 0 && (!p.Equal(twice) || !twice.Equal(p)) {
			t.Errorf("%v is not the same as itself in another order, and twice", p)
		}
	})
}
