package managed

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestKeysAreDerivedOnce verifies that published details are hashed slowly, once, and that old keys are dropped.
func TestKeysAreDerivedOnce(t *testing.T) {
	of := hashInput{digest: sha256.Sum256([]byte("details")), uid: ownerUID}
	key, err := pbkdf2.Key(sha256.New, string(of.digest[:]), []byte("uid-1"), 4096, 16)
	if err != nil {
		t.Fatal(err)
	}
	var d hashCache
	for range 2 {
		if got := d.derive(of); got != hex.EncodeToString(key) {
			t.Errorf("derived %s, want %x", got, key)
		}
	}
	d.keys[of] = "known"
	if got := d.derive(of); got != "known" {
		t.Errorf("it was derived again: %s", got)
	}
	for i := range 62 {
		d.keys[hashInput{uid: types.UID(fmt.Sprint(i))}] = "other"
	}
	last, next := hashInput{uid: "the 64th"}, hashInput{uid: "one too many"}
	if d.derive(last); len(d.keys) != 64 || d.keys[of] != "known" {
		t.Errorf("%d keys are kept, want all 64", len(d.keys))
	}
	if key := d.derive(next); len(d.keys) != 1 || d.keys[next] != key || len(key) != 32 {
		t.Errorf("%d keys are kept after 64, and the last is %q", len(d.keys), key)
	}
}

// TestWhatCannotBeDerivedIsNotStored verifies that no hash is stored if the key cannot be derived.
func TestWhatCannotBeDerivedIsNotStored(t *testing.T) {
	for key, want := range map[string]string{"0badcafe": "apps/login/0badcafe", "": ""} {
		if got := storedAs("apps/login", key); got != want {
			t.Errorf("with the key %q: stored as %q, want %q", key, got, want)
		}
	}
}
