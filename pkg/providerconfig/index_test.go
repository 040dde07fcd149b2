package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// TestIndexBookkeeping: an index has the current users, and returns the configurations whose number of users has
// changed.
func TestIndexBookkeeping(t *testing.T) {
	disks, queues := schema.GroupKind{Kind: "Disk"}, schema.GroupKind{Kind: "Queue"}
	a, b, c := user{disks, "main", "a"}, user{disks, "", "b"}, user{queues, "main", "c"}
	one, two := key{"ProviderConfig", "main", "one"}, key{"ProviderConfig", "main", "two"}
	i := newIndex()
	step := func(what string, got []key, want ...key) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: changed, -want +got:\n%s", what, diff)
		}
	}
	counts := func(what string, first, second int) {
		t.Helper()
		if i.count(one) != first || i.count(two) != second {
			t.Errorf("%s: %d and %d users, want %d and %d", what, i.count(one), i.count(two), first, second)
		}
	}
	step("a refers", i.set(t.Context(), a, one, true), one)
	step("a refers again", i.set(t.Context(), a, one, true))
	step("b refers", i.set(t.Context(), b, one, true), one)
	step("c refers", i.set(t.Context(), c, two, true), two)
	counts("three refer", 2, 1)
	step("a refers to another", i.set(t.Context(), a, two, true), one, two)
	counts("a has gone over", 1, 2)
	step("a refers to none", i.set(t.Context(), a, two, false), two)
	step("a still refers to none", i.set(t.Context(), a, two, false))
	counts("a has left", 1, 1)
	ended, end := context.WithCancel(t.Context())
	end()
	step("late", i.set(ended, a, one, true))
	counts("an event comes late", 1, 1)
	step("disks are not followed any more", i.clear(disks), one)
	step("nor again", i.clear(disks))
	counts("queues are left", 0, 1)
	if len(i.usersByConfig) != 1 || len(i.configByUser) != 1 {
		t.Errorf("what is gone is kept: %v, %v", i.usersByConfig, i.configByUser)
	}
}

// TestIndexFirst: users are listed in order, up to the limit.
func TestIndexFirst(t *testing.T) {
	i, k := newIndex(), key{"ClusterProviderConfig", "", "one"}
	for n := 3; n > 0; n-- {
		i.set(t.Context(), user{schema.GroupKind{Group: "example.org", Kind: "Disk"}, "main", fmt.Sprint(n)}, k, true)
	}
	i.set(t.Context(), user{schema.GroupKind{Kind: "Disk"}, "", "0"}, k, true)
	for most, want := range map[int][]string{
		0: {}, 2: {"Disk 0", "Disk main/1"},
		9: {"Disk 0", "Disk main/1", "Disk main/2", "Disk main/3"},
	} {
		if diff := cmp.Diff(want, i.firstNames(k, most)); diff != "" {
			t.Errorf("%d: -want +got:\n%s", most, diff)
		}
	}
}

// TestAhead: a cache is behind if it shows an older version than our last write, or the one that our finalizer was
// taken from.
func TestAhead(t *testing.T) {
	cases := map[string]struct {
		known record
		want  map[string]bool
	}{
		"nothing written": {record{}, map[string]bool{"": false, "7": false}},
		"written": {record{Record: freshness.Record{Version: "8"}},
			map[string]bool{"7": true, "8": false, "9": false, "10": false, "x": false}},
		"released": {record{released: "8"}, map[string]bool{"7": false, "8": true, "9": false}},
	}
	for name, tc := range cases {
		for version, want := range tc.want {
			if got := tc.known.IsStale(version); got != want {
				t.Errorf("%s: of version %q: got %t", name, version, got)
			}
		}
	}
}

