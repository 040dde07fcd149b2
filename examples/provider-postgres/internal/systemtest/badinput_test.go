package systemtest

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgserver"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/provider"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

// A mistake is one that a user makes, in a configuration or in the name of an object.
type mistake struct {
	name   string
	config func(*v1alpha1.ProviderConfig) // nil leaves the good one
	user   string                         // with the password "user-one"; empty means that of the provider
	object resource.Managed
	reason commonv1.ConditionReason // of the condition Synced of the object
	text   string                   // in its message
}

func mistakes(w testenv.World, older uint16) []mistake {
	plain := func(name string) resource.Managed { return database(w, name) }
	called := func(name, external string) resource.Managed {
		mg := database(w, name)
		meta.SetExternalName(mg, external)

		return mg
	}

	return []mistake{
		{"port", func(c *v1alpha1.ProviderConfig) { c.Spec.Port = 1 }, "", plain("bad-port"),
			commonv1.ReasonExternalSystemUnavailable, "spec.port"},
		{"host", func(c *v1alpha1.ProviderConfig) { c.Spec.Host = "db.invalid" }, "", plain("bad-host"),
			commonv1.ReasonExternalSystemUnavailable, "spec.host"},
		{"database", func(c *v1alpha1.ProviderConfig) { c.Spec.Database = "none" }, "", plain("bad-database"),
			commonv1.ReasonExternalSystemUnavailable, `"none" does not exist`},
		{"authority", func(c *v1alpha1.ProviderConfig) { c.Spec.TLS.CABundle = "" }, "", plain("bad-authority"),
			commonv1.ReasonExternalSystemUnavailable, "spec.tls.caBundle"},
		{"other-host", func(c *v1alpha1.ProviderConfig) { c.Spec.Host = "127.0.0.1" }, "", plain("bad-certificate"),
			commonv1.ReasonExternalSystemUnavailable, "for another host"},
		{"older", func(c *v1alpha1.ProviderConfig) {
			c.Spec.Port, c.Spec.TLS = int32(older), v1alpha1.TLS{Mode: v1alpha1.TLSDisable}
		}, "", plain("bad-version"), commonv1.ReasonExternalSystemUnavailable, "upgrade the server"},
		{"password", func(*v1alpha1.ProviderConfig) {}, "nobody", plain("bad-password"),
			commonv1.ReasonUnauthorized, "does not accept"},
		{"weak", func(*v1alpha1.ProviderConfig) {}, "weak", plain("bad-rights"), "PrivilegeMissing", "CREATEDB"},
		{"", nil, "", called("long", strings.Repeat("x", 64)), "InvalidName", "longer than 63 bytes"},
		{"", nil, "", called("long-unicode", strings.Repeat("ü", 32)), "InvalidName", "longer than 63 bytes"},
		{"", nil, "", called("control", "a\nb"), "InvalidName", "control character"},
		{"", nil, "", called("reserved", "pg_mine"), "InvalidName", "reserved"},
		{"", nil, "", called("prefix", "moorage-mine"), "InvalidName", "which the provider uses"},
	}
}

// TestBadInput has a row for each mistake: the object says by its condition what is wrong, and the server gets no
// statement that creates or changes anything.
func TestBadInput(t *testing.T) {
	w, ok := testenv.New(t)
	if !ok {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := w.Run(ctx, func(o *provider.Options) { o.Connect.AllowHosts = nil }, w.Ledger.Wrap)
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	if err := w.Server.Exec(t.Context(), "CREATE ROLE weak LOGIN PASSWORD 'user-one'"); err != nil {
		t.Fatal(err)
	}
	all := mistakes(w, pgtest.Rewrite(t, w.Server, func(sent []byte) []byte {
		const field = "server_version\x00"
		if i := bytes.Index(sent, []byte(field)); i >= 0 {
			copy(sent[i+len(field):], "9.6.2 (")
		}

		return sent
	}))
	before := len(changing(t, w))
	for _, m := range all {
		m.make(t, w)
	}
	for _, m := range all {
		t.Run(m.object.GetName(), func(t *testing.T) { m.judge(t, w) })
	}
	for _, statement := range changing(t, w)[before:] {
		if !strings.HasPrefix(statement, "weak: ") { // that is refused
			t.Errorf("the server got %q", statement)
		}
	}
	for _, m := range all { // an object with an invalid configuration may not be able to ask whether something exists
		patch := ctrlclient.MergeFrom(m.object.DeepCopyObject().(ctrlclient.Object))
		meta.AddAnnotations(m.object, map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan})
		if err := w.Kube.Patch(t.Context(), m.object, patch); err != nil {
			t.Fatal(err)
		}
		remove(t, w, m.object)
	}
}

