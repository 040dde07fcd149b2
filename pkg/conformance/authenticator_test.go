package conformance

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An accountService is a diskService whose disks have passwords.
type accountService struct {
	*diskService

	lock      sync.Mutex
	passwords map[string]string
	slow      bool // no login ends before its deadline
}

// password returns the password of a disk.
func (s *accountService) password(name string) string {
	s.lock.Lock()
	defer s.lock.Unlock()

	return s.passwords[name]
}

// setPassword sets the password of a disk.
func (s *accountService) setPassword(name, password string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.passwords[name] = password
}

// Authenticate logs in.
func (s *accountService) Authenticate(ctx context.Context, details map[string][]byte) error {
	if s.slow {
		<-ctx.Done()

		return ctx.Err()
	}
	if got := string(details["password"]); got == "" || got != s.password(string(details["username"])) {
		return errors.Errorf("the password %q is wrong", got)
	}

	return nil
}

// An accountConnecter connects for one process. Its password of a disk is that in the connection Secret, or a new one.
// Its other fields are defects, or other ways to read.
type accountConnecter struct {
	*accountService
	secrets ctrlclient.Reader

	unstructured bool // reads
	trusts       bool // the Secret of any object, and publishes nothing any more once there was one
	forgets      bool // a new password is only in memory until it is published, after it was set
	mistakes     bool // another password is set than the one that is published
	once         bool // only Create knows the password, as if the external system had generated it
	hesitates    bool // the first observations take a password that is not set for one that works

	mu   *sync.Mutex
	made map[types.UID]string
	seen map[types.UID]bool // a Secret
	held map[types.UID]int  // observations
}

// An accountClient is the client for one object.
type accountClient struct {
	*diskClient
	of       *accountConnecter
	password string
	silent   bool // publishes nothing
}

// data returns the data of the connection Secret of an object, and whether the object is its controller.
func (c *accountConnecter) data(ctx context.Context, v *volume.Volume) (map[string][]byte, bool, error) {
	key := ctrlclient.ObjectKey{Namespace: v.Namespace, Name: v.Spec.WriteConnectionSecretToRef.Name}
	secret := &corev1.Secret{}
	if !c.unstructured {
		err := c.secrets.Get(ctx, key, secret)

		return secret.Data, metav1.IsControlledBy(secret, v), ctrlclient.IgnoreNotFound(err)
	}
	list, kind := &unstructured.UnstructuredList{}, corev1.SchemeGroupVersion.WithKind("Secret")
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.secrets.List(ctx, list, ctrlclient.InNamespace(v.Namespace)); err != nil {
		return nil, false, err
	}
	for i := range list.Items {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		if list.Items[i].GetName() != key.Name {
			continue
		}
		if err := c.secrets.Get(ctx, key, u); err != nil {
			return nil, false, err
		}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, secret)

		return secret.Data, metav1.IsControlledBy(secret, v), err
	}

	return nil, false, nil
}

// Connect reads or generates the password.
func (c *accountConnecter) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	out := &accountClient{diskClient: &diskClient{c.diskService}, of: c}
	data, ours, err := c.data(ctx, mg.(*volume.Volume)) // of the kind
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(data["password"]) > 0 && (ours || c.trusts) {
		out.password = string(data["password"])
		c.seen[mg.GetUID()] = true
		if delete(c.made, mg.GetUID()); c.trusts {
			c.made[mg.GetUID()] = out.password
		}
	} else if out.password = c.made[mg.GetUID()]; out.password == "" && !c.forgets {
		out.password = metav1.Now().String() + string(mg.GetUID())
		c.made[mg.GetUID()] = out.password
	}

	out.silent = c.trusts && c.seen[mg.GetUID()]

	return out, nil
}

// set returns the password that Update sets.
func (c *accountClient) set() string {
	if c.of.mistakes {
		return c.password + "?"
	}

	return c.password
}

// Observe publishes the password, and compares it.
func (c *accountClient) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := c.diskClient.Observe(ctx, mg)
	if err != nil || !o.ResourceExists || o.Owner == managed.OwnerOther || c.of.once {
		return o, err
	}
	name := meta.GetExternalName(mg)
	switch {
	case c.of.forgets && c.of.password(name) == "":
		o.ResourceUpToDate = false
	case c.of.forgets && c.password == "": // nothing to publish
	default:
		o.ResourceUpToDate = o.ResourceUpToDate && (c.of.password(name) == c.set() || c.hesitates(mg))
		if c.silent {
			break
		}
		o.ConnectionDetails = managed.ConnectionDetails{"username": []byte(name), "password": []byte(c.password)}
		if c.of.forgets {
			c.of.mu.Lock()
			delete(c.of.made, mg.GetUID())
			c.of.mu.Unlock()
		}
	}

	return o, nil
}

// hesitates reports whether the client takes a password that is not set for one that works.
func (c *accountClient) hesitates(mg resource.Managed) bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.held[mg.GetUID()]++

	return c.of.hesitates && c.of.held[mg.GetUID()] < 5 && c.of.password(meta.GetExternalName(mg)) == ""
}

