package xp_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/xp"
)

var _ managed.ConnectionPreparer = &xp.SecretPublisher{}

// TestNoCreateWithoutASecret calls no Create whose details could not be written.
func TestNoCreateWithoutASecret(t *testing.T) {
	objects := map[string]func() resource.Managed{
		"Role": func() resource.Managed {
			return &role{
				ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "reader", UID: "1"},
				Spec: roleSpec{
					ManagedResourceSpec: xp.ManagedResourceSpec{
						WriteConnectionSecretToReference: &commonv1.LocalSecretReference{Name: "login"},
					},
				},
			}
		},
		"Grant": func() resource.Managed {
			return &grant{
				ObjectMeta: metav1.ObjectMeta{Name: "reader", UID: "1"},
				Spec: grantSpec{
					ResourceSpec: xp.ResourceSpec{
						WriteConnectionSecretToReference: &xp.SecretReference{Namespace: "db", Name: "login"},
					},
				},
			}
		},
	}
	for kind, object := range objects {
		for name, tc := range map[string]struct {
			secret *corev1.Secret
			says   string
		}{
			"of another": {&corev1.Secret{}, "name another"},
			"immutable": {&corev1.Secret{
				Immutable:  new(true),
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: ownedBy(kind, object())},
			}, "is immutable"},
			"its own": {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{OwnerReferences: ownedBy(kind, object())}}, ""},
			"none":    {nil, ""},
		} {
			mg, s := object(), scheme(corev1.AddToScheme)
			build := clientfake.NewClientBuilder().WithScheme(s).WithObjects(mg).WithStatusSubresource(mg)

			if tc.secret != nil {
				tc.secret.Namespace, tc.secret.Name = "db", "login"
				build = build.WithObjects(tc.secret)
			}

			kube, external := build.Build(), &server{names: map[string]bool{}}
			r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: s}, resource.ManagedKind(gv.WithKind(kind)),
				xp.WithExternalConnecter(external))
			_, _ = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)})

			if created := len(external.names) > 0; created != (tc.says == "") {
				t.Errorf("%s, %s: created is %t", kind, name, created)
			}

			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(mg), mg); err != nil {
				t.Fatal(err)
			}

			if c := mg.GetCondition(commonv1.TypeSynced); tc.says != "" && !strings.Contains(c.Message, tc.says) {
				t.Errorf("%s, %s: it says %v", kind, name, c)
			}
		}
	}
}

func ownedBy(kind string, mg resource.Managed) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: gv.String(), Kind: kind, Name: mg.GetName(), UID: mg.GetUID(),
		Controller: new(true),
	}}
}

// TestWhatASecretHolds writes what the Secret can hold, names the rest, and keeps a value in whose
// place there is none.
func TestWhatASecretHolds(t *testing.T) {
	s := scheme(corev1.AddToScheme)
	kube := clientfake.NewClientBuilder().WithScheme(s).Build()
	mg := &grant{ObjectMeta: metav1.ObjectMeta{Name: "reader", UID: "1"}}
	mg.Spec.WriteConnectionSecretToReference = &xp.SecretReference{Namespace: "db", Name: "login"}
	publisher := xp.NewSecretPublisher(kube, kube, resource.ManagedKind(gv.WithKind("Grant")))

	for i, details := range []managed.ConnectionDetails{
		{"tls/ca": []byte("hidden")},
		{"tls/ca": []byte("hidden"), "password": []byte("old")},
		{"tls/ca": []byte("hidden"), "password": []byte("new")},
		{"tls/ca": []byte("hidden"), "password": {}},
	} {
		published, err := publisher.PublishConnection(t.Context(), mg, details)
		if want := i == 1 || i == 2; published != want || err == nil || !strings.Contains(err.Error(), "tls/ca") ||
			strings.Contains(err.Error(), "hidden") {
			t.Errorf("%d: published is %t, %v", i, published, err)
		}
	}

	secret := &corev1.Secret{}
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "db", Name: "login"}, secret); err != nil ||
		string(secret.Data["password"]) != "new" || len(secret.Data) != 1 {
		t.Errorf("the Secret holds %s, %v", secret.Data, err)
	}
}

// telling is a server whose Create returns details.
type telling struct {
	server
	details managed.ConnectionDetails
	created func() // nil: nothing happens meanwhile
}

func (c *telling) Connect(context.Context, resource.Managed) (xp.ExternalClient, error) {
	return c, nil
}

func (c *telling) Create(ctx context.Context, mg resource.Managed) (xp.ExternalCreation, error) {
	_, err := c.server.Create(ctx, mg)
	if c.created != nil {
		c.created()
	}

	return xp.ExternalCreation{ConnectionDetails: c.details}, err
}

