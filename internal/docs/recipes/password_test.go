package recipes

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// passwordServer has users with passwords.
type passwordServer struct {
	*memory

	passwords map[string]string
}

func (s passwordServer) Create(ctx context.Context, user Record, password []byte) error {
	return s.request(ctx, func() error {
		err := s.add(user)
		if err == nil {
			s.passwords[user.Name] = string(password)
		}

		return err
	})
}

func (s passwordServer) Change(ctx context.Context, user Record, password []byte) error {
	return s.change(ctx, user.Name, func(r *Record) {
		*r = user
		if password != nil {
			s.passwords[user.Name] = string(password)
		}
	})
}

func (s passwordServer) LogIn(ctx context.Context, name string, password []byte) (works bool, err error) {
	err = s.request(ctx, func() error {
		works = s.passwords[name] == string(password)

		return nil
	})

	return works, err
}

// A passwordProbe logs in, as an application does.
type passwordProbe struct {
	driftingProbe
	server passwordServer
}

// Authenticate logs in with a connection Secret.
func (p passwordProbe) Authenticate(_ context.Context, details map[string][]byte) error {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if p.server.passwords[string(details["username"])] != string(details["password"]) {
		return errors.New("the password is wrong")
	}

	return nil
}

func user(name string) *v1alpha1.User {
	return &v1alpha1.User{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: "uid", Annotations: map[string]string{meta.AnnotationKeyExternalName: name},
		},
		Spec: v1alpha1.UserSpec{
			Team: "blue", WriteConnectionSecretToRef: &commonv1.LocalSecretReference{Name: name + "-connection"},
		},
	}
}

func userStamp(u *v1alpha1.User) managed.Stamp { return stampOf(v1alpha1.UserKind, u) }

// users returns a suite for the kind User.
func users(t *testing.T, s passwordServer,
	connect func(secrets client.Reader) managed.ExternalConnecter) conformance.Suite {
	t.Helper()

	return conformance.Suite{
		Kind: v1alpha1.UserKind, Scheme: scheme(t), Class: conformance.Named,
		Probe:                  passwordProbe{driftingProbe{probe{s.memory}}, s},
		NewConnecterWithReader: connect,
		Options:                []managed.ReconcilerOption{managed.WithCreationGracePeriod(0)},
		Samples:                []resource.Managed{user("ann"), user("ann-2")},
		Mutations: []conformance.Mutation{{
			Name:   "moves",
			Change: func(mg resource.Managed) { mg.(*v1alpha1.User).Spec.Team = "red" },
			Want:   map[string]string{"team": "red"},
		}},
	}
}

// TestPasswordsConform runs the client with the kit.
func TestPasswordsConform(t *testing.T) {
	s := passwordServer{newMemory(), map[string]string{}}
	conformance.Run(t, users(t, s, func(secrets client.Reader) managed.ExternalConnecter {
		return managed.Untyped(&Passwords{API: s, Secrets: secrets, Stamp: userStamp})
	}))
}

// TestAGeneratedPasswordIsPublishedBeforeItIsSet follows a password: the process that generated it ends before the
// Secret is written, and the next process publishes another one and sets it.
func TestAGeneratedPasswordIsPublishedBeforeItIsSet(t *testing.T) {
	s := passwordServer{newMemory(), map[string]string{}}
	kube := apiserver.New(scheme(t), clock.RealClock{}).Client()
	u := user("ann")
	observe := func(p *Passwords) (managed.TypedExternalClient[*v1alpha1.User], managed.ExternalObservation) {
		t.Helper()
		c, err := p.Connect(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.Observe(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}

		return c, o
	}
	first := &Passwords{API: s, Secrets: kube, Stamp: userStamp}
	c, _ := observe(first)
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if _, o := observe(first); !o.ResourceUpToDate || string(o.ConnectionDetails["password"]) != s.passwords["ann"] {
		t.Errorf("the same process does not use the same password: %v", o)
	}
	second := &Passwords{API: s, Secrets: kube, Stamp: userStamp}
	c, o := observe(second)
	password := o.ConnectionDetails["password"]
	if o.ResourceUpToDate || string(password) == s.passwords["ann"] {
		t.Errorf("another process knows the password: %v", o)
	}
	if err := kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.Namespace, Name: "ann-connection",
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "User", Name: "ann", UID: u.UID, Controller: new(true),
			}},
		},
		Data: o.ConnectionDetails,
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	third := &Passwords{API: s, Secrets: kube, Stamp: userStamp}
	if _, o := observe(third); !o.ResourceUpToDate || string(o.ConnectionDetails["password"]) != string(password) {
		t.Errorf("the password of the Secret does not work: %v", o)
	}
}

// TestADeletedSecretLeadsToAnotherPassword publishes a password, and deletes the Secret before a pass has read it.
func TestADeletedSecretLeadsToAnotherPassword(t *testing.T) {
	s := passwordServer{newMemory(), map[string]string{}}
	kube := apiserver.New(scheme(t), clock.RealClock{}).Client()
	u := user("ann")
	p := &Passwords{API: s, Secrets: kube, Stamp: userStamp}
	password := func() string {
		t.Helper()
		password, err := p.password(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}

		return string(password)
	}
	first := password()
	if again := password(); again != first {
		t.Errorf("the password changes before it is published")
	}
	u.SetConnectionDetailsHash("ann-connection/1") // as the reconciler does after it has written the Secret
	second := password()
	if second == first {
		t.Errorf("the password of the deleted Secret is used again")
	}
	if again := password(); again != second {
		t.Errorf("the new password changes before it is published")
	}
}

// TestAFailedReadGeneratesNoPassword: only an answer that there is no Secret leads to a new password.
func TestAFailedReadGeneratesNoPassword(t *testing.T) {
	p := &Passwords{Secrets: unreadable{}, Stamp: userStamp}
	if _, err := p.Connect(t.Context(), user("ann")); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
}

// TestAPasswordThatUpdateMayNotSetIsNotPublished observes a user of another tool. Update may not set a password.
func TestAPasswordThatUpdateMayNotSetIsNotPublished(t *testing.T) {
	s := passwordServer{newMemory(), map[string]string{"ann": "theirs"}}
	u := user("ann")
	meta.SetExternalName(u, "ann")
	meta.AddAnnotations(u, map[string]string{meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve})
	if err := s.add(Record{Name: "ann"}); err != nil {
		t.Fatal(err)
	}
	p := &Passwords{API: s, Secrets: apiserver.New(scheme(t), clock.RealClock{}).Client(), Stamp: userStamp}
	c, err := p.Connect(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Observe(t.Context(), u)
	if err != nil || !o.ResourceExists || o.ConnectionDetails != nil {
		t.Errorf("got %v, %v", o, err)
	}
}

// unreadable is a reader whose requests fail.
type unreadable struct{ client.Reader }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errDown
}
