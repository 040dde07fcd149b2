package clientmanager

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters/clientmanagertest"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// An object is an object of one kind.
type object struct{ metav1.ObjectMeta }

// An otherObject is an object of another kind.
type otherObject struct{ metav1.ObjectMeta }

type cluster struct {
	metav1.ObjectMeta

	at *metav1.MicroTime
}

// GetConnectedAt is nil safe only as far as its callers are.
func (c *cluster) GetConnectedAt() *metav1.MicroTime { return c.at }

var (
	app  = &object{metav1.ObjectMeta{Name: "api"}}
	east = types.NamespacedName{Name: "east"}
	boom = errors.New("boom")
)

// at returns a time.
func at(us int) *metav1.MicroTime { return new(metav1.NewMicroTime(time.UnixMicro(int64(us)))) }

// connected returns a cluster that was connected at a time.
func connected(t *metav1.MicroTime) *cluster {
	return &cluster{metav1.ObjectMeta{Name: east.Name, UID: "u"}, t}
}

// A fakeProvider returns one client, and counts the calls.
type fakeProvider struct {
	at    metav1.MicroTime
	err   error
	calls int
}

// GetK8sClient returns the client.
func (d *fakeProvider) GetK8sClient(types.NamespacedName) (string, metav1.MicroTime, error) {
	d.calls++

	return "client", d.at, d.err
}

