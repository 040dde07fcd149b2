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

// TestOwnerIsReadAgain: at most once a second, and not taken for the one before while there is
// none.
func TestOwnerIsReadAgain(t *testing.T) {
	first := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "red", UID: "first"}}
	c, clk := fake.NewClientBuilder().WithObjects(first).Build(), testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	o := &owner{reader: c, key: client.ObjectKeyFromObject(first), clock: clk}
	is := func(want string) {
		t.Helper()
		if uid, err := o.renew(t.Context()); string(uid) != want || (err != nil) != (want == "") {
			t.Errorf("got %q, %v, want %q", uid, err, want)
		}
	}
	is("first")
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	is("first")
	clk.SetTime(clk.Now().Add(ownerAge))
	is("")
	second := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "red", UID: "second"}}
	if err := c.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	is("second")
}

// TestOwnerOfWhatIsMade: the owner is asked for what belongs to the first one alone, and takes
// its place; what cannot be asked for leaves the object as it is.
func TestOwnerOfWhatIsMade(t *testing.T) {
	down := errors.New("down")
	for name, tc := range map[string]struct {
		reason       string
		owners, want []types.UID
		made         types.UID
		fails        error
		asked        int
	}{
		"Nobody":  {reason: "it has no owner"},
		"Others":  {reason: "it belongs to somebody else", owners: []types.UID{"a", "b"}, want: []types.UID{"a", "b"}},
		"Both":    {reason: "to another one as well", owners: []types.UID{"a", "first", "b"}, want: []types.UID{"a", "second", "b"}, asked: 1},
		"Failure": {reason: "the owner cannot be read", owners: []types.UID{"first"}, want: []types.UID{"first"}, fails: down, asked: 1},
		"Made":    {reason: "it was made before", owners: []types.UID{"first"}, want: []types.UID{"first"}, made: "x"},
	} {
		asked := 0
		r := &renewing{"first", func(context.Context) (types.UID, error) {
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
		err := r.own(t.Context(), obj)
		var got []types.UID
		for _, ref := range obj.OwnerReferences {
			got = append(got, ref.UID)
		}
		if !errors.Is(err, tc.fails) || asked != tc.asked || !cmp.Equal(tc.want, got) {
			t.Errorf("%s: %s: error %v, asked %d times, the owners are %v", name, tc.reason, err, asked, got)
		}
	}
}
