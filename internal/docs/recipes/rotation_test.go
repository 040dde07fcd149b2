package recipes

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestRotation rotates a password, where each write of the Secret and of the external system may fail. An application
// that tries both passwords of the Secret can log in at any time.
func TestRotation(t *testing.T) {
	const passes = 8
	for failures := range 1 << (2 * passes) {
		secret := Rotation{Current: []byte("first")}
		external := "first"
		for pass := range passes {
			unpublished, unset := failures>>(2*pass)&1 == 1, failures>>(2*pass)&2 == 2
			requested := external == "first"
			details, set, err := secret.step(requested, func(password []byte) (bool, error) {
				return string(password) == external, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !unpublished { // an empty value replaces nothing
				secret.Current = details["password"]
				if next := details["nextPassword"]; len(next) > 0 {
					secret.Next = next
				}
			}
			if set != nil && !unset { // Update is called even if the Secret could not be written
				external = string(set)
			}
			if external != string(secret.Current) && external != string(secret.Next) {
				t.Fatalf("failures %b: no password works after pass %d", failures, pass)
			}
		}
		if failures == 0 && (external == "first" || string(secret.Current) != external || string(secret.Next) != external) {
			t.Errorf("the rotation does not end: %q, %q", external, secret)
		}
	}
}

// TestRotationWithoutAnAnswer changes nothing while it is not known which password works.
func TestRotationWithoutAnAnswer(t *testing.T) {
	r := Rotation{Current: []byte("first"), Next: []byte("second")}
	details, set, err := r.step(true, func([]byte) (bool, error) { return false, errDown })
	if details != nil || set != nil || !errors.Is(err, errDown) {
		t.Errorf("got %v, %q, %v", details, set, err)
	}
}