// TestDetailsWaitForASecret keeps the details of Create while the object names no Secret.
func TestDetailsWaitForASecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scheme(corev1.AddToScheme)
		mg := &grant{ObjectMeta: metav1.ObjectMeta{Name: "reader", UID: "1"}}
		mg.Spec.WriteConnectionSecretToReference = &xp.SecretReference{Namespace: "db", Name: "login"}
		kube := clientfake.NewClientBuilder().WithScheme(s).WithObjects(mg).WithStatusSubresource(mg).Build()
		external := &telling{
			server:  server{names: map[string]bool{}},
			details: managed.ConnectionDetails{"password": []byte("generated")},
		}
		external.created = func() {
			if err := kube.Create(t.Context(),
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "login"}}); err != nil {
				t.Error(err)
			}
		}
		r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: s}, resource.ManagedKind(gv.WithKind("Grant")),
			xp.WithExternalConnecter(external))

		for _, ref := range []*xp.SecretReference{mg.Spec.WriteConnectionSecretToReference, nil,
			{Namespace: "db", Name: "other"}} {
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(mg), mg); err != nil {
				t.Fatal(err)
			}

			mg.Spec.WriteConnectionSecretToReference = ref
			if err := kube.Update(t.Context(), mg); err != nil {
				t.Fatal(err)
			}

			_, _ = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)})
		}

		secret := &corev1.Secret{}
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "db", Name: "other"}, secret); err != nil ||
			string(secret.Data["password"]) != "generated" {
			t.Errorf("the password is %q, %v", secret.Data["password"], err)
		}
	})
}

// TestSecretsOfAnAPIServer calls no Create, or publishes the password that it returns, for every state of the Secret.
func TestSecretsOfAnAPIServer(t *testing.T) {
	config, err := devcluster.Shared(t).RESTConfig()
	if err != nil {
		t.Fatal(err)
	}

	crds := []*apiextensionsv1.CustomResourceDefinition{definition(gv, "Role", apiextensionsv1.NamespaceScoped)}
	if _, err := envtest.InstallCRDs(config,
		envtest.CRDInstallOptions{CRDs: crds, MaxTime: wait.Patience()}); err != nil {
		t.Fatal(err)
	}

	kube, err := client.New(config, client.Options{Scheme: scheme(corev1.AddToScheme)})
	if err != nil {
		t.Fatal(err)
	}

	password := managed.ConnectionDetails{"password": []byte("generated")}

	for name, tc := range map[string]struct {
		secret  *corev1.Secret
		details managed.ConnectionDetails
		created bool
	}{
		"immutable": {&corev1.Secret{
			Immutable: new(true), Data: map[string][]byte{"password": []byte("old")},
		}, password, false},
		"typed": {&corev1.Secret{
			Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": {}, "tls.key": {}},
		}, password, true},
		"invalid-key": {nil, managed.ConnectionDetails{"password": []byte("generated"), "tls/ca": []byte("x")}, true},
		"too-large": {nil, managed.ConnectionDetails{
			"password": []byte("generated"), "bundle": make([]byte, 2<<20),
		}, true},
		"full": {
			&corev1.Secret{Data: map[string][]byte{"other": make([]byte, corev1.MaxSecretSize-20)}},
			managed.ConnectionDetails{"password": []byte("generated"), "bundle": make([]byte, 100)}, true,
		},
	} {
		mg := &role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "secret-" + name}}
		mg.Spec.WriteConnectionSecretToReference = &commonv1.LocalSecretReference{Name: "login-" + name}

		if err := kube.Create(t.Context(), mg); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { // the API server is that of other tests, too
			_ = kube.Patch(context.Background(), mg,
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			_ = kube.Delete(context.Background(), mg)
			_ = kube.Delete(context.Background(),
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "login-" + name}})
		})

		if tc.secret != nil {
			tc.secret.Namespace, tc.secret.Name, tc.secret.OwnerReferences = "default", "login-"+
				name, ownedBy("Role", mg)

			if err := kube.Create(t.Context(), tc.secret); err != nil {
				t.Fatal(err)
			}
		}

		external := &telling{server: server{names: map[string]bool{}}, details: tc.details}
		r := xp.NewReconciler(&fake.Manager{Client: kube, Scheme: kube.Scheme()},
			resource.ManagedKind(gv.WithKind("Role")), xp.WithExternalConnecter(external))
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)})

		if created := len(external.names) > 0; created != tc.created {
			t.Errorf("%s: created is %t, %v", name, created, err)
		}

		secret := &corev1.Secret{}
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "login-" + name},
			secret); tc.created && string(secret.Data["password"]) != "generated" {
			t.Errorf("%s: the password is %q, %v", name, secret.Data["password"], err)
		}
	}
}
