package syncer

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
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
