package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

var errLost = external.MaybeCreated(errors.New("the answer was lost"))

// lost drops the answer of the first Create.
func lost() func(context.Context, string, resource.Managed) error {
	done := false

	return func(_ context.Context, name string, mg resource.Managed) error {
		if name != "Create" || done {
			return nil
		}
		done = true
		meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)

		return errLost
	}
}

// TestATokenFindsWhatWasCreated verifies that a lost answer is resolved by repeating the create with the same
// token, also after a restart.
func TestATokenFindsWhatWasCreated(t *testing.T) {
	w := newWorld(t, managed.WithCreationTokens())
	w.cloud.Tokens = true
	w.cloud.After = lost()
	w.create(nil)
	if _, err := w.try(); !strings.Contains(err.Error(), "lost") {
		t.Fatal(err)
	}
	w.restart()
	w.taken()
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
	w.condition(commonv1.TypeReady, "True/Available")
}

// TestAFoundCreationIsRecordedOnce verifies that a recorded result is not stored again.
func TestAFoundCreationIsRecordedOnce(t *testing.T) {
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.cloud.Window = 30 * time.Second
	w.cloud.Before = func(_ context.Context, name string, _ resource.Managed) error {
		w.clock.SetTime(w.clock.Now().Add(time.Second))

		return nil
	}
	w.create(nil)
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Create Recover Observe", "Normal/CreatedExternalResource")
}

// TestATokenFindsWhatToDelete verifies that a create is repeated for a deleted object, to learn what to delete.
func TestATokenFindsWhatToDelete(t *testing.T) {
	w := newWorld(t, managed.WithCreationTokens(), managed.WithCreationGracePeriod(0))
	w.cloud.Tokens = true
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.delete()
	w.taken()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	for range 4 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
	}
	if _, calls, _ := w.taken(); !w.gone() || len(w.cloud.Disks()) != 0 || strings.Count(calls, "Create") != 1 {
		t.Errorf("gone %t, disks %v, calls %s", w.gone(), w.cloud.Disks(), calls)
	}
}

// TestATokenDoesNotOverruleThePolicy verifies that a policy without create forbids the repetition.
func TestATokenDoesNotOverruleThePolicy(t *testing.T) {
	w := newWorld(t, managed.WithCreationTokens())
	w.cloud.Tokens = true
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyManagementPolicy: "observe-delete"})
	})
	w.delete()
	w.cloud.Forget()
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.condition(commonv1.TypeSynced, "False/CreationUnresolved")
	if n := w.cloud.Count("Create"); n != 0 {
		t.Errorf("%d creates", n)
	}
}

// TestALookupFindsWhatWasCreated verifies that a lookup precedes all other decisions, so that nothing is created
// twice.
func TestALookupFindsWhatWasCreated(t *testing.T) {
	w := newWorld(t)
	w.cloud.Window = 30 * time.Second
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.restart()
	w.taken()
	w.pass()
	w.expect("patch, patch status", "Connect Recover Observe", "")
	if n := len(w.cloud.Disks()); n != 1 || meta.GetExternalName(w.get()) != "vol-1" {
		t.Errorf("%d disks, external name %q", n, meta.GetExternalName(w.get()))
	}
	w.condition(commonv1.TypeReady, "True/Available")
	w.pass()
	w.expect("", "Connect Observe", "")
}

// TestALookupThatFindsNothing verifies that a resource is created again only after the recovery window, counted
// from when this process knew of the attempt.
func TestALookupThatFindsNothing(t *testing.T) {
	w := newWorld(t)
	w.cloud.Window = 30 * time.Second
	w.cloud.Before = failing("Create", errors.New("no answer"))
	w.create(nil)
	_, _ = w.try()
	w.cloud.Before = nil
	w.clock.SetTime(w.clock.Now().Add(time.Hour)) // before the process knew
	w.restart()
	w.taken()
	result := w.pass()
	w.expect("patch status", "Connect Recover Observe", "Normal/PendingExternalResource")
	w.condition(commonv1.TypeSynced, "Unknown/CreationPending")
	if result.RequeueAfter <= 0 || result.RequeueAfter > 30*time.Second {
		t.Errorf("next look after %s", result.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(31 * time.Second))
	w.pass()
	w.expect("patch, patch, patch status", "Connect Recover Observe Create Observe", "Normal/CreatedExternalResource")
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks", n)
	}
}

// TestALookupFindsWhatToDelete verifies that a deleted object is removed when its window is over without a result,
// and a found resource is deleted.
func TestALookupFindsWhatToDelete(t *testing.T) {
	for name, made := range map[string]bool{"made": true, "not made": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithCreationGracePeriod(0))
			w.cloud.Window = 30 * time.Second
			if made {
				w.cloud.After = lost()
			} else {
				w.cloud.Before = failing("Create", errLost)
			}
			w.create(nil)
			_, _ = w.try()
			w.cloud.Before = nil
			w.delete()
			for range 5 {
				w.pass()
				w.clock.SetTime(w.clock.Now().Add(20 * time.Second))
				if w.gone() {
					break
				}
			}
			if !w.gone() || len(w.cloud.Disks()) != 0 {
				t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
			}
		})
	}
}

