package recipes

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// accountServer has users with passwords and comments.
type accountServer struct{ passwordServer }

func newAccountServer() accountServer {
	return accountServer{passwordServer{newMemory(), map[string]string{}}}
}

func (s accountServer) Create(ctx context.Context, name string, password []byte) error {
	return s.passwordServer.Create(ctx, Record{Name: name}, password)
}

func (s accountServer) Alter(ctx context.Context, name, team string, password []byte) error {
	return s.change(ctx, name, func(r *Record) {
		r.Team = team
		if password != nil {
			s.passwords[name] = string(password)
		}
	})
}

func (s accountServer) Comment(ctx context.Context, name, text string) error {
	return s.change(ctx, name, func(r *Record) { r.Stamp = text })
}

func (s accountServer) Rename(ctx context.Context, from, to string) error {
	return s.request(ctx, func() error {
		if err := s.move(from, to); err != nil {
			return err
		}
		s.passwords[to] = s.passwords[from]
		delete(s.passwords, from)

		return nil
	})
}

func (s accountServer) process(secrets client.Reader) *StampedPasswords {
	return &StampedPasswords{API: s, Passwords: &Passwords{Secrets: secrets, Stamp: userStamp}}
}

// TestStampedPasswordsConform runs the client with the kit.
func TestStampedPasswordsConform(t *testing.T) {
	s := newAccountServer()
	conformance.Run(t, users(t, s.passwordServer, func(secrets client.Reader) managed.ExternalConnecter {
		return managed.Untyped(s.process(secrets))
	}))
}

// TestStampedPasswordSurvivesEachWrite ends two processes, each after any number of requests and writes of the Secret.
// The third one completes the user, whose password the Secret has, or leaves nothing if the object is deleted.
func TestStampedPasswordSurvivesEachWrite(t *testing.T) {
	const requests = 12 // ten lead to a user that is up to date
	for first := range requests {
		for second := range requests {
			for _, deleted := range []bool{false, true} {
				s, u := newAccountServer(), user("ann")
				kube := apiserver.New(scheme(t), clock.RealClock{}).Client()
				_ = s.live(t, kube, u, first, false)
				_ = s.live(t, kube, u, second, false)
				if err := s.live(t, kube, u, -1, deleted); err != nil {
					t.Fatal(err)
				}
				secret := &corev1.Secret{}
				err := kube.Get(t.Context(), secretOf(u), secret)
				r, p := s.records["ann"], s.passwords["ann"]
				switch {
				case deleted && len(s.records) > 0:
					t.Errorf("after %d and %d requests, left behind: %v", first, second, s.records)
				case deleted:
				case err != nil || p == "" || p != string(secret.Data["password"]):
					t.Errorf("after %d and %d requests, the password fails: %v", first, second, err)
				case len(s.records) != 1 || r.Stamp != string(userStamp(u)):
					t.Errorf("after %d and %d requests: %v", first, second, s.records)
				}
			}
		}
	}
}

// live makes three passes in a process that ends after so many requests, or does not end. It returns the last error.
func (s accountServer) live(t *testing.T, kube client.Client, u *v1alpha1.User, requests int,
	deleted bool) (err error) {
	t.Helper()
	s.failAfter(requests)
	process := s.process(kube)
	for range 3 {
		err = s.pass(t, kube, process, u, deleted)
	}

	return err
}

// TestStampedPasswordNameTaken takes the name while the draft is there: the draft goes, and the other user keeps its
// password.
func TestStampedPasswordNameTaken(t *testing.T) {
	s, u := newAccountServer(), user("ann")
	kube := apiserver.New(scheme(t), clock.RealClock{}).Client()
	s.failAfter(5) // two reads, the read of Create, Create, Alter
	if err := s.pass(t, kube, s.process(kube), u, false); err == nil || s.records[draft(u)].Name == "" {
		t.Fatalf("there is no draft: %v, %v", err, s.records)
	}
	s.failAfter(-1)
	s.records["ann"], s.passwords["ann"] = Record{Name: "ann", Stamp: "another"}, "theirs"
	if err := s.pass(t, kube, s.process(kube), u, false); !errors.Is(err, ErrConflict) {
		t.Errorf("got %v", err)
	}
	if len(s.records) != 1 || s.passwords["ann"] != "theirs" {
		t.Errorf("got %v", s.records)
	}
}

// TestNoUserWithoutAPassword creates nothing for an object that names no Secret.
func TestNoUserWithoutAPassword(t *testing.T) {
	s, u := newAccountServer(), user("ann")
	u.Spec.WriteConnectionSecretToRef = nil
	kube := apiserver.New(scheme(t), clock.RealClock{}).Client()
	if err := s.pass(t, kube, s.process(kube), u, false); err == nil || len(s.records) > 0 {
		t.Errorf("got %v, %v", err, s.records)
	}
}

func secretOf(u *v1alpha1.User) client.ObjectKey {
	return client.ObjectKey{Namespace: u.GetNamespace(), Name: u.Spec.WriteConnectionSecretToRef.Name}
}

// pass does what a pass of the reconciler does: it observes, publishes the details, and makes one change. The write of
// the Secret is one of the requests after which a process may end.
func (s accountServer) pass(t *testing.T, kube client.Client, process *StampedPasswords, u *v1alpha1.User,
	deleted bool) error {
	t.Helper()
	if deleted {
		u = u.DeepCopy()
		meta.AddFinalizer(u, "test")
		u.SetDeletionTimestamp(&metav1.Time{Time: clock.RealClock{}.Now()})
	}
	c, err := process.Connect(t.Context(), u)
	if err != nil {
		return err
	}
	o, err := c.Observe(t.Context(), u)
	switch {
	case err != nil:
		return err
	case deleted && o.ResourceExists:
		return c.Delete(t.Context(), u)
	case deleted:
		return nil
	case !o.ResourceExists:
		return c.Create(t.Context(), u)
	}
	err = s.request(t.Context(), func() error { return publish(t.Context(), kube, u, o.ConnectionDetails) })
	if err != nil {
		return err
	}
	if o.ResourceUpToDate {
		return nil
	}

	return c.Update(t.Context(), u)
}

// publish writes the Secret, unless it has the details.
func publish(ctx context.Context, kube client.Client, u *v1alpha1.User, details managed.ConnectionDetails) error {
	secret := &corev1.Secret{}
	if err := kube.Get(ctx, secretOf(u), secret); err == nil {
		secret.Data = details

		return kube.Update(ctx, secret)
	}

	return kube.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.Namespace, Name: secretOf(u).Name,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "User", Name: u.Name, UID: u.UID, Controller: new(true),
			}},
		},
		Data: details,
	})
}
