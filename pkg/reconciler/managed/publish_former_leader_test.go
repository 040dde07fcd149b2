package managed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAFormerLeaderDoesNotReplaceDetails verifies that a process that lost the leadership while it created the Secret
// does not replace the details that the next leader has published since.
func TestAFormerLeaderDoesNotReplaceDetails(t *testing.T) {
	var fence error
	g := newGallery(t, managed.WithFence(func(context.Context) error { return fence }))
	g.create(secretNamed("login"))
	g.answer = func(_ context.Context, note string) error {
		if strings.HasPrefix(note, "create secret") && fence == nil {
			fence = errors.New("another process is the leader")
			s := g.ownSecret(nil)
			s.Data = map[string][]byte{"password": []byte("the next leader's")}
			g.Create(s)
		}

		return nil
	}
	_, _ = g.try()
	if got := string(g.secret("login").Data["password"]); fence == nil || got != "the next leader's" {
		t.Errorf("the password is %q", got)
	}
}

// TestAFormerLeaderStoresWhatItsCreateReturned verifies that details that only Create returns are stored in a Secret
// that exists already, although the process has lost the leadership during Create: no other process knows them.
func TestAFormerLeaderStoresWhatItsCreateReturned(t *testing.T) {
	var fence error
	g := keyGallery(t, managed.WithFence(func(context.Context) error { return fence }))
	g.create(secretNamed("login"))
	g.Create(g.ownSecret(nil))
	g.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			fence = errors.New("another process is the leader")
		}

		return nil
	}
	_, _ = g.try()
	if fence == nil || g.key() != accessKey {
		t.Errorf("the key is %q", g.key())
	}
}
