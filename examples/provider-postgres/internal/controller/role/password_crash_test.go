package role_test

import (
	"fmt"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller/role"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
)

// Where the process ends in a pass. The status is stored at the end of a pass.
const (
	observed  = "observed"
	published = "published"
	changed   = "changed"
	stored    = "stored"
)

// TestRotationCrashes ends the process at each boundary of a rotation, and starts another one. At each moment the
// Secret has a password that works, and the rotation ends.
func TestRotationCrashes(t *testing.T) {
	server, ok := pgtest.Start(t)
	if !ok {
		return
	}
	for pass := range 3 {
		for _, end := range []string{observed, published, changed} {
			t.Run(fmt.Sprintf("Pass%d/%s", pass+1, end), func(t *testing.T) {
				b := bench{server, pgtest.NewLinker(t, pgtest.Config(server, nil))}
				b.crash(t, pass, end)
			})
		}
	}
}

// crash rotates a password with whole passes, one that ends early, and those of another process.
func (b bench) crash(t *testing.T, whole int, end string) {
	name := fmt.Sprintf("crash-%d-%s", whole, end)
	mg := named(name, "uid-of-"+name, name)
	b.settle(t, mg)
	before := b.password(t, mg)
	mg.SetConditions(commonv1.ReconcileSuccess())
	mg.Spec.ForProvider.PasswordRotation = "2026"
	for range whole {
		b.step(t, mg, stored)
	}
	b.step(t, mg, end)

	secrets := b.link.Secrets
	b.link = pgtest.NewLinker(t, pgtest.Config(b.server, nil))
	b.link.Secrets = secrets
	for range 4 {
		b.step(t, mg, stored)
	}
	after := b.password(t, mg)
	if after == before || !b.in(t, name, after) || b.in(t, name, before) {
		t.Errorf("the password is another one: %v; it works: %v; the old one does: %v", after != before,
			b.in(t, name, after), b.in(t, name, before))
	}
	reads := secrets.Reads()
	b.step(t, mg, stored)
	if n := secrets.Reads() - reads; n != 1 { // that of the test
		t.Errorf("the Secret is read in steady state: %d times", n-1)
	}
}

// step makes a pass in the order of the reconciler, until the process ends. What was not stored is lost then.
func (b bench) step(t *testing.T, mg *v1alpha1.Role, end string) {
	t.Helper()
	now := mg.DeepCopy()
	c, err := role.NewConnector(b.link, "cluster").Connect(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := c.Observe(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if end == observed {
		return
	}
	if len(seen.ConnectionDetails) > 0 {
		if _, err := b.link.Secrets.PublishConnection(t.Context(), now, seen.ConnectionDetails); err != nil {
			t.Fatal(err)
		}
	}
	b.works(t, now)
	if end == published {
		return
	}
	if !seen.ResourceUpToDate {
		if err := c.Update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		b.works(t, now)
	}
	if end == stored {
		now.DeepCopyInto(mg)
	}
}

// works fails unless an application that reads the Secret can log in.
func (b bench) works(t *testing.T, mg *v1alpha1.Role) {
	t.Helper()
	secret, err := b.link.Secrets.Secret(t.Context(), mg, mg.Spec.WriteConnectionSecretToRef.Name)
	if err != nil || secret == nil {
		t.Fatalf("%v, %v", secret, err)
	}
	if !b.in(t, mg.Name, string(secret.Data["password"])) && !b.in(t, mg.Name, string(secret.Data["password-next"])) {
		t.Error("no password in the Secret works")
	}
}
