package clientmanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var west = types.NamespacedName{Name: "west"}

// TestRefreshNilWithSeveralClusters verifies that an object with clients of several
// clusters keeps them all after a Refresh with nil, because nil does not identify the
// cluster. RefreshGone does.
func TestRefreshNilWithSeveralClusters(t *testing.T) {
	p := NewFakeClientProvider("")
	m := NewClientManager(p)
	clusters := map[types.NamespacedName]*cluster{}
	for _, key := range []types.NamespacedName{east, west} {
		since := p.SetK8sClient(key, "first")
		clusters[key] = &cluster{metav1.ObjectMeta{Name: key.Name}, &since}
		if _, err := m.GetK8sClient(app, clusters[key]); err != nil {
			t.Fatal(err)
		}
	}
	if m.Refresh(app, nil) {
		t.Error("nil does not identify one of two clusters: want no change")
	}
	replaced := p.SetK8sClient(east, "second")
	clusters[east].at = &replaced
	if !m.Refresh(app, clusters[east]) {
		t.Error("what is built on the first client of the cluster is kept: want a change")
	}
	if _, err := m.GetK8sClient(app, clusters[east]); err != nil {
		t.Fatal(err)
	}
	if !m.RefreshGone(app, west) || m.RefreshGone(app, west) || m.Refresh(app, clusters[east]) {
		t.Error("want a change, once, and of the cluster that is gone alone")
	}
	if !m.Refresh(app, nil) || m.Refresh(app, nil) {
		t.Error("of one cluster that is left, nil says that it is gone: want a change, once")
	}
}

