package clientmanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What controllers of others found when they were run with this package, a test for each.

var west = types.NamespacedName{Name: "west"}

// TestNilOfOneOfSeveral: an object that is built on several clusters, as one that stands for a
// watcher is, loses none of them to a cluster that is nil, since which one is gone cannot be
// told from that. RefreshGone is told which.
func TestNilOfOneOfSeveral(t *testing.T) {
	p := NewFakeClientProvider("")
	m := NewClientManager(p)
	clusters := map[types.NamespacedName]*cluster{}
	for _, key := range []types.NamespacedName{east, west} {
		since := p.SetK8sClient(key, "first")
		clusters[key] = &cluster{metav1.ObjectMeta{Name: key.Name}, &since}
		if _, err := m.GetK8sClient(boat, clusters[key]); err != nil {
			t.Fatal(err)
		}
	}
	if m.Refresh(boat, nil) {
		t.Error("which of two clusters is gone cannot be told: want no change")
	}
	replaced := p.SetK8sClient(east, "second")
	clusters[east].at = &replaced
	if !m.Refresh(boat, clusters[east]) {
		t.Error("what is built on the first client of the cluster is kept: want a change")
	}
	if _, err := m.GetK8sClient(boat, clusters[east]); err != nil {
		t.Fatal(err)
	}
	if !m.RefreshGone(boat, west) || m.RefreshGone(boat, west) || m.Refresh(boat, clusters[east]) {
		t.Error("want a change, once, and of the cluster that is gone alone")
	}
	if !m.Refresh(boat, nil) || m.Refresh(boat, nil) {
		t.Error("of one cluster that is left, nil says that it is gone: want a change, once")
	}
}

