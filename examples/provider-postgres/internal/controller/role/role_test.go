package role_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/meta"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller/role"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
)

// A bench makes passes over objects without a reconciler, in its order: it publishes before it calls Update.
type bench struct {
	server *pgserver.Server
	link   pgtest.Linker
}

// pass makes one pass, and returns the errors of publishing and of the change. The object takes the role over from
// any other.
func (b bench) pass(t *testing.T, mg *v1alpha1.Role) (publishing, changing error) {
	t.Helper()
	c, err := role.NewConnector(b.link, "cluster").Connect(t.Context(), mg)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := c.Observe(t.Context(), mg)
	if err != nil {
		t.Fatal(err)
	}
	if !seen.ResourceExists {
		return nil, c.Create(t.Context(), mg)
	}
	if len(seen.ConnectionDetails) > 0 {
		_, publishing = b.link.Secrets.PublishConnection(t.Context(), mg, seen.ConnectionDetails)
	}
	if !seen.ResourceUpToDate {
		changing = c.Update(t.Context(), mg)
	}

	return publishing, changing
}

// settle makes four passes, of which none may fail.
func (b bench) settle(t *testing.T, mg *v1alpha1.Role) {
	t.Helper()
	for range 4 {
		if publishing, changing := b.pass(t, mg); publishing != nil || changing != nil {
			t.Fatalf("%s: %v, %v", mg.GetName(), publishing, changing)
		}
	}
}

// in reports whether a role can log in with a password.
func (b bench) in(t *testing.T, user, password string) bool {
	t.Helper()
	conn, err := b.server.Connect(t.Context(), user, password, "postgres")
	if err == nil {
		_ = conn.Close(t.Context())
	}

	return err == nil
}

// password returns what the Secret of an object has.
func (b bench) password(t *testing.T, mg *v1alpha1.Role) string {
	t.Helper()
	secret, err := b.link.Secrets.Secret(t.Context(), mg, mg.Spec.WriteConnectionSecretToRef.Name)
	if err != nil || secret == nil {
		t.Fatalf("%v, %v", secret, err)
	}

	return string(secret.Data["password"])
}

// named returns an object with a name, a UID and a Secret.
func named(name, uid, secret string) *v1alpha1.Role {
	out := object(name)
	meta.SetExternalName(out, name)
	out.UID = types.UID(uid)
	out.Spec.WriteConnectionSecretToRef.Name = secret

	return out
}

// altered returns how many statements about a role the server has seen.
func (b bench) altered(t *testing.T, name string) int {
	t.Helper()
	text, err := b.server.Log()
	if err != nil {
		t.Fatal(err)
	}

	return strings.Count(text, `ALTER ROLE "`+name+`"`)
}

func TestSecretOfAnotherObject(t *testing.T) {
	server, ok := pgtest.Start(t)
	if !ok {
		return
	}
	b := bench{server, pgtest.NewLinker(t, pgtest.Config(server, nil))}
	t.Run("SameSecret", b.sameSecret)
	t.Run("Restored", b.restored)
}

// sameSecret has two objects name the same Secret. It belongs to the first.
func (b bench) sameSecret(t *testing.T) {
	first, second := named("first", "uid-1", "shared"), named("second", "uid-2", "shared")
	b.settle(t, first)
	for _, rotation := range []string{"", "1"} {
		first.Spec.ForProvider.PasswordRotation = rotation
		b.settle(t, first)
		password := b.password(t, first)
		for range 4 {
			publishing, changing := b.pass(t, second)
			if changing != nil && (publishing == nil || !strings.Contains(changing.Error(), "does not belong")) {
				t.Errorf("got %v, %v", publishing, changing)
			}
			if changing != nil && strings.Contains(changing.Error(), password) {
				t.Errorf("%v has the password", changing)
			}
		}
		if !b.in(t, "first", password) || b.in(t, "second", password) {
			t.Errorf("rotation %q: the first logs in: %v, the second does with the password of the first: %v", rotation,
				b.in(t, "first", password), b.in(t, "second", password))
		}
	}
	if n := b.altered(t, "second"); n > 0 {
		t.Errorf("%d statements changed the second role", n)
	}
	second.Spec.WriteConnectionSecretToRef.Name = "its-own"
	b.settle(t, second)
	if !b.in(t, "second", b.password(t, second)) {
		t.Error("the second does not log in with its own password")
	}
}

// restored has an object with another UID take over the role, and after that the Secret with the password.
func (b bench) restored(t *testing.T) {
	b.settle(t, named("kept", "uid-1", "kept"))
	again := named("kept", "uid-2", "kept")
	password := b.password(t, again)
	for range 4 {
		if publishing, changing := b.pass(t, again); publishing != nil || changing != nil {
			t.Errorf("%v, %v", publishing, changing)
		}
		if !b.in(t, "kept", password) {
			t.Fatal("the password of the original does not work any more")
		}
	}
	if got := b.password(t, again); got != password || again.Status.AtProvider.PasswordID == "" {
		t.Error("the Secret of the restored object has another password")
	}
}