// TestRevisions verifies that a test can read which client an object was given.
func TestRevisions(t *testing.T) {
	p := NewFakeClientProvider("")
	m, since := NewClientManager(p), p.SetK8sClient(east, "first")
	if got := m.Revisions(app); len(got) != 0 {
		t.Errorf("before: %v", got)
	}
	if _, err := m.GetK8sClient(app, connected(&since)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[types.NamespacedName]metav1.MicroTime{east: since}, m.Revisions(
		app), cmp.Comparer(func(a, b metav1.MicroTime) bool {
		return a.Equal(&b)
	})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := m.Revisions(&otherObject{metav1.ObjectMeta{Name: app.Name}}); len(got) != 0 {
		t.Errorf("of another object: %v", got)
	}
	m.Forget(app)
	if got := m.Revisions(app); len(got) != 0 {
		t.Errorf("afterwards: %v", got)
	}
}

// TestObjectsByType verifies that an object may be a pointer, a value or its metadata,
// and that two types with one name are two objects.
func TestObjectsByType(t *testing.T) {
	values := func(name string) (pointer, value, metadata, other KeyableObject) {
		meta := metav1.ObjectMeta{Name: name}
		return &pod{meta}, pod{meta}, &meta, &otherObject{meta}
	}
	pointer, value, metadata, other := values("api")
	cases := map[string]struct {
		reason  string
		get     []KeyableObject
		refresh KeyableObject
		want    bool
	}{
		"Value":        {"The same type, as a value.", []KeyableObject{pointer}, value, true},
		"Pointer":      {"The same type, as a pointer.", []KeyableObject{value}, pointer, true},
		"Metadata":     {"The metadata of the object.", []KeyableObject{pointer}, metadata, true},
		"OfMetadata":   {"The object of the metadata.", []KeyableObject{metadata}, pointer, true},
		"OnlyMetadata": {"Metadata in both places.", []KeyableObject{metadata}, metadata, true},
		"OtherType":    {"Another type is another object.", []KeyableObject{pointer}, other, false},
		"OneOfTwo":     {"Each of two types is notified.", []KeyableObject{pointer, other}, other, true},
		"MetadataOfTwo": {
			"Metadata does not identify one of two objects.", []KeyableObject{pointer, other}, metadata, false,
		},
		"OtherMetadata": {"The metadata of another name.", []KeyableObject{pointer}, &metav1.ObjectMeta{Name: "web"}, false},
		"OtherNamespace": {
			"The metadata of another namespace.", []KeyableObject{pointer},
			&metav1.ObjectMeta{Namespace: "default", Name: "api"}, false,
		},
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

// A pod is an object that may be used as a value.
type pod struct{ meta metav1.ObjectMeta }

func (p pod) GetName() string      { return p.meta.Name }
func (p pod) GetNamespace() string { return p.meta.Namespace }

// A clusterWithoutMethod is a cluster without the method GetConnectedAt.
type clusterWithoutMethod struct {
	metav1.ObjectMeta

	Status struct{ ConnectedAt *metav1.MicroTime }
}

// Wrappers that add the method.
type (
	embedding struct{ *clusterWithoutMethod }
	holding   struct{ cluster *clusterWithoutMethod }
	wrapping  struct{ embedding }
	several   struct {
		metav1.ObjectMeta
		*clusterWithoutMethod

		owner *clusterWithoutMethod
	}
)

func (c embedding) GetConnectedAt() *metav1.MicroTime { return c.Status.ConnectedAt }
func (c holding) GetName() string                     { return c.cluster.Name }
func (c holding) GetNamespace() string                { return c.cluster.Namespace }
func (c holding) GetConnectedAt() *metav1.MicroTime   { return c.cluster.Status.ConnectedAt }
func (c several) GetName() string                     { return c.clusterWithoutMethod.Name }
func (c several) GetNamespace() string                { return c.clusterWithoutMethod.Namespace }
func (c several) GetConnectedAt() *metav1.MicroTime   { return c.Status.ConnectedAt }

// TestWrappedNilCluster verifies that a wrapper of a nil cluster is a cluster that is
// gone.
func TestWrappedNilCluster(t *testing.T) {
	for name, none := range map[string]ConnectedCluster{
		"Embedding": embedding{}, "Pointer": &embedding{}, "Holding": holding{},
		"Wrapping": &wrapping{}, "Several": several{},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewFakeClientProvider("")
			m, since := NewClientManager(p), p.SetK8sClient(east, "first")
			if _, err := m.GetK8sClient(app, none); err != NotFoundError { //nolint:errorlint // it comes as it is
				t.Errorf("want %v, got %v", NotFoundError, err)
			}
			if _, err := m.GetK8sClient(app, connected(&since)); err != nil {
				t.Fatal(err)
			}
			if !m.Refresh(app, none) || m.Refresh(app, none) {
				t.Error("want a change, once")
			}
		})
	}
	some := &clusterWithoutMethod{ObjectMeta: metav1.ObjectMeta{Name: east.Name}}
	for name, one := range map[string]ConnectedCluster{
		"Embedding": embedding{some}, "Holding": &holding{some}, "Several": several{clusterWithoutMethod: some, owner: nil},
	} {
		if isNil(one) {
			t.Errorf("%s: there is a cluster", name)
		}
	}
}

// TestNewClientManagerFunc verifies the manager of clusters without the method
// GetConnectedAt.
func TestNewClientManagerFunc(t *testing.T) {
	p := NewFakeClientProvider("")
	m := NewClientManagerFunc(p, func(c *clusterWithoutMethod) *metav1.MicroTime { return c.Status.ConnectedAt })
	if _, err := m.GetK8sClient(app, nil); err != NotFoundError { //nolint:errorlint // it comes as it is
		t.Errorf("want %v, got %v", NotFoundError, err)
	}
	one := &clusterWithoutMethod{ObjectMeta: metav1.ObjectMeta{Name: east.Name, UID: "u"}}
	for _, client := range []string{"first", "second"} {
		since := p.SetK8sClient(east, client)
		one.Status.ConnectedAt = &since
		if changed := m.Refresh(app, one); changed != (client == "second") {
			t.Errorf("%s: changed: %t", client, changed)
		}
		if got, err := m.GetK8sClient(app, one); got != client || err != nil {
			t.Errorf("want %s, got %q, %v", client, got, err)
		}
	}
	namesake := *one
	namesake.UID = "v"
	if !m.Refresh(app, &namesake) {
		t.Error("a cluster that was made anew under the name is another one: want a change")
	}
	if _, err := m.GetK8sClient(app, &namesake); err != nil || !m.Refresh(app, nil) || m.Refresh(app, nil) {
		t.Errorf("a cluster that is gone: want a change, once: %v", err)
	}
}

// TestObjectsWithoutClientAreNotTracked verifies that objects without a client are not
// tracked, because they are not forgotten by older controllers.
func TestObjectsWithoutClientAreNotTracked(t *testing.T) {
	p := NewFakeClientProvider("")
	m := NewClientManager(p)
	for _, err := range []error{nil, boom} {
		if err != nil {
			p.SetClusterError(east, err)
		}
		for range 1000 {
			if _, err := m.GetK8sClient(app, connected(at(1))); err == nil {
				t.Fatal("there is a client")
			}
			m.Refresh(app, connected(at(1)))
		}
	}
	since := p.SetK8sClient(east, "first")
	if _, err := m.GetK8sClient(app, connected(at(1))); err == nil {
		t.Fatal("the client is another one")
	}
	if users := m.manager.Users(east); len(users) != 0 {
		t.Errorf("no object was given a client, and there are %d users: %v", len(users), users)
	}
	if _, err := m.GetK8sClient(app, connected(&since)); err != nil {
		t.Fatal(err)
	}
	if users := m.manager.Users(east); len(users) != 1 {
		t.Errorf("one was given a client: %v", users)
	}
	p.SetClusterError(east, boom)
	if !m.Refresh(app, connected(nil)) {
		t.Error("the client is gone: want a change")
	}
	if users := m.manager.Users(east); len(users) != 0 {
		t.Errorf("no object has a client any more: %v", users)
	}
}