// Update sets the password.
func (c *accountClient) Update(ctx context.Context, mg resource.Managed) error {
	if err := c.diskClient.Update(ctx, mg); err != nil || c.of.once {
		return err
	}
	password := c.set()
	if c.of.forgets {
		password = "generated for " + string(mg.GetUID())
		c.of.mu.Lock()
		c.of.made[mg.GetUID()] = password
		c.of.mu.Unlock()
	}

	return c.diskClient.change(ctx, func() { c.of.setPassword(meta.GetExternalName(mg), password) })
}

// Create creates a disk, without a password unless only Create knows it.
func (c *accountClient) Create(ctx context.Context, mg resource.Managed) error {
	err := c.diskClient.Create(ctx, mg)
	if err != nil {
		return err
	}
	name, password := meta.GetExternalName(mg), ""
	if c.of.once {
		password = "generated for " + string(mg.GetUID())
		managed.TellConnectionDetails(ctx, managed.ConnectionDetails{
			"username": []byte(name), "password": []byte(password),
		})
	}
	c.of.setPassword(name, password)

	return nil
}

// accounts returns a suite for a client with passwords.
func accounts(t *testing.T, change func(*accountConnecter)) Suite {
	t.Helper()
	d := newDiskService(Named)
	d.stamped = true
	service := &accountService{diskService: d, passwords: map[string]string{}}
	s := d.suite(nil)
	s.Connecter, s.Probe, s.Within = nil, service, time.Nanosecond
	s.NewConnecterWithReader = func(secrets ctrlclient.Reader) managed.ExternalConnecter {
		c := &accountConnecter{
			accountService: service, secrets: secrets, mu: &sync.Mutex{}, made: map[types.UID]string{},
			seen: map[types.UID]bool{}, held: map[types.UID]int{},
		}
		change(c)

		return c
	}
	nameSecrets(t, &s)

	return s
}

// TestPublishedPasswordsWork: a client that reads its connection Secret passes, with typed and with unstructured reads.
// A published password that does not work is found.
func TestPublishedPasswordsWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*accountConnecter)
		within time.Duration
		says   string // "" if nothing is found
	}{
		"Typed":        {func(*accountConnecter) {}, within, ""},
		"Once":         {func(c *accountConnecter) { c.once = true }, within, ""},
		"Unstructured": {func(c *accountConnecter) { c.unstructured = true }, time.Nanosecond, ""},
		"Mistakes": {func(c *accountConnecter) { c.mistakes = true }, time.Nanosecond,
			`an application cannot log in with its connection Secret vol-connection: the password "<password>" is wrong`},
		"Forgets": {func(c *accountConnecter) { c.forgets = true }, time.Nanosecond,
			"its connection Secret vol-connection does not exist"},
		"Hesitates": {func(c *accountConnecter) { c.hesitates = true }, time.Nanosecond,
			"vol is Ready for the first time, the provider waits for its next poll, and an application cannot log in"},
		"Trusts": {func(c *accountConnecter) { c.trusts = true }, time.Nanosecond,
			"its connection Secret vol-connection does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := accounts(t, c.change)
			s.Within, s.Options = c.within, append(s.Options, managed.WithCreationConnectionDetails())
			k := examine(t, s)
			if c.says == "" && len(k.findings.list) > 0 || c.says != "" && !k.findings.says("details-work", c.says) {
				t.Errorf("the findings are %v", k.findings.list)
			}
			for _, f := range k.findings.list {
				if strings.Contains(f.String(), "generated for") {
					t.Errorf("a finding shows a password: %s", f)
				}
			}
		})
	}
}

// TestADeletedSecretIsRestored: the client above restores its Secret, and a client that returns a password only once
// gets a warning.
func TestADeletedSecretIsRestored(t *testing.T) {
	for name, forgets := range map[string]bool{"Restores": false, "Forgets": true} {
		t.Run(name, func(t *testing.T) {
			s := accounts(t, func(c *accountConnecter) { c.forgets = forgets })
			s.Replay = "secret-deleted/vol"
			k := examine(t, s)
			notes := strings.Join(k.notes, "\n")
			warned := strings.Contains(notes, "warning: after a user has deleted the connection Secret of vol")
			if len(k.findings.list) > 0 || warned != forgets {
				t.Errorf("warned %t, findings %v, and %s", warned, k.findings.list, notes)
			}
		})
	}
}

// TestSlowLogins: a time-out of the probe is no finding about the client.
func TestSlowLogins(t *testing.T) {
	s := accounts(t, func(*accountConnecter) {})
	s.Probe.(*accountService).slow, s.CallTimeout = true, 100*time.Millisecond
	k := examine(t, s)
	if len(k.findings.list) > 0 || !strings.Contains(k.environment(), "Probe.Authenticate fails") {
		t.Errorf("environment %q, findings %v", k.environment(), k.findings.list)
	}
}
