package providerconfig

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/crdgate"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var (
	config *rest.Config
	scheme *runtime.Scheme
	api    client.Client // not counted
)

// A Role is a user whose kind comes and goes.
type Role struct {
	Bucket `json:",inline"`
}

func (r *Role) DeepCopyObject() runtime.Object { return &Role{*r.Bucket.DeepCopyObject().(*Bucket)} }

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	ctrllog.SetLogger(logr.Discard())
	cluster, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = cluster.Stop() }()
	if config, err = cluster.RESTConfig(); err != nil {
		return 1, err
	}
	scheme = newScheme()
	scheme.AddKnownTypeWithName(group.WithKind("Role"), &Role{})
	scheme.AddKnownTypeWithName(group.WithKind("RoleList"), &list[Role, *Role]{})
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		CRDs: definitions(), Scheme: scheme, MaxTime: wait.Patience(),
	}); err != nil {
		return 1, err
	}
	if api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// A system is a manager that keeps configurations, with its requests counted.
type system struct {
	*testing.T

	ledger   *test.Ledger
	underway atomic.Int64 // writes that the ledger does not have yet
}

// newSystem returns a system that sees the namespaces, and of what has none the objects
// that are called like the first, or everything if there are none: on a server that is
// shared, other tests have left objects.
func newSystem(t *testing.T, setup func(manager.Manager) error, namespaces ...string) *system {
	t.Helper()
	d := &system{T: t, ledger: &test.Ledger{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(d.ledger.Wrap)
	counted.Wrap(d.attend)
	seen := cache.Options{}
	if len(namespaces) > 0 {
		seen.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range namespaces {
			seen.DefaultNamespaces[ns] = cache.Config{}
		}
		seen.ByObject = map[client.Object]cache.ByObject{
			&ClusterTenant{}: {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, namespaces[0])},
		}
	}
	m, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme: scheme, Cache: seen, Metrics: server.Options{BindAddress: "0"},
		Controller:              ctrlconfig.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(wait.Patience()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := setup(m); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("manager: %v", err)
		}
	})

	return d
}

func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "providerconfig-"}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(context.Background(), ns) })

	return ns.Name
}

type roundTripper func(*http.Request) (*http.Response, error)

func (fn roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// attend returns a transport that knows which writes are under way.
func (d *system) attend(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			d.underway.Add(1)
			defer d.underway.Add(-1)
		}

		return next.RoundTrip(r)
	})
}

func (d *system) create(o client.Object) {
	d.Helper()
	if err := api.Create(d.Context(), o); err != nil {
		d.Fatal(err)
	}
}

func (d *system) remove(o client.Object) {
	d.Helper()
	if err := api.Delete(d.Context(), o); err != nil {
		d.Fatal(err)
	}
}

// eventually waits until something holds for an object, nil if it is gone.
func (d *system) eventually(what string, o Config, holds func(Config) bool) {
	d.Helper()
	came := false
	defer func() {
		if !came {
			d.Logf("%+v", o)
		}
	}()
	wait.Until(d, what, func() bool {
		err := api.Get(d.Context(), client.ObjectKeyFromObject(o), o)
		if gone.Ignore(err, o.GetName()) != nil {
			d.Fatal(err)
		}
		if err != nil {
			came = holds(nil)
		} else {
			came = holds(o)
		}

		return came
	})
}

func users(n int64) func(Config) bool {
	return func(c Config) bool { return c != nil && c.GetUsers() == n }
}

func isGone(c Config) bool { return c == nil }

func protected(c Config) bool { return c != nil && meta.FinalizerExists(c, FinalizerName) }

// writes returns those of configurations since the last call. Those whose effect was
// seen are among them: each was under way before, and the ledger has it when none is.
func (d *system) writes() []test.Request {
	d.Helper()
	wait.Until(d, "writes end", func() bool { return d.underway.Load() == 0 })
	sent := slices.DeleteFunc(d.ledger.Objects(), func(r test.Request) bool { return r.Verb == http.MethodGet })
	d.ledger.Reset()

	return sent
}

func (d *system) wantWrites(reason, want string) {
	d.Helper()
	if sent := test.SummarizeRequests(d.writes()); sent != want {
		d.Errorf("%s: %s, want %s", reason, sent, want)
	}
}

