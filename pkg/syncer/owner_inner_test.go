package syncer

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestOwnerServiceCurrentUID verifies that the service is read at most once a second, and
// that a missing service is an error.
func TestOwnerServiceCurrentUID(t *testing.T) {
	first := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "red", UID: "first"}}
	c, clk := fake.NewClientBuilder().WithObjects(first).Build(), testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	o := &ownerService{reader: c, key: client.ObjectKeyFromObject(first), clock: clk}
	is := func(want string) {
		t.Helper()
		if uid, err := o.currentUID(t.Context()); string(uid) != want || (err != nil) != (want == "") {
			t.Errorf("got %q, %v, want %q", uid, err, want)
		}
	}
	is("first")
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	is("first")
	clk.SetTime(clk.Now().Add(ownerCacheTTL))
	is("")
	second := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "red", UID: "second"}}
	if err := c.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	is("second")
}

// TestOwnerUpdater verifies that only references to the initial owner are updated, only
// in objects that do not exist, and that an error leaves the object unchanged.
func TestOwnerUpdater(t *testing.T) {
	down := errors.New("down")
	for name, tc := range map[string]struct {
		reason       string
		owners, want []types.UID
		made         types.UID
		fails        error
		asked        int
	}{
		"NoOwner": {reason: "the object has no owner"},
		"Others":  {reason: "the object has other owners", owners: []types.UID{"a", "b"}, want: []types.UID{"a", "b"}},
		"Both": {
			reason: "the object has other owners as well", owners: []types.UID{"a", "first", "b"},
			want: []types.UID{"a", "second", "b"}, asked: 1,
		},
		"Failure": {
			reason: "the current owner cannot be read", owners: []types.UID{"first"}, want: []types.UID{"first"}, fails: down,
			asked: 1,
		},
		"Made": {reason: "the object exists", owners: []types.UID{"first"}, want: []types.UID{"first"}, made: "x"},
	} {
		asked := 0
		r := &ownerUpdater{"first", func(context.Context) (types.UID, error) {
			asked++
			if tc.fails != nil {
				return "", tc.fails
			}
			return "second", nil
		}}
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: tc.made}}
		for _, uid := range tc.owners {
			obj.OwnerReferences = append(obj.OwnerReferences, metav1.OwnerReference{UID: uid})
		}
		err := r.updateOwner(t.Context(), obj)
		var got []types.UID
		for _, ref := range obj.OwnerReferences {
			got = append(got, ref.UID)
		}
		if !errors.Is(err, tc.fails) || asked != tc.asked || !cmp.Equal(tc.want, got) {
			t.Errorf("%s: %s: error %v, %d reads, owners %v", name, tc.reason, err, asked, got)
		}
	}
}