// TestGetK8sClientAndRefresh covers all combinations of the time of the client that the
// object was given (T), that in the cluster (A), and that of the provider (P or an error
// E).
func TestGetK8sClientAndRefresh(t *testing.T) {
	type got struct {
		Err     error // of GetK8sClient
		Asks    int
		Changed bool // Refresh
		Asked   int
		Tracked bool // afterwards
	}
	cases := map[string]struct {
		reason  string
		t       *metav1.MicroTime // nil: none
		cluster ConnectedCluster
		p       *metav1.MicroTime
		e       error
		want    got
	}{
		"GetNil":      {"there is no cluster", nil, nil, at(1), nil, got{Err: NotFoundError}},
		"GetTypedNil": {"there is none, with a type", nil, (*cluster)(nil), at(1), nil, got{Err: NotFoundError}},
		"GetError": {
			"the error comes unchanged", nil, connected(at(1)), at(1), boom, got{Err: boom, Asks: 1, Asked: 1},
		},
		"GetUnknown": {
			"unknown to the provider", nil, connected(at(1)), at(1), NotFoundError, got{Err: NotFoundError, Asks: 1, Asked: 1},
		},
		"GetOld": {"A is not P", nil, connected(at(1)), at(2), nil, got{Err: StaleClientError, Asks: 1, Asked: 1}},
		"GetBehind": {
			"T is not P: Refresh first, which then forgets", at(1), connected(at(2)), at(2), nil,
			got{Err: StaleClientError, Asks: 1, Changed: true, Asked: 1},
		},
		"GetFirst": {"no T yet", nil, connected(at(1)), at(1), nil, got{Asks: 1, Asked: 1, Tracked: true}},
		"GetAgain": {
			"T is P; Refresh does not ask", at(1), connected(at(1)), at(1), nil, got{Asks: 1, Tracked: true},
		},
		"RefreshSame": {
			"T is A: the provider is not asked, although it has something newer", at(1), connected(at(1)), at(2), nil,
			got{Err: StaleClientError, Asks: 1, Tracked: true},
		},
		"RefreshError": {
			"E, and T existed", at(1), connected(at(2)), at(2), boom, got{Err: boom, Asks: 1, Changed: true, Asked: 1},
		},
		"RefreshOld": {
			"A is not P, and T existed", at(1), connected(at(2)), at(3), nil,
			got{Err: StaleClientError, Asks: 1, Changed: true, Asked: 1},
		},
		"RefreshFailed": {
			"the cluster went into an error: A is nil", at(1), connected(nil), at(2), nil,
			got{Err: StaleClientError, Asks: 1, Changed: true, Asked: 1},
		},
		"NilIsZero": {
			"A nil equals a zero P", nil, connected(nil), &metav1.MicroTime{}, nil, got{Asks: 1, Asked: 1, Tracked: true},
		},
		"RefreshNil": {"gone, and T existed", at(1), nil, at(1), nil, got{Err: NotFoundError, Changed: true}},
		"RefreshTypedNil": {
			"gone, with a type", at(1), (*cluster)(nil), at(1), nil, got{Err: NotFoundError, Changed: true},
		},
		"FinerThanIsStored": {
			"nanoseconds do not count", nil, connected(new(metav1.NewMicroTime(time.Unix(0, 1999)))), at(1), nil,
			got{Asks: 1, Asked: 1, Tracked: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &fakeProvider{}
			newManager := func() *ClientManager[string] {
				m := NewClientManager[string](d)
				if tc.t != nil {
					d.at, d.err = *tc.t, nil
					if _, err := m.GetK8sClient(app, connected(tc.t)); err != nil {
						t.Fatal(err)
					}
				}
				d.at, d.err, d.calls = *tc.p, tc.e, 0

				return m
			}
			var have got
			client, err := newManager().GetK8sClient(app, tc.cluster)
			have.Err, have.Asks = err, d.calls
			if (client == "client") != (err == nil) {
				t.Errorf("a client and an error, or neither: %q, %v", client, err)
			}
			m := newManager()
			have.Changed, have.Asked = m.Refresh(app, tc.cluster), d.calls
			have.Tracked = m.manager.Lose(m.user(app))
			if diff := cmp.Diff(tc.want, have, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestClientReplaced verifies that each object is notified once of the replacement of a
// client.
func TestClientReplaced(t *testing.T) {
	p := NewFakeClientProvider("first")
	p.SetK8sClient(east, "first")
	m := NewClientManager[string](p)
	other := &object{metav1.ObjectMeta{Name: "web"}}
	namesake := &otherObject{metav1.ObjectMeta{Name: app.Name}}
	_, before, _ := p.GetK8sClient(east)
	objects := []KeyableObject{app, other, namesake}
	for _, o := range objects {
		for range 5 {
			if c, err := m.GetK8sClient(o, connected(&before)); c != "first" || err != nil {
				t.Fatalf("got %q, %v", c, err)
			}
		}
	}
	after := p.SetK8sClient(east, "second")
	for _, o := range objects {
		if _, err := m.GetK8sClient(o, connected(&before)); !errors.Is(err, StaleClientError) {
			t.Errorf("the old cluster: want %v, got %v", StaleClientError, err)
		}
		if m.Refresh(o, connected(&before)) {
			t.Error("the old cluster: want no change, since nothing newer was read")
		}
		if !m.Refresh(o, connected(&after)) || m.Refresh(o, connected(&after)) {
			t.Error("the new cluster: want a change, once, for each object")
		}
		if c, err := m.GetK8sClient(o, connected(&after)); c != "second" || err != nil {
			t.Errorf("got %q, %v", c, err)
		}
	}
}

// TestForget verifies that an object or a cluster that was created again has no client.
func TestForget(t *testing.T) {
	p := NewFakeClientProvider("")
	first := p.SetK8sClient(east, "first")
	m := NewClientManager[string](p)
	_, _ = m.GetK8sClient(app, connected(&first))
	second := p.SetK8sClient(east, "second")
	m.Forget(app)
	if m.Refresh(app, connected(&second)) {
		t.Error("an object that was created again has a client")
	}
	m.ForgetCluster(east)
	if m.Refresh(app, connected(&second)) {
		t.Error("a cluster that was created again has users")
	}
	namesake := connected(&second)
	namesake.UID = "v"
	if !m.Refresh(app, namesake) {
		t.Error("another cluster of the name is another one")
	}
}

// A callingProvider calls the manager, which would block if the manager held a lock.
type callingProvider struct {
	fakeProvider

	onGet func()
}

// GetK8sClient calls the function once, then returns the client.
func (c *callingProvider) GetK8sClient(k types.NamespacedName) (string, metav1.MicroTime, error) {
	if back := c.onGet; back != nil {
		c.onGet = nil
		back()
	}

	return c.fakeProvider.GetK8sClient(k)
}

func TestProviderMayCallManager(t *testing.T) {
	p := &callingProvider{fakeProvider: fakeProvider{at: *at(1)}}
	m := NewClientManager[string](p)
	p.onGet = func() { m.Refresh(&object{metav1.ObjectMeta{Name: "web"}}, connected(at(1))) }
	if c, err := m.GetK8sClient(app, connected(at(1))); c != "client" || err != nil {
		t.Errorf("got %q, %v", c, err)
	}
}

// TestRefreshNilCluster verifies that a nil cluster is one that is gone: Refresh reports
// it once to objects that had a client of it.
func TestRefreshNilCluster(t *testing.T) {
	p := NewFakeClientProvider("")
	first := p.SetK8sClient(east, "first")
	m := NewClientManager[string](p)
	other := &object{metav1.ObjectMeta{Name: "web"}}
	for name, none := range map[string]ConnectedCluster{"nil": nil, "typed nil": (*cluster)(nil)} {
		if _, err := m.GetK8sClient(app, connected(&first)); err != nil {
			t.Fatal(err)
		}
		if !m.Refresh(app, none) || m.Refresh(app, none) || m.Refresh(other, none) {
			t.Errorf("%s: want one change, for the object with a client", name)
		}
	}
}

// TestLinksNoTestPackages verifies that the fake is in a package of its own, and that
// this package links little more than package clusters.
func TestLinksNoTestPackages(t *testing.T) {
	var p any = NewFakeClientProvider("a client")
	if _, same := p.(*clientmanagertest.FakeClientProvider[string]); !same {
		t.Errorf("it is a %T", p)
	}
	const clusters = "github.com/moorage-dev/moorage/pkg/clusters"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", clusters)
	below, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	list = exec.CommandContext(t.Context(), "go", "list", "-deps", clusters+"/clientmanager")
	all, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(below))
	more := slices.DeleteFunc(strings.Fields(string(all)), func(path string) bool { return slices.Contains(known, path) })
	if diff := cmp.Diff([]string{clusters + "/clientmanagertest", clusters + "/clientmanager"}, more); diff != "" {
		t.Errorf("what the package links besides package clusters: -want +got:\n%s", diff)
	}
}
