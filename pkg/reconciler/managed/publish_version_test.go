package managed_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestASecretThatHasAnotherOwnerSinceIsNotChanged verifies that the patch of a Secret has its resource version as a
// precondition.
func TestASecretThatHasAnotherOwnerSinceIsNotChanged(t *testing.T) {
	g := newGallery(t)
	g.create(secretNamed("login"))
	g.pass()
	d := g.cloud.Disks()[0]
	d.Password = "rotated"
	g.cloud.Put(d)
	changed := false
	g.answer = func(_ context.Context, note string) error {
		if !strings.HasPrefix(note, "patch secret") || changed {
			return nil
		}
		changed = true
		s := g.secret("login")
		g.Change(s, func() {
			s.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "another", UID: "uid-2",
				Controller: new(true),
			}}
			s.Data["password"] = []byte("the other's")
		})

		return nil
	}
	for range 3 {
		_, _ = g.try()
	}
	if got := string(g.secret("login").Data["password"]); !changed || got != "the other's" {
		t.Errorf("the password is %q in a Secret of another owner", got)
	}
}
