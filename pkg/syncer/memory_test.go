package syncer

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
)

// configMap returns an object of a version.
func configMap(uid types.UID, version string, deleted bool) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "quay", Name: "a", UID: uid, ResourceVersion: version}}
	if deleted {
		c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return c
}

// TestShownBy: a cache shows our last write when it has that version, a later one, or what became of it.
func TestShownBy(t *testing.T) {
	made, removed := written{uid: "a", version: "8"}, written{uid: "a", version: "8", deleted: true}
	cases := map[string]struct {
		w    written
		obj  *corev1.ConfigMap
		gone bool
		want bool
	}{
		"older":                  {made, configMap("a", "7", false), false, false},
		"the same":               {made, configMap("a", "8", false), false, true},
		"later":                  {made, configMap("a", "10", false), false, true},
		"gone":                   {made, configMap("a", "7", false), true, true},
		"another that was older": {made, configMap("b", "7", false), false, false},
		"an older one that went": {made, configMap("b", "7", false), true, false},
		"another that is later":  {made, configMap("b", "9", false), false, true},
		"no version":             {made, configMap("a", "", false), false, true},
		"not removed yet":        {removed, configMap("a", "9", false), false, false},
		"being deleted":          {removed, configMap("a", "9", true), false, true},
		"removed":                {removed, configMap("a", "9", false), true, true},
		"made anew":              {removed, configMap("b", "9", false), false, true},
		"made anew, older":       {removed, configMap("b", "7", false), false, true}, // versions are compared of what was written
	}
	for name, tc := range cases {
		if got := tc.w.shownBy(tc.obj, tc.gone); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestBehind: a cache is behind until it shows our write, and no longer than is waited for it.
func TestBehind(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
	name := types.NamespacedName{Namespace: "quay", Name: "a"}
	mem := func(deleted bool) *memory {
		m := newMemory(clock)
		m.wrote(physical, configMap("a", "8", false), deleted)
		return m
	}
	if m := mem(false); m.behind(virtual, name, nil) || m.behind(physical, types.NamespacedName{Name: "a"}, nil) {
		t.Error("another side or another name is behind")
	}
	m := mem(false)
	if !m.behind(physical, name, nil) || !m.behind(physical, name, configMap("a", "7", false)) || !m.pending(physical, name) {
		t.Error("a cache that does not show the write, or an older version, is not behind")
	}
	if m.behind(physical, name, configMap("a", "8", false)) || m.pending(physical, name) {
		t.Error("a cache that shows the write is behind")
	}
	if m = mem(true); !m.behind(physical, name, configMap("a", "8", false)) || m.behind(physical, name, nil) || m.pending(physical, name) {
		t.Error("of a deletion, a cache is behind that shows nothing, or is not that shows the object")
	}
	m = mem(false)
	clock.SetTime(clock.Now().Add(patience))
	if !m.behind(physical, name, nil) {
		t.Error("it is not waited for long enough")
	}
	clock.SetTime(clock.Now().Add(1))
	if m.behind(physical, name, nil) || m.pending(physical, name) {
		t.Error("it is waited for too long")
	}
	m = mem(false)
	if m.observed(physical, configMap("a", "7", false), false); !m.pending(physical, name) {
		t.Error("an older version counts as ours")
	}
	if m.observed(physical, configMap("a", "8", false), false); m.pending(physical, name) {
		t.Error("our version does not count")
	}
}

// TestHostNames: what leads to a name is known in order until it is forgotten, and who waits for a name is woken once.
func TestHostNames(t *testing.T) {
	at := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	m, v := newMemory(testclock.NewFakePassiveClock(time.Unix(1000, 0))), at("quay", "a")
	for _, host := range []types.NamespacedName{at("b", "a"), at("a", "c"), at("a", "b")} {
		m.remember(v, host)
		m.wait(host, v)
	}
	want := []types.NamespacedName{at("a", "b"), at("a", "c"), at("b", "a")}
	if diff := cmp.Diff(want, m.known(v)); diff != "" {
		t.Errorf("known: -want, +got:\n%s", diff)
	}
	m.forget(v, at("a", "c"))
	m.unwait(at("a", "c"), v)
	want = []types.NamespacedName{at("a", "b"), at("b", "a")}
	if diff := cmp.Diff(want, m.known(v)); diff != "" {
		t.Errorf("known, when one is forgotten: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, m.wake(v)); diff != "" {
		t.Errorf("woken: -want, +got:\n%s", diff)
	}
	if again := m.wake(v); len(again) > 0 {
		t.Errorf("woken twice: %v", again)
	}
	for _, host := range want {
		m.forget(v, host)
	}
	if len(m.hosts) > 0 || len(m.waiting) > 0 {
		t.Errorf("what is forgotten is kept: %v, %v", m.hosts, m.waiting)
	}
}

// TestErrorsByKind: what is tried again at once, and what is looked at later.
func TestErrorsByKind(t *testing.T) {
	kind, resource := schema.GroupKind{Kind: "ConfigMap"}, schema.GroupResource{Resource: "configmaps"}
	cases := map[string]struct {
		err                error
		outdated, hopeless bool
	}{
		"any":         {errors.New("boom"), false, false},
		"stale":       {conflict(errors.New("boom")), true, false},
		"conflict":    {apierrors.NewConflict(resource, "a", errors.New("changed")), true, false},
		"not shown":   {errNotShown, true, false},
		"invalid":     {apierrors.NewInvalid(kind, "a", nil), false, true},
		"bad request": {apierrors.NewBadRequest("what"), false, true},
		"large":       {apierrors.NewRequestEntityTooLargeError("much"), false, true},
		"etcd":        {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), false, true},
		"forbidden":   {apierrors.NewForbidden(resource, "a", errors.New("no")), false, false},
	}
	for name, tc := range cases {
		if got := outdated(tc.err); got != tc.outdated {
			t.Errorf("%s: outdated is %t", name, got)
		}
		if got := hopeless(tc.err); got != tc.hopeless {
			t.Errorf("%s: hopeless is %t", name, got)
		}
	}
}

// TestUnsettled: what was written on either side and does not show yet is looked at once more.
func TestUnsettled(t *testing.T) {
	name := types.NamespacedName{Namespace: "quay", Name: "a"}
	for what, tc := range map[string]struct {
		side side
		at   types.NamespacedName
		want time.Duration
	}{
		"virtual":  {virtual, name, patience},
		"physical": {physical, types.NamespacedName{Namespace: "host", Name: "a"}, patience},
		"another":  {physical, name, 0},
	} {
		m := newMemory(testclock.NewFakePassiveClock(time.Unix(1000, 0)))
		c := configMap("a", "8", false)
		c.Namespace = tc.at.Namespace
		m.wrote(tc.side, c, false)
		p := &passage{r: &reconciler{mem: m}, host: types.NamespacedName{Namespace: "host", Name: "a"}}
		p.req = name
		if got := p.unsettled(ctrl.Result{}).RequeueAfter; got != tc.want {
			t.Errorf("%s: looked at after %s", what, got)
		}
		if got := p.unsettled(ctrl.Result{RequeueAfter: time.Minute}).RequeueAfter; got != time.Minute {
			t.Errorf("%s: looked at after %s, although a minute was asked for", what, got)
		}
	}
}