// TestALookupThatFails verifies that a failed lookup is reported, and decides nothing.
func TestALookupThatFails(t *testing.T) {
	w := newWorld(t)
	w.cloud.Window = time.Second
	w.cloud.After = lost()
	w.create(nil)
	_, _ = w.try()
	w.cloud.Before = failing("Recover", errors.New("search is down"))
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "search is down") {
		t.Errorf("error %v", err)
	}
	if n := w.cloud.Count("Create"); n != 1 {
		t.Errorf("%d creates", n)
	}
}

// TestAnErrorThatMayHaveHadAnEffect verifies that an error with a possible effect blocks the object, and is
// reported; other errors are retried, unless WithStrictCreateErrors is given.
func TestAnErrorThatMayHaveHadAnEffect(t *testing.T) {
	for name, tc := range map[string]struct {
		err error
		o   []managed.ReconcilerOption
	}{
		"lost":              {errLost, nil},
		"says neither":      {errBoom, []managed.ReconcilerOption{managed.WithStrictCreateErrors()}},
		"an option without": {errLost, []managed.ReconcilerOption{managed.WithCreateErrorsAsFailures()}},
		"the strict one wins": {
			errBoom, []managed.ReconcilerOption{managed.WithStrictCreateErrors(), managed.WithCreateErrorsAsFailures()},
		},
	} {
		w := newWorld(t, tc.o...)
		w.cloud.Before = failing("Create", tc.err)
		w.create(nil)
		_, _ = w.try()
		w.cloud.Before = nil
		w.pass()
		c := w.condition(commonv1.TypeSynced, "False/ReconcileError")
		if !strings.Contains(c.Message, tc.err.Error()) ||
			!strings.Contains(c.Message, "cannot determine creation result") {
			t.Errorf("%s: message %q", name, c.Message)
		}
		if n := w.cloud.Count("Create"); n != 1 {
			t.Errorf("%s: %d creates", name, n)
		}
		w.change(func(v *volume.Volume) { meta.RemoveAnnotations(v, meta.AnnotationKeyExternalCreatePending) })
		w.pass()
		w.condition(commonv1.TypeReady, "True/Available")
	}

	for name, tc := range map[string]struct {
		err error
		o   managed.ReconcilerOption
	}{
		"not created":         {external.NotCreated(errLost), managed.WithStrictCreateErrors()},
		"says neither":        {errBoom, managed.WithCreationGracePeriod(0)},
		"with a chosen name":  {errLost, managed.WithDeterministicExternalName(true)},
		"repeated by a token": {errLost, managed.WithCreationTokens()},
	} {
		w := newWorld(t, tc.o)
		w.cloud.Tokens, w.cloud.Named = true, name == "with a chosen name"
		w.cloud.Before = failing("Create", tc.err)
		w.create(nil)
		_, _ = w.try()
		w.cloud.Before = nil
		w.pass()
		if n := w.cloud.Count("Create"); n != 2 {
			t.Errorf("%s: %d creates", name, n)
		}
	}
}

// TestTokensAreStable verifies that the token is stored before Create, and each attempt has its own.
func TestTokensAreStable(t *testing.T) {
	var tokens []string
	w := newWorld(t, managed.WithCreationTokens(), managed.WithRandom(sequence()))
	w.cloud.Before = func(ctx context.Context, call string, mg resource.Managed) error {
		if call != "Create" {
			if managed.CreationToken(ctx) != "" {
				t.Errorf("%s has a token", call)
			}

			return nil
		}
		token := managed.CreationToken(ctx)
		if len(token) > 64 {
			t.Errorf("a token of %d characters", len(token))
		}
		id := w.get().Annotations[meta.AnnotationKeyCreateAttempt]
		if id == "" || token != "uid-1-"+id {
			t.Errorf("token %q, stored %q", token, id)
		}
		tokens = append(tokens, token)
		switch len(tokens) {
		case 1:
			return errLost
		case 2:
			return external.NotCreated(errLost)
		default:
			return nil
		}
	}
	w.create(nil)
	for range 3 {
		_, _ = w.try()
	}
	// That the second call created nothing says nothing of the first.
	if len(tokens) != 3 || tokens[0] != tokens[1] || tokens[1] != tokens[2] {
		t.Errorf("tokens %v", tokens)
	}
	w.cloud.Remove("vol-1")
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter)) // the first answer may be wrong
	w.pass()
	if len(tokens) != 4 || tokens[3] == tokens[0] {
		t.Errorf("tokens %v: a new creation has a new token", tokens)
	}
}

// sequence is a source of randomness that never answers the same.
func sequence() func() float64 {
	last := 0.0

	return func() float64 {
		last += 0.01

		return last
	}
}
