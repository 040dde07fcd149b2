package event

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestRef(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    string
		want   string
	}{
		"Name": {reason: "A key that is a valid name is used as it is.", key: "a-1.b", want: "a-1.b"},
		"Slash": {
			reason: "An invalid character becomes a dash, and the hash distinguishes a/b from a-b.",
			key:    "a/b", want: "a-b-1356c1af",
		},
		"Upper":   {reason: "Names are lower case.", key: "A", want: "a-198436d6"},
		"Nothing": {reason: "Without a valid character only the hash is left.", key: "/", want: "2f2ac023"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Ref("k", "default", tc.key, "u").Name); diff != "" {
				t.Errorf("%s\nRef(...).Name: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRefIsStable: the same object has the same reference, different ones differ.
func TestRefIsStable(t *testing.T) {
	a := Ref("k", "default", "a", "")
	if diff := cmp.Diff(a, Ref("k", "default", "a", "")); diff != "" {
		t.Errorf("the second reference differs: -first, +second:\n%s", diff)
	}
	for _, other := range []*corev1.ObjectReference{Ref("l", "default", "a", ""), Ref("k", "default", "b", "")} {
		if other.UID == a.UID {
			t.Errorf("%s %s has the UID of another", other.Kind, other.Name)
		}
	}
	if got := Ref("k", "default", "a", "mine").UID; got != "mine" {
		t.Errorf("the UID is %q, want the one given", got)
	}
}

// TestRefNames: the name is valid for every key.
func TestRefNames(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{"a", "a/b", "a-b", "a.=b", "=", "a.b", "A.b", "a_", "-a", strings.Repeat("a", 300),
		strings.Repeat("a", 301), strings.Repeat("/", 300)} {
		name := Ref("k", "default", key, "").Name
		if errs := validation.IsDNS1123Subdomain(name + ".0123456789abcdef"); len(errs) > 0 {
			t.Errorf("%q became %q, which no event can have: %v", key, name, errs)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %q", key, other, name)
		}
		seen[name] = key
	}
}
