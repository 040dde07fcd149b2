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

type object struct{ metav1.ObjectMeta }

// A harbour is another kind of object.
type harbour struct{ metav1.ObjectMeta }

type cluster struct {
	metav1.ObjectMeta

	at *metav1.MicroTime
}

// GetConnectedAt is nil safe only as far as its callers are.
func (c *cluster) GetConnectedAt() *metav1.MicroTime { return c.at }

var (
	boat = &object{metav1.ObjectMeta{Name: "pequod"}}
	east = types.NamespacedName{Name: "east"}
	boom = errors.New("boom")
)

func at(us int) *metav1.MicroTime { return new(metav1.NewMicroTime(time.UnixMicro(int64(us)))) }

func connected(t *metav1.MicroTime) *cluster {
	return &cluster{metav1.ObjectMeta{Name: east.Name, UID: "u"}, t}
}

// A desk says what it was told to, and counts how often it was asked.
type desk struct {
	at   metav1.MicroTime
	err  error
	asks int
}

func (d *desk) GetK8sClient(types.NamespacedName) (string, metav1.MicroTime, error) {
	d.asks++

	return "client", d.at, d.err
}

// TestTables walks through both tables: what the object was given (T), what the cluster
// says (A), and what the provider has (P or an error E).
func TestTables(t *testing.T) {
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
		"GetNil":            {"there is no cluster", nil, nil, at(1), nil, got{Err: NotFoundError}},
		"GetTypedNil":       {"there is none, with a type", nil, (*cluster)(nil), at(1), nil, got{Err: NotFoundError}},
		"GetError":          {"the error comes unchanged", nil, connected(at(1)), at(1), boom, got{Err: boom, Asks: 1, Asked: 1}},
		"GetUnknown":        {"unknown to the provider", nil, connected(at(1)), at(1), NotFoundError, got{Err: NotFoundError, Asks: 1, Asked: 1}},
		"GetOld":            {"A is not P", nil, connected(at(1)), at(2), nil, got{Err: StaleClientError, Asks: 1, Asked: 1}},
		"GetBehind":         {"T is not P: Refresh first, which then forgets", at(1), connected(at(2)), at(2), nil, got{Err: StaleClientError, Asks: 1, Changed: true, Asked: 1}},
		"GetFirst":          {"no T yet", nil, connected(at(1)), at(1), nil, got{Asks: 1, Asked: 1, Tracked: true}},
		"GetAgain":          {"T is P; Refresh does not ask", at(1), connected(at(1)), at(1), nil, got{Asks: 1, Tracked: true}},
		"RefreshSame":       {"T is A: the provider is not asked, although it has something newer", at(1), connected(at(1)), at(2), nil, got{Err: StaleClientError, Asks: 1, Tracked: true}},
		"RefreshError":      {"E, and T existed", at(1), connected(at(2)), at(2), boom, got{Err: boom, Asks: 1, Changed: true, Asked: 1}},
		"RefreshOld":        {"A is not P, and T existed", at(1), connected(at(2)), at(3), nil, got{Err: StaleClientError, Asks: 1, Changed: true, Asked: 1}},
		"RefreshFailed":     {"the cluster went into an error: A is nil", at(1), connected(nil), at(2), nil, got{Err: StaleClientError, Asks: 1, Changed: true, Asked: 1}},
		"NilIsZero":         {"A nil equals a zero P", nil, connected(nil), &metav1.MicroTime{}, nil, got{Asks: 1, Asked: 1, Tracked: true}},
		"RefreshNil":        {"gone, and T existed", at(1), nil, at(1), nil, got{Err: NotFoundError, Changed: true}},
		"RefreshTypedNil":   {"gone, with a type", at(1), (*cluster)(nil), at(1), nil, got{Err: NotFoundError, Changed: true}},
		"FinerThanIsStored": {"nanoseconds do not count", nil, connected(new(metav1.NewMicroTime(time.Unix(0, 1999)))), at(1), nil, got{Asks: 1, Asked: 1, Tracked: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			fresh := func() *ClientManager[string] {
				m := NewClientManager[string](d)
				if tc.t != nil {
					d.at, d.err = *tc.t, nil
					if _, err := m.GetK8sClient(boat, connected(tc.t)); err != nil {
						t.Fatal(err)
					}
				}
				d.at, d.err, d.asks = *tc.p, tc.e, 0

				return m
			}
			var have got
			client, err := fresh().GetK8sClient(boat, tc.cluster)
			have.Err, have.Asks = err, d.asks
			if (client == "client") != (err == nil) {
				t.Errorf("a client and an error, or neither: %q, %v", client, err)
			}
			m := fresh()
			have.Changed, have.Asked = m.Refresh(boat, tc.cluster), d.asks
			have.Tracked = m.manager.Lose(m.user(boat))
			if diff := cmp.Diff(tc.want, have, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReplacement is the life of two objects on a cluster whose client is replaced.
func TestReplacement(t *testing.T) {
	p := NewFakeClientProvider("first")
	p.SetK8sClient(east, "first")
	m := NewClientManager[string](p)
	other := &object{metav1.ObjectMeta{Name: "rachel"}}
	namesake := &harbour{metav1.ObjectMeta{Name: boat.Name}}
	_, before, _ := p.GetK8sClient(east)
	objects := []KeyableObject{boat, other, namesake}
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

// TestC1Forget: neither an object nor a cluster that was made anew inherits anything.
func TestC1Forget(t *testing.T) {
	p := NewFakeClientProvider("")
	first := p.SetK8sClient(east, "first")
	m := NewClientManager[string](p)
	_, _ = m.GetK8sClient(boat, connected(&first))
	second := p.SetK8sClient(east, "second")
	m.Forget(boat)
	if m.Refresh(boat, connected(&second)) {
		t.Error("an object that was made anew has built nothing")
	}
	m.ForgetCluster(east)
	if m.Refresh(boat, connected(&second)) {
		t.Error("a cluster that was made anew has nothing built on it")
	}
	namesake := connected(&second)
	namesake.UID = "v"
	if !m.Refresh(boat, namesake) {
		t.Error("another cluster of the name is another one")
	}
}

// A provider that calls back would wait for ever if a lock were held.
type caller struct {
	desk

	back func()
}

func (c *caller) GetK8sClient(k types.NamespacedName) (string, metav1.MicroTime, error) {
	if back := c.back; back != nil {
		c.back = nil
		back()
	}

	return c.desk.GetK8sClient(k)
}

func TestC5ProviderMayCallBack(t *testing.T) {
	p := &caller{desk: desk{at: *at(1)}}
	m := NewClientManager[string](p)
	p.back = func() { m.Refresh(&object{metav1.ObjectMeta{Name: "rachel"}}, connected(at(1))) }
	if c, err := m.GetK8sClient(boat, connected(at(1))); c != "client" || err != nil {
		t.Errorf("got %q, %v", c, err)
	}
}

// TestC9NilCluster: a cluster that is nil is one that is gone, which is told once to those
// who had a client of it, and to nobody else.
func TestC9NilCluster(t *testing.T) {
	p := NewFakeClientProvider("")
	first := p.SetK8sClient(east, "first")
	m := NewClientManager[string](p)
	other := &object{metav1.ObjectMeta{Name: "rachel"}}
	for name, none := range map[string]ConnectedCluster{"nil": nil, "typed nil": (*cluster)(nil)} {
		if _, err := m.GetK8sClient(boat, connected(&first)); err != nil {
			t.Fatal(err)
		}
		if !m.Refresh(boat, none) || m.Refresh(boat, none) || m.Refresh(other, none) {
			t.Errorf("%s: want a change, once, for the one who had a client", name)
		}
	}
}

// TestC12FakesAreElsewhere: the stand-in is in a package of its own. The package that a
// program imports links nothing for tests, and little more than package clusters.
func TestC12FakesAreElsewhere(t *testing.T) {
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
