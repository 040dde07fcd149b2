package controller_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/moorage-dev/moorage/pkg/controller"
)

// TestLeaseHolder: a process that waits for the lease knows the holder from its last read, without a request.
func TestLeaseHolder(t *testing.T) {
	clients := fake.NewClientset()
	of := func(identity string) *controller.Lease {
		return controller.NewLease(&resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "leader"}, Client: clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		}, 10*time.Second)
	}
	at := metav1.Now()
	record := resourcelock.LeaderElectionRecord{
		HolderIdentity: "one", LeaseDurationSeconds: 15, AcquireTime: at, RenewTime: at,
	}
	one, two := of("one"), of("two")
	if one.Holder() != "" || two.Holder() != "" {
		t.Error("the holder is known before the lease is")
	}
	if err := one.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if _, _, err := two.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests := len(clients.Actions())
	if one.Holder() != "one" || two.Holder() != "one" {
		t.Errorf("the holder is %q for itself and %q for the other, want one", one.Holder(), two.Holder())
	}
	if len(clients.Actions()) != requests {
		t.Error("to ask for the holder sends a request")
	}
	record.HolderIdentity = ""
	if err := one.Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if one.Holder() != "" {
		t.Errorf("after the release the holder is %q", one.Holder())
	}
}