// TestConcerns: users are looked at when a configuration is another, has another spec, or can be used from now on.
func TestConcerns(t *testing.T) {
	config := func(uid types.UID, generation int64, finalizers ...string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation,
			Finalizers: finalizers}}
	}
	cases := map[string]struct {
		before, now *corev1.ConfigMap
		want        bool
	}{
		"nothing":        {config("a", 1, FinalizerName), config("a", 1, FinalizerName), false},
		"another":        {config("a", 1, FinalizerName), config("b", 1, FinalizerName), true},
		"another spec":   {config("a", 1, FinalizerName), config("a", 2, FinalizerName), true},
		"usable":         {config("a", 1), config("a", 1, FinalizerName), true},
		"not usable yet": {config("a", 1), config("a", 1), false},
		"let go":         {config("a", 1, FinalizerName), config("a", 1), false},
	}
	for name, tc := range cases {
		if got := affectsUsers(tc.before, tc.now); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestNamesOfConnections: a connection and the configuration that it is called after lead to each other.
func TestNamesOfConnections(t *testing.T) {
	namespaced := &reconciler{kind: &kindInfo{gvk: schema.GroupVersionKind{Kind: "ProviderConfig"}, namespaced: true}}
	cluster := &reconciler{kind: &kindInfo{gvk: schema.GroupVersionKind{Kind: "ClusterProviderConfig"}}}
	cases := map[string]struct {
		r    *reconciler
		k    key
		want string
	}{
		"namespaced": {namespaced, key{"ProviderConfig", "main", "one"}, "ProviderConfig/main/one"},
		"cluster":    {cluster, key{"ClusterProviderConfig", "", "one"}, "ClusterProviderConfig/one"},
	}
	for name, tc := range cases {
		if got := tc.k.connection(); got != tc.want {
			t.Errorf("%s: got %q", name, got)
		}
		if got, ok := tc.r.configOf(tc.want); !ok ||
			got != (types.NamespacedName{Namespace: tc.k.namespace, Name: tc.k.name}) {
			t.Errorf("%s: %s leads to %s, %t", name, tc.want, got, ok)
		}
		for _, other := range []string{"", "Other/main/one", tc.r.kind.gvk.Kind, tc.want + "/x",
			"ProviderConfig/one", "ClusterProviderConfig/main/one"} {
			if got, ok := tc.r.configOf(other); ok {
				t.Errorf("%s: %q leads to %s", name, other, got)
			}
		}
	}
}

// TestUsersThatAreNotFollowedAreNotLookedFor: users of a kind that is not followed yet are not looked for: nothing is
// known of them.
func TestUsersThatAreNotFollowedAreNotLookedFor(t *testing.T) {
	tr := newFollowed(t, nil)
	if unused, err := tr.confirmUnused(t.Context(), key{"Tenant", "a", "main"}); !unused || err != nil {
		t.Errorf("unused %t, error %v", unused, err)
	}
}

// TestAStatusThatCannotBeCompared: a status that cannot be compared is an error, and does not count as unchanged.
func TestAStatusThatCannotBeCompared(t *testing.T) {
	config := &unencodable{&Tenant{}}
	if err := (&reconciler{}).patchStatus(t.Context(), config, &Tenant{}, &record{}); err == nil ||
		!strings.Contains(err.Error(), "cannot compare the status") {
		t.Errorf("error %v", err)
	}
}

// An unencodable configuration is no JSON.
type unencodable struct{ Config }

func (unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON") }

// TestAFirstWriteThatChangesNothing: what the first write of a process does not change is remembered, so that it is not
// sent again.
func TestAFirstWriteThatChangesNothing(t *testing.T) {
	sent := 0
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme()).Build(), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
			...client.SubResourcePatchOption) error {
			sent++

			return nil
		},
	})
	r := &reconciler{client: c, clock: clock.RealClock{}, logger: logging.NewNopLogger(), kind: &kindInfo{}}
	base, config, known := &Tenant{}, &Tenant{}, &record{}
	base.ResourceVersion, config.ResourceVersion = "7", "7"
	config.SetUsers(2)
	for range 2 {
		if err := r.patchStatus(t.Context(), config, base, known); err != nil {
			t.Fatal(err)
		}
	}
	if sent != 1 || known.prunedPatch == "" {
		t.Errorf("sent %d times, remembered %q", sent, known.prunedPatch)
	}
}
