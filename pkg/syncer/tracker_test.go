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

// configMap returns a ConfigMap with a UID and version.
func configMap(uid types.UID, version string, deleted bool) *corev1.ConfigMap {
	c := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "host-ns", Name: "a", UID: uid, ResourceVersion: version},
	}
	if deleted {
		c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return c
}

// TestPendingWriteObservedIn verifies that an event reflects a write if it has the same
// or a later version, or a later change.
func TestPendingWriteObservedIn(t *testing.T) {
	made, removed := pendingWrite{uid: "a", version: "8"}, pendingWrite{uid: "a", version: "8", deleted: true}
	cases := map[string]struct {
		w    pendingWrite
		obj  *corev1.ConfigMap
		gone bool
		want bool
	}{
		"older":                     {made, configMap("a", "7", false), false, false},
		"the same":                  {made, configMap("a", "8", false), false, true},
		"later":                     {made, configMap("a", "10", false), false, true},
		"deleted since":             {made, configMap("a", "7", false), true, true},
		"another object, older":     {made, configMap("b", "7", false), false, false},
		"an older one that is gone": {made, configMap("b", "7", false), true, false},
		"another object, later":     {made, configMap("b", "9", false), false, true},
		"no version":                {made, configMap("a", "", false), false, true},
		"not deleted yet":           {removed, configMap("a", "9", false), false, false},
		"being deleted":             {removed, configMap("a", "9", true), false, true},
		"delete confirmed":          {removed, configMap("a", "9", false), true, true},
		"recreated":                 {removed, configMap("b", "9", false), false, true},
		// versions are compared of what was written
		"recreated with an older version": {removed, configMap("b", "7", false), false, true},
	}
	for name, tc := range cases {
		if got := tc.w.observedIn(tc.obj, tc.gone); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestTrackerIsStale verifies that a cache is stale until it contains the write, and at
// most for the timeout.
func TestTrackerIsStale(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
	name := types.NamespacedName{Namespace: "host-ns", Name: "a"}
	mem := func(deleted bool) *tracker {
		m := newTracker(clock)
		m.recordWrite(physical, configMap("a", "8", false), deleted)
		return m
	}
	if m := mem(false); m.isStale(virtual, name, nil) || m.isStale(physical, types.NamespacedName{Name: "a"}, nil) {
		t.Error("another cluster or name is stale")
	}
	m := mem(false)
	if !m.isStale(physical, name, nil) || !m.isStale(physical, name, configMap("a", "7", false)) ||
		!m.hasPendingWrite(physical, name) {
		t.Error("a cache without the write, or with an older version, is not stale")
	}
	if m.isStale(physical, name, configMap("a", "8", false)) || m.hasPendingWrite(physical, name) {
		t.Error("a cache with the write is stale")
	}
	if m = mem(true); !m.isStale(physical, name, configMap("a", "8", false)) || m.isStale(physical, name, nil) ||
		m.hasPendingWrite(physical, name) {
		t.Error("after a deletion, a cache without the object is stale, or one with it is not")
	}
	m = mem(false)
	clock.SetTime(clock.Now().Add(staleCacheTimeout))
	if !m.isStale(physical, name, nil) {
		t.Error("the timeout is too short")
	}
	clock.SetTime(clock.Now().Add(1))
	if m.isStale(physical, name, nil) || m.hasPendingWrite(physical, name) {
		t.Error("the timeout is too long")
	}
	m = mem(false)
	if m.observe(physical, configMap("a", "7", false), false); !m.hasPendingWrite(physical, name) {
		t.Error("an older version counts as the write")
	}
	if m.observe(physical, configMap("a", "8", false), false); m.hasPendingWrite(physical, name) {
		t.Error("the written version does not count")
	}
}

// TestTrackerHostNamesAndWaiters verifies that host names are returned in order until
// they are removed, and waiters only once.
func TestTrackerHostNamesAndWaiters(t *testing.T) {
	at := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	m, v := newTracker(testclock.NewFakePassiveClock(time.Unix(1000, 0))), at("host-ns", "a")
	for _, host := range []types.NamespacedName{at("b", "a"), at("a", "c"), at("a", "b")} {
		m.addHostName(v, host)
		m.addWaiter(host, v)
	}
	want := []types.NamespacedName{at("a", "b"), at("a", "c"), at("b", "a")}
	if diff := cmp.Diff(want, m.hostNames(v)); diff != "" {
		t.Errorf("host names: -want, +got:\n%s", diff)
	}
	m.removeHostName(v, at("a", "c"))
	m.removeWaiter(at("a", "c"), v)
	want = []types.NamespacedName{at("a", "b"), at("b", "a")}
	if diff := cmp.Diff(want, m.hostNames(v)); diff != "" {
		t.Errorf("host names after a removal: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, m.takeWaiters(v)); diff != "" {
		t.Errorf("waiters: -want, +got:\n%s", diff)
	}
	if again := m.takeWaiters(v); len(again) > 0 {
		t.Errorf("waiters returned twice: %v", again)
	}
	for _, host := range want {
		m.removeHostName(v, host)
	}
	if len(m.hostNamesOf) > 0 || len(m.waiters) > 0 {
		t.Errorf("entries remain: %v, %v", m.hostNamesOf, m.waiters)
	}
}

// TestIsStaleReadAndIsPermanent verifies the classification of errors.
func TestIsStaleReadAndIsPermanent(t *testing.T) {
	kind, resource := schema.GroupKind{Kind: "ConfigMap"}, schema.GroupResource{Resource: "configmaps"}
	cases := map[string]struct {
		err                error
		outdated, hopeless bool
	}{
		"any":         {errors.New("boom"), false, false},
		"stale":       {asStale(errors.New("boom")), true, false},
		"conflict":    {apierrors.NewConflict(resource, "a", errors.New("changed")), true, false},
		"stale cache": {errCacheStale, true, false},
		"invalid":     {apierrors.NewInvalid(kind, "a", nil), false, true},
		"bad request": {apierrors.NewBadRequest("what"), false, true},
		"large":       {apierrors.NewRequestEntityTooLargeError("much"), false, true},
		"etcd":        {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), false, true},
		"forbidden":   {apierrors.NewForbidden(resource, "a", errors.New("no")), false, false},
	}
	for name, tc := range cases {
		if got := isStaleRead(tc.err); got != tc.outdated {
			t.Errorf("%s: isStaleRead is %t", name, got)
		}
		if got := isPermanent(tc.err); got != tc.hopeless {
			t.Errorf("%s: isPermanent is %t", name, got)
		}
	}
}

// TestRequeuePending verifies that a pass with a write that a cache does not contain yet
// is requeued.
func TestRequeuePending(t *testing.T) {
	name := types.NamespacedName{Namespace: "host-ns", Name: "a"}
	for what, tc := range map[string]struct {
		side side
		at   types.NamespacedName
		want time.Duration
	}{
		"virtual":  {virtual, name, staleCacheTimeout},
		"physical": {physical, types.NamespacedName{Namespace: "host", Name: "a"}, staleCacheTimeout},
		"another":  {physical, name, 0},
	} {
		m := newTracker(testclock.NewFakePassiveClock(time.Unix(1000, 0)))
		c := configMap("a", "8", false)
		c.Namespace = tc.at.Namespace
		m.recordWrite(tc.side, c, false)
		p := &pass{r: &reconciler{tracker: m}, host: types.NamespacedName{Namespace: "host", Name: "a"}}
		p.req = name
		if got := p.requeuePending(ctrl.Result{}).RequeueAfter; got != tc.want {
			t.Errorf("%s: requeued after %s", what, got)
		}
		if got := p.requeuePending(ctrl.Result{RequeueAfter: time.Minute}).RequeueAfter; got != time.Minute {
			t.Errorf("%s: requeued after %s, want a minute", what, got)
		}
	}
}