// TestRevisions: a test can ask which client an object was given, as one within the package
// of the older shape did.
func TestRevisions(t *testing.T) {
	p := NewFakeClientProvider("")
	m, since := NewClientManager(p), p.SetK8sClient(east, "first")
	if got := m.Revisions(boat); len(got) != 0 {
		t.Errorf("before: %v", got)
	}
	if _, err := m.GetK8sClient(boat, connected(&since)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[types.NamespacedName]metav1.MicroTime{east: since}, m.Revisions(boat), cmp.Comparer(func(a, b metav1.MicroTime) bool { return a.Equal(&b) })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := m.Revisions(&harbour{metav1.ObjectMeta{Name: boat.Name}}); len(got) != 0 {
		t.Errorf("of another object: %v", got)
	}
	m.Forget(boat)
	if got := m.Revisions(boat); len(got) != 0 {
		t.Errorf("afterwards: %v", got)
	}
}

// TestTypesOfOneObject: an object may be given as a pointer in one place and as a value in
// another, or by its metadata alone. Two types of one name are two objects.
func TestTypesOfOneObject(t *testing.T) {
	values := func(name string) (pointer, value, metadata, other KeyableObject) {
		meta := metav1.ObjectMeta{Name: name}
		return &pod{meta}, pod{meta}, &meta, &harbour{meta}
	}
	pointer, value, metadata, other := values("pequod")
	cases := map[string]struct {
		reason  string
		get     []KeyableObject
		refresh KeyableObject
		want    bool
	}{
		"Value":          {"The same type, as a value.", []KeyableObject{pointer}, value, true},
		"Pointer":        {"The same type, as a pointer.", []KeyableObject{value}, pointer, true},
		"Metadata":       {"The metadata of the object.", []KeyableObject{pointer}, metadata, true},
		"OfMetadata":     {"The object of the metadata.", []KeyableObject{metadata}, pointer, true},
		"OnlyMetadata":   {"Metadata in both places.", []KeyableObject{metadata}, metadata, true},
		"OtherType":      {"Another type is another object.", []KeyableObject{pointer}, other, false},
		"OneOfTwo":       {"Each of two types is told.", []KeyableObject{pointer, other}, other, true},
		"MetadataOfTwo":  {"Whose metadata it is of two types cannot be told.", []KeyableObject{pointer, other}, metadata, false},
		"OtherMetadata":  {"The metadata of another name.", []KeyableObject{pointer}, &metav1.ObjectMeta{Name: "rachel"}, false},
		"OtherNamespace": {"The metadata of another namespace.", []KeyableObject{pointer}, &metav1.ObjectMeta{Namespace: "sea", Name: "pequod"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := NewFakeClientProvider("")
			m, before := NewClientManager(p), p.SetK8sClient(east, "first")
			for _, obj := range tc.get {
				if _, err := m.GetK8sClient(obj, connected(&before)); err != nil {
					t.Fatal(err)
				}
			}
			after := p.SetK8sClient(east, "second")
			if got := m.Refresh(tc.refresh, connected(&after)); got != tc.want {
				t.Errorf("%s\nchanged: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// A pod may be used as a value.
type pod struct{ meta metav1.ObjectMeta }

func (p pod) GetName() string      { return p.meta.Name }
func (p pod) GetNamespace() string { return p.meta.Namespace }

// A foreign Cluster has no method that tells when it was connected to.
type foreign struct {
	metav1.ObjectMeta

	Status struct{ ConnectedAt *metav1.MicroTime }
}

// The wrappers that are written for it.
type (
	embedding struct{ *foreign }
	holding   struct{ cluster *foreign }
	wrapping  struct{ embedding }
	several   struct {
		metav1.ObjectMeta
		*foreign

		owner *foreign
	}
)

func (c embedding) GetConnectedAt() *metav1.MicroTime { return c.Status.ConnectedAt }
func (c holding) GetName() string                     { return c.cluster.Name }
func (c holding) GetNamespace() string                { return c.cluster.Namespace }
func (c holding) GetConnectedAt() *metav1.MicroTime   { return c.cluster.Status.ConnectedAt }
func (c several) GetName() string                     { return c.foreign.Name }
func (c several) GetNamespace() string                { return c.foreign.Namespace }
func (c several) GetConnectedAt() *metav1.MicroTime   { return c.Status.ConnectedAt }

// TestWrappedNilCluster: a wrapper that is not nil around a cluster that is nil is a cluster
// that is gone.
func TestWrappedNilCluster(t *testing.T) {
	for name, none := range map[string]ConnectedCluster{
		"Embedding": embedding{}, "Pointer": &embedding{}, "Holding": holding{}, "Wrapping": &wrapping{}, "Several": several{},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewFakeClientProvider("")
			m, since := NewClientManager(p), p.SetK8sClient(east, "first")
			if _, err := m.GetK8sClient(boat, none); err != NotFoundError { //nolint:errorlint // it comes as it is
				t.Errorf("want %v, got %v", NotFoundError, err)
			}
			if _, err := m.GetK8sClient(boat, connected(&since)); err != nil {
				t.Fatal(err)
			}
			if !m.Refresh(boat, none) || m.Refresh(boat, none) {
				t.Error("want a change, once")
			}
		})
	}
	some := &foreign{ObjectMeta: metav1.ObjectMeta{Name: east.Name}}
	for name, one := range map[string]ConnectedCluster{"Embedding": embedding{some}, "Holding": &holding{some}, "Several": several{foreign: some, owner: nil}} {
		if isNil(one) {
			t.Errorf("%s: there is a cluster", name)
		}
	}
}

// TestClientManagerFunc: for clusters that do not tell when they were connected to, a function
// does.
func TestClientManagerFunc(t *testing.T) {
	p := NewFakeClientProvider("")
	m := NewClientManagerFunc(p, func(c *foreign) *metav1.MicroTime { return c.Status.ConnectedAt })
	if _, err := m.GetK8sClient(boat, nil); err != NotFoundError { //nolint:errorlint // it comes as it is
		t.Errorf("want %v, got %v", NotFoundError, err)
	}
	one := &foreign{ObjectMeta: metav1.ObjectMeta{Name: east.Name, UID: "u"}}
	for _, client := range []string{"first", "second"} {
		since := p.SetK8sClient(east, client)
		one.Status.ConnectedAt = &since
		if changed := m.Refresh(boat, one); changed != (client == "second") {
			t.Errorf("%s: changed: %t", client, changed)
		}
		if got, err := m.GetK8sClient(boat, one); got != client || err != nil {
			t.Errorf("want %s, got %q, %v", client, got, err)
		}
	}
	namesake := *one
	namesake.UID = "v"
	if !m.Refresh(boat, &namesake) {
		t.Error("a cluster that was made anew under the name is another one: want a change")
	}
	if _, err := m.GetK8sClient(boat, &namesake); err != nil || !m.Refresh(boat, nil) || m.Refresh(boat, nil) {
		t.Errorf("a cluster that is gone: want a change, once: %v", err)
	}
}

// TestFailuresAreNotRemembered: whoever got nothing is not remembered, as it never was: nobody
// would ever forget them.
func TestFailuresAreNotRemembered(t *testing.T) {
	p := NewFakeClientProvider("")
	m := NewClientManager(p)
	for _, err := range []error{nil, boom} {
		if err != nil {
			p.SetClusterError(east, err)
		}
		for range 1000 {
			if _, err := m.GetK8sClient(boat, connected(at(1))); err == nil {
				t.Fatal("there is a client")
			}
			m.Refresh(boat, connected(at(1)))
		}
	}
	since := p.SetK8sClient(east, "first")
	if _, err := m.GetK8sClient(boat, connected(at(1))); err == nil {
		t.Fatal("the client is another one")
	}
	if users := m.manager.Users(east); len(users) != 0 {
		t.Errorf("nobody was given a client, and there are %d users: %v", len(users), users)
	}
	if _, err := m.GetK8sClient(boat, connected(&since)); err != nil {
		t.Fatal(err)
	}
	if users := m.manager.Users(east); len(users) != 1 {
		t.Errorf("one was given a client: %v", users)
	}
	p.SetClusterError(east, boom)
	if !m.Refresh(boat, connected(nil)) {
		t.Error("the client is gone: want a change")
	}
	if users := m.manager.Users(east); len(users) != 0 {
		t.Errorf("nobody has a client any more: %v", users)
	}
}