func TestLifeOfConfigurations(t *testing.T) {
	a, b := namespace(t), namespace(t)
	const interval = 100 * time.Millisecond
	d := newSystem(t, func(m manager.Manager) error {
		return Setup(m, kinds, []User{&Bucket{}}, WithCountInterval(interval))
	}, a, b)
	all := clusterTenant(a)
	for _, c := range []Config{tenant(a, "main"), tenant(b, "main"), all} {
		d.create(c)
		d.eventually("protected", c, protected)
	}
	d.wantWrites("new configurations", "1 PATCH clustertenants, 2 PATCH tenants")
	const buckets = 200
	begin := time.Now()
	for i := range buckets {
		d.create(bucket(a, fmt.Sprintf("bucket-%d", i), "", "main"))
	}
	d.create(bucket(b, "bucket", "", "main"))
	d.create(bucket(b, "other", "ClusterTenant", a))
	d.eventually("users of a", tenant(a, "main"), users(buckets))
	d.eventually("users of b", tenant(b, "main"), users(1))
	d.eventually("users of all", all, users(1))
	sent := d.writes()
	took := time.Since(begin) // longer than what was counted
	t.Logf("%d users: %s", buckets+2, test.SummarizeRequests(sent))
	// Each of the others has one user, and one write; on a slow machine there is time for more.
	if most := 3 + int(took/interval); len(sent) > most {
		t.Errorf("%d writes for %d users in %s, want at most %d: %s", len(sent), buckets+2, took, most,
			test.SummarizeRequests(sent))
	}
	for _, r := range sent {
		if r.Verb != "PATCH" || !strings.HasSuffix(r.Resource, "/status") {
			t.Errorf("%s %s, want patches of the status only", r.Verb, r.Resource)
		}
	}

	d.remove(tenant(a, "main"))
	main := tenant(a, "main")
	d.eventually("deletion waits", main, func(c Config) bool {
		return c != nil && c.(*Tenant).GetCondition(commonv1.TypeTerminating).Reason == commonv1.ReasonInUse
	})
	if got := main.GetCondition(commonv1.TypeTerminating).Message; !strings.HasPrefix(got,
		"Deletion waits for 200 users: Bucket "+a+"/bucket-0, ") {
		t.Errorf("message %q", got)
	}
	if err := api.DeleteAllOf(t.Context(), &Bucket{}, client.InNamespace(a)); err != nil {
		t.Fatal(err)
	}
	d.eventually("unused", main, isGone)
	d.eventually("the other of this name", tenant(b, "main"), users(1))
	d.hasOneEvent(a)
	d.create(tenant(a, "main"))
	d.eventually("made anew", tenant(a, "main"), protected)

	d.writes()
	d.remove(tenant(a, "main"))
	d.eventually("gone at once", tenant(a, "main"), isGone)
	d.wantWrites("deletion without users", "1 PATCH tenants")
	d.remove(bucket(b, "other", "", ""))
	d.remove(all)
	d.eventually("gone", all, isGone)
}

// hasOneEvent waits for the event of a namespace, and checks that there is one.
func (d *system) hasOneEvent(namespace string) {
	d.Helper()
	var events eventsv1.EventList
	wait.Until(d, "there is an event", func() bool {
		if err := api.List(d.Context(), &events, client.InNamespace(namespace)); err != nil {
			d.Fatal(err)
		}

		return len(events.Items) > 0
	})
	if len(events.Items) != 1 || events.Items[0].Reason != string(ReasonInUse) || events.Items[0].Series != nil {
		d.Errorf("events %v, want one of reason %s", events.Items, ReasonInUse)
	}
}

// TestSteady: objects that change, but not in what they refer to, cost nothing.
func TestSteady(t *testing.T) {
	ns := namespace(t)
	d := newSystem(t, func(m manager.Manager) error {
		return Setup(m, kinds, []User{&Bucket{}}, WithCountInterval(time.Millisecond))
	}, ns)
	d.create(tenant(ns, "main"))
	one := bucket(ns, "one", "", "main")
	d.create(one)
	d.eventually("counted", tenant(ns, "main"), users(1))
	d.wantWrites("a new configuration with a user", "1 PATCH tenants, 1 PATCH tenants/status")
	for i := range 50 {
		one.Labels = map[string]string{"turn": fmt.Sprint(i)}
		if err := api.Update(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	d.create(tenant(ns, "last")) // what is seen after all that
	d.eventually("last seen", tenant(ns, "last"), protected)
	d.wantWrites("steady, but for the finalizer of the last one", "1 PATCH tenants")
}

// TestUsersBehindAGate: kinds of users come and go behind a gate, and configurations are safe all the time.
func TestUsersBehindAGate(t *testing.T) {
	roles := definitions()[2]
	roles.Name = "roles." + group.Group
	roles.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Role", ListKind: "RoleList",
		Plural: "roles"}
	t.Cleanup(func() { _ = api.Delete(context.Background(), roles) })
	d := newSystem(t, func(m manager.Manager) error {
		gate, err := crdgate.New(m)
		if err != nil {
			return err
		}
		if err := m.Add(gate); err != nil {
			return err
		}

		return Setup(m, kinds, []User{&Bucket{}, &Role{}}, WithCountInterval(time.Millisecond), WithGate(gate))
	})
	ns := namespace(t)
	main := tenant(ns, "main")
	d.create(main)
	d.create(bucket(ns, "one", "", "main"))
	d.eventually("counted without roles", main, users(1))

	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{roles.DeepCopy()}, Scheme: scheme,
		MaxTime: wait.Patience(),
	}); err != nil {
		t.Fatal(err)
	}
	d.create(&Role{*bucket(ns, "one", "", "main")})
	d.eventually("counted with roles", main, users(2))
	d.remove(bucket(ns, "one", "", ""))
	d.eventually("one role", main, users(1))
	d.remove(tenant(ns, "main"))
	d.eventually("deletion waits", main, func(c Config) bool {
		return c != nil && c.(*Tenant).GetCondition(commonv1.TypeTerminating).
			Message == "Deletion waits for 1 user: Role "+ns+"/one"
	})
	d.remove(roles)
	d.eventually("no roles any more", main, isGone)
}

func TestSetupRefuses(t *testing.T) {
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	type unknown struct{ Bucket }
	for name, tc := range map[string]struct {
		kinds Kinds
		users []User
		want  string
	}{
		"NoKinds":      {want: "no kind of configuration is given"},
		"UnknownUsers": {kinds: kinds, users: []User{&unknown{}}, want: "cannot determine the kind of a user"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Setup(m, tc.kinds, tc.users); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("Setup(...) = %v, want %s", err, tc.want)
			}
		})
	}
}