// make creates the object, and its configuration if that is wrong.
func (m mistake) make(t *testing.T, w testenv.World) {
	t.Helper()
	if m.config != nil {
		good, secret := &v1alpha1.ProviderConfig{}, testenv.SecretName
		if err := w.Kube.Get(t.Context(), ctrlclient.ObjectKey{Namespace: w.Namespace, Name: "default"}, good); err != nil {
			t.Fatal(err)
		}
		if m.user != "" {
			secret = m.name
			if err := w.Kube.Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: secret},
				StringData: map[string]string{"username": m.user, "password": "user-one"},
			}); err != nil {
				t.Fatal(err)
			}
		}
		wrong := &v1alpha1.ProviderConfig{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: m.name}, Spec: *good.Spec.DeepCopy(),
		}
		wrong.Spec.CredentialsSecretRef.Name = secret
		m.config(wrong)
		if err := w.Kube.Create(t.Context(), wrong); err != nil {
			t.Fatal(err)
		}
		m.object.(*v1alpha1.Database).Spec.ProviderConfigRef.Name = m.name
	}
	create(t, w, m.object)
}

// judge waits for the condition of the object.
func (m mistake) judge(t *testing.T, w testenv.World) {
	t.Helper()
	says(t, w, m.object, m.reason)
	synced := m.object.GetCondition(commonv1.TypeSynced)
	if synced.Status != metav1.ConditionFalse || !strings.Contains(synced.Message, m.text) {
		t.Errorf("Synced is %s: %q, want it False with %q", synced.Status, synced.Message, m.text)
	}
	for _, secret := range []string{pgserver.Password, "user-one"} {
		if strings.Contains(synced.Message, secret) {
			t.Errorf("%q has a password", synced.Message)
		}
	}
}

// changing returns what the server has got of the provider that creates or changes something, as "USER: STATEMENT".
func changing(t *testing.T, w testenv.World) []string {
	t.Helper()
	text, err := w.Server.Log()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(text) {
		user, statement, ok := strings.Cut(line, ": LOG:  statement: ")
		reads := strings.HasPrefix(statement, "show ") || strings.HasPrefix(statement, "-- ping") // by the driver
		if ok && user != pgserver.Superuser && !reads {
			out = append(out, user+": "+strings.TrimSpace(statement))
		}
	}

	return out
}

// TestUnusualNames has names that need quotes: each works, and as it is written.
func TestUnusualNames(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	for name, external := range map[string]string{
		"quotes": `a"b'c\d`, "unicode": "größe", "longest": strings.Repeat("ü", 31) + "x",
		"statement": "; DROP ROLE provider; --",
	} {
		t.Run(name, func(t *testing.T) {
			role := &v1alpha1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
			mg := database(w, name)
			mg.Spec.ForProvider.Owner = &external
			schema := &v1alpha1.Schema{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
			schema.Spec.ForProvider.Database = &external
			all := []resource.Managed{schema, mg, role}
			for _, mg := range all {
				meta.SetExternalName(mg, external)
				create(t, w, mg)
			}
			for _, mg := range all {
				w.Ready(t, mg)
			}
			for _, mg := range all {
				remove(t, w, mg)
			}
		})
	}
}

// TestDatabaseInUse deletes a database that has a session: it says so until the session has ended.
func TestDatabaseInUse(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	mg := database(w, "busy")
	create(t, w, mg)
	w.Ready(t, mg)
	session, err := w.Server.Connect(t.Context(), pgserver.Superuser, pgserver.Password, "busy")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Kube.Delete(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	w.Until(t, "the object says that the database is in use", func() bool {
		return w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg) == nil &&
			strings.Contains(mg.GetCondition(commonv1.TypeSynced).Message, "is in use: end its sessions")
	})
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Gone(t, mg)
}
